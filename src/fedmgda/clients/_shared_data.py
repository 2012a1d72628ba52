"""Federated data on its way to the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

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
        ends = np.cumsum(np.concatenate(self.lengths))
        pieces = np.split(self.rows.array, ends[:-1])
        n = len(self.lengths[0])
        return FederatedData(
            name=self.name,
            features=self.features.array,
            targets=self.targets.array,
            train=tuple(pieces[:n]),
            validation=tuple(pieces[n : 2 * n]),
            test=tuple(pieces[2 * n :]),
            num_classes=self.num_classes,
            pixels=self.pixels,
        )
