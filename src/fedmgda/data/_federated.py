"""The two forms of data: examples that belong to nobody yet, and the data of all clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._types import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data.own._encoder import Encoder

__all__ = ["Examples", "FederatedData", "Pixels", "Split"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """How bytes become the numbers a model sees: (x / 255 - mean) / std."""

    mean: float
    std: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Examples that a partition will deal to clients.

    Attributes:
        name: What the data is called in messages and records.
        features: Of shape `(n, ...)`, one row per example; may be memory-mapped.
        targets: Of shape `(n,)`: int64 class numbers, or float32 values for regression.
        num_classes: The number of classes; None means regression.
        pixels: For features that are bytes of images, how they are scaled.
        groups: Of shape `(n,)`, int64: the client each example belongs to by nature; None if the
            data has no such column.
        group_names: What the groups are called outside.
        class_names: What the classes are called, where they have names.
    """

    name: str
    features: NDArray[Any]
    targets: NDArray[Any]
    num_classes: int | None
    pixels: Pixels | None = None
    groups: NDArray[Any] | None = None
    group_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FederatedData:
    """Examples of all clients in two arrays, and which rows belong to whom.

    Attributes:
        name: What the data is called in messages and records.
        features: Of shape `(n, ...)`, one row per example; may be memory-mapped.
        targets: Of shape `(n,)`: int64 class numbers, or float32 values for regression.
        train: For each client the rows it trains on.
        validation: For each client the rows kept for choosing hyper-parameters.
        test: For each client the rows it is tested on.
        num_classes: The number of classes; None means regression.
        pixels: For features that are bytes of images (uint8), how they are scaled; None leaves
            floats as they are and takes whole numbers for tokens.
        client_names: What the clients are called outside, where they have names of their own.
        class_names: What the classes are called, where they have names.
        encoder: How rows of a table became the features; None where they are taken as they are.
    """

    name: str
    features: NDArray[Any]
    targets: NDArray[Any]
    train: Sequence[Indices]
    validation: Sequence[Indices]
    test: Sequence[Indices]
    num_classes: int | None
    pixels: Pixels | None = None
    client_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    encoder: Encoder | None = None

    @property
    def num_clients(self) -> int:
        """The number of clients, with ids 0 to num_clients - 1."""
        return len(self.train)

    def split(self, name: Split) -> Sequence[Indices]:
        """Return the rows of every client in one split."""
        match name:
            case "train":
                return self.train
            case "validation":
                return self.validation
            case "test":
                return self.test

    @property
    def num_examples(self) -> NDArray[np.float64]:
        """Of shape `(num_clients,)`: how many examples each client trains on."""
        return np.array([len(rows) for rows in self.train], dtype=np.float64)
