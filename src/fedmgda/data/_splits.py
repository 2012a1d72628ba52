"""The local split: which of a client's examples it trains on, tunes on and is tested on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from fedmgda._errors import DataError
from fedmgda._random import Stream, generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices

__all__ = ["LocalSplit", "split_locally"]

LocalSplit: TypeAlias = Literal["shuffled", "tail"]


def split_locally(
    hands: Sequence[Indices], how: LocalSplit, seed: int
) -> tuple[tuple[Indices, ...], tuple[Indices, ...], tuple[Indices, ...]]:
    """Cut every client's examples 80 / 10 / 10 into train, validation and test.

    Args:
        hands: For each client its examples, in the order of the partition.
        how: "shuffled" permutes each client's examples first; "tail" cuts them as they come, which
            leaves label-sorted clients a test set of one class (what the released code does).
        seed: The seed of the permutations.

    Returns:
        Three tuples with one index array per client.

    Raises:
        DataError: If a client has fewer than three examples.
    """
    train, validation, test = [], [], []
    for client, hand in enumerate(hands):
        if len(hand) < 3:
            raise DataError(
                f"Client {client} has {len(hand)} examples and needs at least 3: one to train on, "
                "one to validate and one to test on. Use fewer clients or another partition."
            )
        rows = hand
        if how == "shuffled":
            rows = generator(seed, Stream.LOCAL_SPLIT, client).permutation(hand)
        first = min(len(rows) * 8 // 10, len(rows) - 2)
        second = max(len(rows) * 9 // 10, first + 1)
        train.append(rows[:first])
        validation.append(rows[first:second])
        test.append(rows[second:])
    return tuple(train), tuple(validation), tuple(test)
