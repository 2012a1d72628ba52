"""The part of a federation that one place holds: its sums go out, an encoder comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._federate import split_locally
from fedmgda.data._federated import FederatedData
from fedmgda.data._partitions import natural_partition
from fedmgda.data._small_clients import leave_out_small_clients
from fedmgda.data.own._statistics import statistics_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices, Vector
    from fedmgda.data._federate import LocalSplit
    from fedmgda.data.own._encoder import Encoder
    from fedmgda.data.own._encoding import Table
    from fedmgda.data.own._statistics import Statistics

__all__ = ["FederationPart", "part_of"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FederationPart:
    """Some clients of a federation, whose rows are not encoded yet.

    The ids of its clients, and the encoder, take all clients to know; `client_ids` below are those
    of `client_names`, in this order.

    Attributes:
        table: The rows, with a schema that was given.
        client_names: What the k clients are called.
        client_rows: For each client its rows.
        seed: The seed of the local split.
        how: The local split.
    """

    table: Table
    client_names: tuple[str, ...]
    client_rows: tuple[Indices, ...]
    seed: int
    how: LocalSplit = "shuffled"

    @property
    def sizes(self) -> Indices:
        """Of shape `(k, 3)`: how many rows each client trains, validates and tests on."""
        splits = split_locally(self.client_rows, "tail", 0)  # which rows they are changes no size
        return np.array([[len(rows) for rows in split] for split in splits], np.int64).T

    def statistics(self, client_ids: Sequence[int]) -> Statistics:
        """Return what the training rows of all clients of this part add up to."""
        train, _, _ = split_locally(self.client_rows, self.how, self.seed, client_ids)
        table = self.table
        return statistics_of(table.schema, table.columns, table.targets, np.concatenate(train))

    def class_counts(self, client_ids: Sequence[int]) -> Vector:
        """Return how many training rows each class has, of shape `(num_classes,)`."""
        train, _, _ = split_locally(self.client_rows, self.how, self.seed, client_ids)
        targets = self.table.targets[np.concatenate(train)]
        return np.bincount(targets, minlength=self.table.num_classes or 0).astype(np.float64)

    def federate(
        self, client_ids: Sequence[int], num_clients: int, encoder: Encoder
    ) -> FederatedData:
        """Return the data of the whole federation as this place sees it.

        Its clients have the rows that they would have if all rows were in one place; all others
        have none.

        Args:
            client_ids: The ids of the k clients here.
            num_clients: How many clients there are everywhere.
            encoder: How rows become features, everywhere alike.
        """
        table = self.table
        splits = split_locally(self.client_rows, self.how, self.seed, client_ids)
        placed = []
        for split in splits:
            rows = [np.empty(0, np.int64) for _ in range(num_clients)]
            for client, own in zip(client_ids, split, strict=True):
                rows[client] = own
            placed.append(tuple(rows))
        names = [""] * num_clients
        for client, name in zip(client_ids, self.client_names, strict=True):
            names[client] = name
        return FederatedData(
            name=table.name,
            features=encoder.encode(table.columns, table.name),
            targets=encoder.encode_targets(table.targets),
            train=placed[0],
            validation=placed[1],
            test=placed[2],
            num_classes=table.num_classes,
            client_names=tuple(names),
            class_names=table.class_names,
            encoder=encoder,
        )


def part_of(
    table: Table, *, name: str, min_rows: int, seed: int, how: LocalSplit = "shuffled"
) -> FederationPart:
    """Return a table as the part of a federation that lies here.

    Args:
        table: The rows; a schema said what they are.
        name: What the one client is called, where no column says whose each row is.
        min_rows: Clients with fewer rows are left out; of few rows, sums tell single values.
        seed: The seed of the local split.
        how: The local split.

    Raises:
        DataError: If nobody has enough rows.
    """
    if not table.given:
        raise DataError(f"{table.name} was read without data.schema, so no sums of it add up.")
    rows, names = [np.arange(len(table.targets))], [name]
    if table.groups is not None:
        names = list(table.group_names or ())
        rows = natural_partition(table.groups)
    kept, kept_names, _ = leave_out_small_clients(rows, names, max(min_rows, 3))
    return FederationPart(
        table=table,
        client_names=tuple(kept_names or ()),
        client_rows=tuple(kept),
        seed=seed,
        how=how,
    )
