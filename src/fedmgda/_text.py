"""Sentences about names: the one a user may have meant, and many in one line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["counted", "did_you_mean", "listed", "nearest_names"]


def counted(count: int, what: str) -> str:
    """Return how many there are of something.

    >>> counted(1, "client"), counted(0, "client")
    ('1 client', '0 clients')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def nearest_names(
    word: str, names: Iterable[str], *, count: int = 1, cutoff: float = 0.6
) -> list[str]:
    """Return the names most like a word, the nearest first.

    Args:
        word: What the user wrote.
        names: What exists.
        count: How many names at most.
        cutoff: How alike a name must be, from 0 (any name) to 1 (the word itself).

    >>> nearest_names("cifar", ["adult", "cifar10", "mnist"])
    ['cifar10']
    """
    return difflib.get_close_matches(word, list(names), n=count, cutoff=cutoff)


def did_you_mean(near: Sequence[str], otherwise: str, *, shown: Callable[[str], str] = repr) -> str:
    """End a sentence with the names that may have been meant, or with something else.

    Args:
        near: The names, as from `nearest_names`; there may be none.
        otherwise: What the sentence ends with where there is no such name.
        shown: How a name is written.

    >>> did_you_mean(["cifar10"], "there are adult and cifar10.")
    "did you mean 'cifar10'?"
    >>> did_you_mean([], "there are adult and cifar10.")
    'there are adult and cifar10.'
    """
    return f"did you mean {' or '.join(map(shown, near))}?" if near else otherwise


def listed(texts: Iterable[str], most: int = 12) -> str:
    """Return texts in one line, those beyond the first few as their number.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    known = list(texts)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more
