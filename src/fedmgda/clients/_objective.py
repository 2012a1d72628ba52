"""A block of one client's examples, and the mean loss over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch.nn import functional

from fedmgda._errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from fedmgda._types import Indices
    from fedmgda.data import FederatedData, Pixels

__all__ = ["Block", "batch_loss", "gather", "rows_per_pass", "score", "score_each"]

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


def rows_per_pass(data: FederatedData) -> int:
    """Return how many examples go through a model in one forward pass."""
    tokens = data.pixels is None and data.features.dtype.kind in "biu"
    return _rows_per_pass(math.prod(data.features.shape[1:]), tokens=tokens)


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


def batch_loss(output: Tensor, targets: Tensor, *, reduction: str = "mean") -> Tensor:
    """Return the cross-entropy of class scores, or the squared error if the targets are floats.

    Args:
        output: Of shape `(n, num_classes)`; for regression `(n,)` or `(n, 1)`.
        targets: Of shape `(n,)`.
        reduction: "mean" or "sum" over the batch.
    """
    if targets.is_floating_point():
        return functional.mse_loss(output.reshape(targets.shape), targets, reduction=reduction)
    return functional.cross_entropy(output, targets, reduction=reduction)


def score(module: nn.Module, block: Block) -> tuple[float, float]:
    """Return mean loss and accuracy of a module over a block, in eval mode.

    The accuracy of a regression, and everything about an empty block, is NaN.
    """
    if not len(block):
        return float("nan"), float("nan")
    module.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for features, targets in block.chunks():
            output = module(features)
            loss += float(batch_loss(output, targets, reduction="sum"))
            if not targets.is_floating_point():
                correct += int((output.argmax(1) == targets).sum())
    accuracy = float("nan") if block.targets.is_floating_point() else correct / len(block)
    return loss / len(block), accuracy


def score_each(module: nn.Module, block: Block, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return mean loss and accuracy over each of the consecutive pieces of a block, in eval mode.

    Args:
        module: The model.
        block: The examples of several clients, one client behind the other.
        lengths: Of shape `(m,)`: how many examples each client has.

    Returns:
        Of shape `(m, 2)`; NaN as in `score`.
    """
    module.eval()
    outputs: list[tuple[Tensor, Tensor]] = []
    with torch.no_grad():
        for features, targets in block.chunks():
            output = module(features)
            right = targets if targets.is_floating_point() else output.argmax(1) == targets
            outputs.append((batch_loss(output, targets, reduction="none"), right))
    owners = np.repeat(np.arange(len(lengths)), lengths)
    sums: list[NDArray[Any]] = [
        np.bincount(owners, torch.cat(column).double().cpu().numpy(), len(lengths))
        for column in zip(*outputs, strict=True)
    ] or [np.zeros(len(lengths))] * 2
    with np.errstate(invalid="ignore"):  # a client without examples has no score
        scores = np.column_stack(sums) / lengths[:, None]
    if block.targets.is_floating_point():
        scores[:, 1] = np.nan
    return scores
