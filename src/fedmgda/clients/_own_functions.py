"""Functions of the user's own, a loss and an optimiser, held to their word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from fedmgda._errors import SpecError
from fedmgda.clients._work import in_short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from fedmgda.clients._training import LocalTraining, LossFunction, MakeOptimizer

__all__ = ["check_own_functions", "losses_by", "optimizer_by"]


def losses_by(own: LossFunction, output: Tensor, targets: Tensor) -> Tensor:
    """Return the losses of n examples, of shape `(n,)`, and nothing else."""
    losses: object = own(output, targets)
    if not isinstance(losses, torch.Tensor):
        raise TypeError(f"the loss must be a tensor, got {type(losses).__name__}")
    if losses.shape != targets.shape:
        raise ValueError(
            f"the loss of {len(targets)} examples must have shape {tuple(targets.shape)}, got"
            f" {tuple(losses.shape)}; do not reduce it"
        )
    return losses


def optimizer_by(
    own: MakeOptimizer, parameters: Iterable[nn.Parameter], client_lr: float
) -> torch.optim.Optimizer:
    """Return a new optimiser for the parameters that learn."""
    found: object = own([param for param in parameters if param.requires_grad], client_lr)
    if not isinstance(found, torch.optim.Optimizer):
        kind = type(found).__name__
        raise TypeError(f"the optimizer must be a torch.optim.Optimizer, got {kind}")
    return found


def check_own_functions(training: LocalTraining, output: Tensor, targets: Tensor) -> None:
    """Try loss and optimiser before the first round rather than in every client.

    Args:
        training: What may hold them.
        output: What the model gives for a few examples.
        targets: Of shape `(n,)`: their targets.

    Raises:
        SpecError: If one of them cannot be used.
    """
    if training.loss is not None:
        try:
            losses_by(training.loss, output, targets)
        except Exception as error:
            raise SpecError(f"clients.loss cannot be used: {in_short(error)}.") from error
    if training.optimizer is not None:
        try:
            optimizer_by(
                training.optimizer, [nn.Parameter(torch.zeros(1))], training.client_lr_at(1)
            )
        except Exception as error:
            raise SpecError(f"clients.optimizer cannot be used: {in_short(error)}.") from error
