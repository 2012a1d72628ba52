"""A data set before it becomes a federation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda.data._federated import Pixels

__all__ = ["Examples"]


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
    """

    name: str
    features: NDArray[Any]
    targets: NDArray[Any]
    num_classes: int | None
    pixels: Pixels | None = None
    groups: NDArray[Any] | None = None
    group_names: tuple[str, ...] | None = None
