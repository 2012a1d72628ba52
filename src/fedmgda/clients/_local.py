"""Local SGD: the client's half of Algorithm 1."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch

from fedmgda.clients._objective import batch_loss
from fedmgda.clients._own_functions import optimizer_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from torch import Tensor

    from fedmgda.clients._block import Block
    from fedmgda.clients._training import LocalTraining, LossFunction
    from fedmgda.models import FlatModel

__all__ = ["full_gradient", "local_sgd"]


def local_sgd(
    model: FlatModel,
    block: Block,
    training: LocalTraining,
    rng: np.random.Generator,
    *,
    round_num: int = 1,
    loss_factor: float = 1.0,
) -> float:
    """Train a model that holds w_t on a client's examples, in place.

    Args:
        model: Holds w_t when called and w_i afterwards.
        block: The client's training split.
        training: The hyper-parameters.
        rng: The generator of this client in this round: it orders the examples. torch's own
            generator, which dropout reads, is the caller's business.
        round_num: The round, on which the step size may depend.
        loss_factor: Multiplies the loss, not the proximal term.

    Returns:
        The mean of the batch losses on the way, without factor and proximal term.
    """
    params, grad, prox = model.params, model.grad, training.prox_slope
    received = params.clone() if prox else params
    distance = torch.empty_like(params) if prox else params
    step = _stepper(model, training, training.client_lr_at(round_num))
    grad.zero_()
    model.module.train()
    seen = []
    for features, targets in _batches(block, training, rng):
        # Backward adds to what is there, so shrinking the last step here is the momentum. Without
        # momentum an infinite step must not become 0 * inf.
        _ = grad.mul_(training.momentum) if training.momentum else grad.zero_()
        if prox:
            grad.add_(torch.sub(params, received, out=distance), alpha=prox)
        loss = batch_loss(model.module(features), targets, training.loss)
        seen.append(loss.detach())
        _backward(loss if loss_factor == 1 else loss_factor * loss)
        step()
    return float(torch.stack(seen).double().mean())


def _stepper(model: FlatModel, training: LocalTraining, client_lr: float) -> Callable[[], object]:
    """Return what moves the parameters along `model.grad`: our step, or an optimiser's."""
    if training.optimizer is None:
        return partial(model.params.add_, model.grad, alpha=-client_lr)
    return optimizer_by(training.optimizer, model.module.parameters(), client_lr).step


def _batches(
    block: Block, training: LocalTraining, rng: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    size = min(training.batch_size or len(block), len(block))
    for _ in range(training.local_epochs):
        # One batch of everything is the same batch in any order.
        whole = size == len(block)
        epoch = block if whole else block.shuffled(torch.from_numpy(rng.permutation(len(block))))
        yield from epoch.batches(size)


def full_gradient(model: FlatModel, block: Block, own: LossFunction | None = None) -> float:
    """Write the gradient of the mean loss over a block, in eval mode, into `model.grad`.

    Returns:
        The mean loss, as this pass has seen it.
    """
    model.grad.zero_()
    model.module.eval()
    total = 0.0
    for features, targets in block.chunks():
        loss = batch_loss(model.module(features), targets, own, reduction="sum")
        total += float(loss.detach())
        _backward(loss / len(block))
    return total / len(block)


def _backward(loss: Tensor) -> None:
    # Scaling the loss first: an explicit gradient makes torch import a second's worth of modules.
    loss.backward()  # type: ignore[no-untyped-call]
