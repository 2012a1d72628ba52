"""Federated data on its way to the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final, overload

import numpy as np

from fedmgda.clients._shared import SharedArray, share
from fedmgda.data import FederatedData

if TYPE_CHECKING:
    from fedmgda._types import Indices
    from fedmgda.clients._shared import Source
    from fedmgda.data import Pixels

__all__ = ["SharedData"]


@final
@dataclass(frozen=True, slots=True)
class SharedData:
    """The arrays of federated data in a form that a child process receives without a copy."""

    name: str
    features: Source
    targets: Source
    rows: SharedArray
    lengths: tuple[Indices, ...]
    num_classes: int | None
    pixels: Pixels | None

    @classmethod
    def of(cls, data: FederatedData) -> Self:
        """Share the arrays of the data: train, validation and test rows become one array."""
        splits = (data.train, data.validation, data.test)
        pieces = [np.asarray(rows, np.int64) for split in splits for rows in split]
        return cls(
            name=data.name,
            features=share(data.features),
            targets=share(data.targets),
            rows=SharedArray.of(np.concatenate(pieces)),
            lengths=tuple(np.array([len(rows) for rows in split], np.int64) for split in splits),
            num_classes=data.num_classes,
            pixels=data.pixels,
        )

    def open(self) -> FederatedData:
        """Return the data as views of the shared arrays."""
        splits = []
        start = 0
        for lengths in self.lengths:
            ends = start + np.cumsum(np.concatenate([[0], lengths]))
            splits.append(_Rows(self.rows.array, ends))
            start = int(ends[-1])
        train, validation, test = splits
        return FederatedData(
            name=self.name,
            features=self.features.array,
            targets=self.targets.array,
            train=train,
            validation=validation,
            test=test,
            num_classes=self.num_classes,
            pixels=self.pixels,
        )


@final
class _Rows(Sequence["Indices"]):
    """For each client its rows, as a view made when it is asked for.

    An array object takes more memory than the rows of a small client, and there may be 100,000.
    """

    def __init__(self, rows: Indices, ends: Indices) -> None:
        self._rows, self._ends = rows, ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, client_id: int) -> Indices: ...

    @overload
    def __getitem__(self, client_id: slice) -> list[Indices]: ...

    def __getitem__(self, client_id: int | slice) -> Indices | list[Indices]:
        if isinstance(client_id, slice):
            return [self[i] for i in range(*client_id.indices(len(self)))]
        if not -len(self) <= client_id < len(self):
            raise IndexError(f"There is no client {client_id} among {len(self)}.")
        client_id %= len(self)
        return self._rows[self._ends[client_id] : self._ends[client_id + 1]]
