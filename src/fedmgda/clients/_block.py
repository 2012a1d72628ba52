"""The examples of one client, as torch sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from fedmgda._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from fedmgda._types import Indices
    from fedmgda.data import FederatedData, Pixels

__all__ = ["Block", "gather"]

_PASS_ENTRIES = 2**18
_PASS_ROWS = 8192


@final
@dataclass(frozen=True, slots=True)
class Block:
    """The examples of one client in one split.

    Attributes:
        features: Of shape `(n, ...)`.
        targets: Of shape `(n,)`: int64 for classes, float32 for regression.
    """

    features: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Cut the block into consecutive batches; the last one may be smaller."""
        return zip(torch.split(self.features, size), torch.split(self.targets, size), strict=True)

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Cut the block for a forward pass without exhausting memory, by its own shape alone."""
        tokens = not self.features.is_floating_point()
        return self.batches(_rows_per_pass(self.features[:1].numel(), tokens=tokens))

    def to(self, device: str, *, channels_last: bool) -> Block:
        """Return the examples on a device, the channels of images last in memory if wanted."""
        turned = channels_last and self.features.ndim == 4
        layout = torch.channels_last if turned else torch.preserve_format
        features = self.features.to(device, memory_format=layout)
        return Block(features, self.targets.to(device))

    def shuffled(self, order: Tensor) -> Block:
        """Return the examples in another order."""
        return Block(self.features[order], self.targets[order])


def _rows_per_pass(entries: int, *, tokens: bool) -> int:
    # A token is one entry but becomes a whole vector in every layer.
    return min(_PASS_ROWS, max(1, _PASS_ENTRIES // max(1, 64 * entries if tokens else entries)))


def gather(data: FederatedData, rows: Indices) -> Block:
    """Copy the given rows into memory of their own.

    torch aligns what it allocates and NumPy does not always; on equally aligned operands the same
    kernels run in every process, so the same numbers come out.
    """
    features = data.features[rows]
    scaled = _tensor(features) if data.pixels is None else _images(features, data.pixels)
    return Block(scaled, _tensor(data.targets[rows]))


def _tensor(array: NDArray[Any]) -> Tensor:
    # Whole numbers are classes or tokens; everything else is a measurement.
    dtype = torch.int64 if array.dtype.kind in "biu" else torch.float32
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return torch.tensor(native, dtype=dtype)


def _images(array: NDArray[Any], pixels: Pixels) -> Tensor:
    if array.dtype != np.uint8:
        raise DataError(f"Pixels must be bytes (uint8), got {array.dtype}; set pixels to None.")
    # One operation after the other, in single precision: the numbers of torchvision.
    return torch.tensor(array, dtype=torch.float32).div_(255).sub_(pixels.mean).div_(pixels.std)
