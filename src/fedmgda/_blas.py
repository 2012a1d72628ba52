"""How many threads linear algebra takes: one, unless the work is worth more."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["blas_threads"]

_WORTH_ALL = 1e9


@contextmanager
def blas_threads(products: float) -> Iterator[None]:
    """Do linear algebra of so many products, with one thread if they are few.

    Threads that OpenBLAS has woken keep spinning for tens of milliseconds after the last product,
    on cores that by then belong to the training of the next round.
    """
    if products >= _WORTH_ALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
