"""The hyper-parameters of one client's local work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from fedmgda.values import Annealed, value_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn
    from torch.optim import Optimizer

__all__ = ["LocalTraining", "LossFunction", "MakeOptimizer"]

LossFunction: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"
"""From the outputs of a model and n targets to the n losses of the examples, of shape `(n,)`."""

MakeOptimizer: TypeAlias = "Callable[[list[nn.Parameter], float], Optimizer]"
"""From the parameters of a model and η to what takes the steps."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTraining:
    """What a client does with the model it receives: local SGD on its training split.

    Attributes:
        local_epochs: k, the number of passes over the training split.
        batch_size: b; the last, smaller batch of an epoch is kept. None means the whole split.
        client_lr: η, the step size: a number, or how it falls with the rounds.
        momentum: PyTorch's momentum, starting from zero in every round.
        mu: The weight of the proximal term, which keeps w near the received w_t.
        prox_convention: "half" adds (mu/2)‖w - w_t‖² to the loss of each batch, as FedProx does;
            "full" adds mu‖w - w_t‖², as the released code of the paper does (SPEC 1.3).
        loss: The loss of each example, from outputs and targets; None takes the cross-entropy of
            classes and the squared error of numbers. Its mean over a batch is trained on, its mean
            over a split is f_i and what an evaluation reports.
        optimizer: Makes the optimiser that takes the steps, anew in every round, from the
            parameters and η; None takes SGD with the momentum above. It must change the parameters
            in place by a `step()` without arguments, as those of torch do. The gradient it finds
            has the proximal term in it.

    >>> LocalTraining(mu=0.1, prox_convention="full").prox_slope
    0.2
    """

    local_epochs: int = 1
    batch_size: int | None = 10
    client_lr: float | Annealed = 0.1
    momentum: float = 0.0
    mu: float = 0.0
    prox_convention: Literal["half", "full"] = "half"
    loss: LossFunction | None = None
    optimizer: MakeOptimizer | None = None

    def __post_init__(self) -> None:
        if self.local_epochs < 1:
            raise ValueError(f"local_epochs must be at least 1, got {self.local_epochs}.")
        if self.batch_size is not None and self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1 or None, got {self.batch_size}.")
        if not 0 < self.client_lr_at(1) < math.inf:
            raise ValueError(f"client_lr must be positive and finite, got {self.client_lr}.")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must lie in [0, 1), got {self.momentum}.")
        if not 0 <= self.mu < math.inf:
            raise ValueError(f"mu must be non-negative and finite, got {self.mu}.")
        if self.prox_convention not in ("half", "full"):
            raise ValueError(
                f'prox_convention must be "half" or "full", got {self.prox_convention!r}.'
            )
        self._check_functions()

    def _check_functions(self) -> None:
        for name in ("loss", "optimizer"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise ValueError(f"{name} must be a function or None, got {value!r}.")
        if self.optimizer is not None and self.momentum:
            raise ValueError(
                f"momentum = {self.momentum} would not reach your optimizer; give it to the "
                "optimizer itself, and leave momentum at 0."
            )

    @property
    def prox_slope(self) -> float:
        """The c of c(w - w_t), the gradient of the proximal term."""
        return self.mu if self.prox_convention == "half" else 2 * self.mu

    @property
    def own(self) -> str | None:
        """Which function of the user's own it holds, if any: only torch can call it."""
        given = [name for name in ("loss", "optimizer") if getattr(self, name) is not None]
        return " and ".join(given) or None

    def client_lr_at(self, round_num: int) -> float:
        """Return η in a round: the one place that reads it."""
        return value_at(self.client_lr, round_num)
