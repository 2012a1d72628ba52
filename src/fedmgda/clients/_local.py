"""Local SGD: the client's half of Algorithm 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fedmgda.clients._objective import batch_loss

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from torch import Tensor

    from fedmgda.clients._objective import Block
    from fedmgda.clients._training import LocalTraining
    from fedmgda.models import FlatModel

__all__ = ["full_gradient", "local_sgd"]


def local_sgd(
    model: FlatModel,
    block: Block,
    training: LocalTraining,
    rng: np.random.Generator,
    *,
    loss_factor: float = 1.0,
) -> float:
    """Train a model that holds w_t on a client's examples, in place.

    Args:
        model: Holds w_t when called and w_i afterwards.
        block: The client's training split.
        training: The hyper-parameters.
        rng: The generator of this client in this round: it orders the examples. torch's own
            generator, which dropout reads, is the caller's business.
        loss_factor: Multiplies the loss, not the proximal term.

    Returns:
        The mean of the batch losses on the way, without factor and proximal term.
    """
    params, grad, prox = model.params, model.grad, training.prox_slope
    received = params.clone() if prox else params
    distance = torch.empty_like(params) if prox else params
    grad.zero_()
    model.module.train()
    seen = []
    for features, targets in _batches(block, training, rng):
        # Backward adds to what is there, so shrinking the last step here is the momentum. Without
        # momentum an infinite step must not become 0 * inf.
        _ = grad.mul_(training.momentum) if training.momentum else grad.zero_()
        if prox:
            grad.add_(torch.sub(params, received, out=distance), alpha=prox)
        loss = batch_loss(model.module(features), targets)
        seen.append(loss.detach())
        _backward(loss if loss_factor == 1 else loss_factor * loss)
        params.add_(grad, alpha=-training.client_lr)
    return float(torch.stack(seen).double().mean())


def _batches(
    block: Block, training: LocalTraining, rng: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    size = min(training.batch_size or len(block), len(block))
    for _ in range(training.local_epochs):
        # One batch of everything is the same batch in any order.
        whole = size == len(block)
        epoch = block if whole else block.shuffled(torch.from_numpy(rng.permutation(len(block))))
        yield from epoch.batches(size)


def full_gradient(model: FlatModel, block: Block) -> None:
    """Write the gradient of the mean loss over a block, in eval mode, into `model.grad`."""
    model.grad.zero_()
    model.module.eval()
    for features, targets in block.chunks():
        _backward(batch_loss(model.module(features), targets, reduction="sum") / len(block))


def _backward(loss: Tensor) -> None:
    # Scaling the loss first: an explicit gradient makes torch import a second's worth of modules.
    loss.backward()  # type: ignore[no-untyped-call]
