"""Clients with too few examples to be told from chance: left out, named, never merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._errors import DataError
from fedmgda._text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices

__all__ = ["leave_out_small_clients"]

_MOST_NAMED = 50


def leave_out_small_clients(
    client_rows: Sequence[Indices], names: Sequence[str] | None, min_rows: int
) -> tuple[list[Indices], list[str] | None, tuple[str, ...]]:
    """Keep the clients that have enough rows; those of the others are in no split at all.

    Args:
        client_rows: For each client its rows.
        names: What the clients are called; None stands for their numbers.
        min_rows: How many rows a client must have.

    Returns:
        The rows and the names of those that are kept, and at most one sentence about the others.

    Raises:
        DataError: If nobody is left.

    >>> import numpy as np
    >>> rows = [np.arange(9), np.arange(9, 11)]
    >>> _, kept, notes = leave_out_small_clients(rows, ["oslo", "bergen"], 3)
    >>> kept, notes[0]
    (['oslo'], '1 of 2 clients has fewer than 3 rows (data.min_rows) and is left out: bergen (2).')
    """
    sizes = [len(rows) for rows in client_rows]
    called = [str(client) for client in range(len(sizes))] if names is None else list(names)
    small = [client for client, size in enumerate(sizes) if size < min_rows]
    if not small:
        return list(client_rows), None if names is None else called, ()
    if len(small) == len(sizes):
        raise DataError(
            f"None of the {len(sizes)} clients has the {min_rows} rows that data.min_rows asks "
            f"for, the largest has {max(sizes)}; lower data.min_rows, or name another data.client."
        )
    kept = [client for client, size in enumerate(sizes) if size >= min_rows]
    several = len(small) > 1
    left_out = listed([f"{called[client]:.80} ({sizes[client]})" for client in small], _MOST_NAMED)
    note = (
        f"{len(small)} of {len(sizes)} clients {'have' if several else 'has'} fewer than "
        f"{min_rows} rows (data.min_rows) and {'are' if several else 'is'} left out: {left_out}."
    )
    remaining = None if names is None else [called[client] for client in kept]
    return [client_rows[client] for client in kept], remaining, (note,)
