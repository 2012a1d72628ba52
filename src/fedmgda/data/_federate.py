"""From examples and a partition to a federation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.data._federated import FederatedData
from fedmgda.data._splits import split_locally
from fedmgda.data._table import Table, encode_table, encode_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices
    from fedmgda.data._examples import Examples
    from fedmgda.data._splits import LocalSplit

__all__ = ["federate"]


def federate(
    source: Examples | Table,
    hands: Sequence[Indices],
    *,
    seed: int,
    how: LocalSplit = "shuffled",
    client_names: Sequence[str] | None = None,
) -> FederatedData:
    """Split every client's examples locally; encode a table with what the training rows say.

    Args:
        source: The data.
        hands: For each client its examples, from a partition.
        seed: The seed of the local split.
        how: The local split.
        client_names: What the clients are called; the names of the groups, for a natural partition.
    """
    train, validation, test = split_locally(hands, how, seed)
    if isinstance(source, Table):
        known = np.concatenate(train)
        features, targets = encode_table(source, known), encode_targets(source, known)
        pixels = None
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
    )
