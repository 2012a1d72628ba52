"""What a model is trained on and judged by: its loss over examples, and its accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from fedmgda.clients._own_functions import losses_by

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from fedmgda.clients._block import Block
    from fedmgda.clients._training import LossFunction

__all__ = ["batch_loss", "outputs_of", "score"]


def batch_loss(
    output: Tensor, targets: Tensor, own: LossFunction | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Return the cross-entropy of class scores, or the squared error if the targets are floats.

    Args:
        output: Of shape `(n, num_classes)`; for regression `(n,)` or `(n, 1)`.
        targets: Of shape `(n,)`.
        own: A loss that takes the place of these; it decides what shape outputs have.
        reduction: "mean" or "sum" over the batch, or "none" for the n losses.
    """
    if own is not None:
        losses = losses_by(own, output, targets)
        if reduction == "none":
            return losses
        return losses.sum() if reduction == "sum" else losses.mean()
    if targets.is_floating_point():
        return functional.mse_loss(output.reshape(targets.shape), targets, reduction=reduction)
    return functional.cross_entropy(output, targets, reduction=reduction)


def _correct(output: Tensor, targets: Tensor, own: LossFunction | None) -> Tensor | None:
    """Return which examples are classified correctly: the largest score is at the target.

    None where that has no meaning: the targets are numbers, or with a loss of the user's own the
    outputs are not scores of two classes or more, `(n, c)`.
    """
    scores = own is None or (output.ndim == 2 and output.shape[1] > 1)
    return output.argmax(1) == targets if scores and not targets.is_floating_point() else None


def score(module: nn.Module, block: Block, own: LossFunction | None = None) -> tuple[float, float]:
    """Return mean loss and accuracy of a module over a block, in eval mode.

    The accuracy of what is no classification, and everything about an empty block, is NaN.
    """
    if not len(block):
        return float("nan"), float("nan")
    module.eval()
    loss, correct = 0.0, 0.0
    with torch.no_grad():
        for features, targets in block.chunks():
            output = module(features)
            loss += float(batch_loss(output, targets, own, reduction="sum"))
            right = _correct(output, targets, own)
            correct += float("nan") if right is None else int(right.sum())
    return loss / len(block), correct / len(block)


def outputs_of(module: nn.Module, block: Block) -> NDArray[np.float32]:
    """Return what a module gives for each example, of shape `(n, k)`, in eval mode."""
    module.eval()
    with torch.no_grad():
        output = torch.cat([module(features) for features, _ in block.chunks()])
    return output.reshape(len(block), -1).float().cpu().numpy()
