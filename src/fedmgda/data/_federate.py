"""From examples and a partition to a federation, with the local split of every client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from fedmgda._errors import DataError
from fedmgda._random import Stream, generator
from fedmgda.data._federated import FederatedData
from fedmgda.data.own._encoding import Table, encoder_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices
    from fedmgda.data._federated import Examples

__all__ = ["LocalSplit", "federate", "split_locally"]

LocalSplit: TypeAlias = Literal["shuffled", "tail"]


def split_locally(
    client_rows: Sequence[Indices],
    how: LocalSplit,
    seed: int,
    client_ids: Sequence[int] | None = None,
) -> tuple[tuple[Indices, ...], tuple[Indices, ...], tuple[Indices, ...]]:
    """Cut every client's examples 80 / 10 / 10 into train, validation and test.

    Args:
        client_rows: For each client its examples, in the order of the partition.
        how: "shuffled" permutes each client's examples first; "tail" cuts them as they come, which
            leaves label-sorted clients a test set of one class (what the released code does).
        seed: The seed of the permutations.
        client_ids: Who they are, where they are not all clients; each id is part of its seed.

    Returns:
        Three tuples with one index array per client.

    Raises:
        DataError: If a client has fewer than three examples.
    """
    train, validation, test = [], [], []
    ids = range(len(client_rows)) if client_ids is None else client_ids
    for client, own in zip(ids, client_rows, strict=True):
        if len(own) < 3:
            raise DataError(
                f"Client {client} has {len(own)} examples and needs at least 3: one to train on, "
                "one to validate and one to test on. Use fewer clients or another partition."
            )
        rows = own
        if how == "shuffled":
            rows = generator(seed, Stream.LOCAL_SPLIT, client).permutation(own)
        first = min(len(rows) * 8 // 10, len(rows) - 2)
        second = max(len(rows) * 9 // 10, first + 1)
        train.append(rows[:first])
        validation.append(rows[first:second])
        test.append(rows[second:])
    return tuple(train), tuple(validation), tuple(test)


def federate(
    source: Examples | Table,
    client_rows: Sequence[Indices],
    *,
    seed: int,
    how: LocalSplit = "shuffled",
    client_names: Sequence[str] | None = None,
) -> FederatedData:
    """Split every client's examples locally; encode a table with what the training rows say.

    Args:
        source: The data.
        client_rows: For each client its examples, from a partition.
        seed: The seed of the local split.
        how: The local split.
        client_names: What the clients are called; the names of the groups, for a natural partition.
    """
    train, validation, test = split_locally(client_rows, how, seed)
    encoder = None
    if isinstance(source, Table):
        encoder = encoder_of(source, np.concatenate(train))
        features = encoder.encode(source.columns, source.name)
        targets, pixels = encoder.encode_targets(source.targets), None
    else:
        features, targets, pixels = source.features, source.targets, source.pixels
    return FederatedData(
        name=source.name,
        features=features,
        targets=targets,
        train=train,
        validation=validation,
        test=test,
        num_classes=source.num_classes,
        pixels=pixels,
        client_names=None if client_names is None else tuple(client_names),
        class_names=source.class_names,
        encoder=encoder,
    )
