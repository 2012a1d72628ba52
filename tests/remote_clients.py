"""Clients that live in another process: this one holds none of their data."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from fedmgda.clients import ClientPool

FACTS = ("num_clients", "num_params", "num_buffers", "path", "client_names", "facts")
CONTEXT = multiprocessing.get_context("forkserver")


class RemoteClients:
    """A `Clients` that passes every question to the process that has the data.

    Args:
        make_pool: Makes the pool, over there.
    """

    def __init__(self, make_pool: Callable[[], ClientPool]) -> None:
        self._pipe, far = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(far, make_pool))
        self._process.start()
        far.close()
        for name, value in self._pipe.recv().items():
            setattr(self, name, value)

    def initial_params(self) -> Any:
        return self._ask("initial_params")

    def train_cohort(self, params: Any, client_ids: Any, round_num: int, **options: Any) -> Any:
        return self._ask("train_cohort", params, client_ids, round_num, **options)

    def evaluate(self, params: Any, client_ids: Any, split: Any, **options: Any) -> Any:
        return self._ask("evaluate", params, client_ids, split, **options)

    def gradients(self, params: Any, client_ids: Any) -> Any:
        return self._ask("gradients", params, client_ids)

    def close(self) -> None:
        self._pipe.close()
        self._process.join(30)

    def _ask(self, question: str, *arguments: Any, **options: Any) -> Any:
        self._pipe.send((question, arguments, options))
        return self._pipe.recv()


def _serve(pipe: Connection[Any, Any], make_pool: Callable[[], ClientPool]) -> None:
    with make_pool() as clients:
        pipe.send({name: getattr(clients, name) for name in FACTS})
        while True:
            try:
                question, arguments, options = pipe.recv()
            except EOFError:
                return
            pipe.send(getattr(clients, question)(*arguments, **options))
