"""The methods of the paper by name, as Flower's users know strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda import rules
from fedmgda.flower.strategy._rule_strategy import RuleStrategy

if TYPE_CHECKING:
    from typing import Unpack

    from fedmgda.flower.strategy._settings import StrategyKeywords
    from fedmgda.rules import Center, LossScale
    from fedmgda.values import Annealed

__all__ = ["AFL", "FedAvg", "FedAvgN", "FedMGDA", "FedMGDAPlus", "QFedAvg"]


class FedMGDAPlus(RuleStrategy):
    """FedMGDA+: the min-norm point of the updates, each of unit length.

    `FedMGDAPlus(fraction_train=0.5, epsilon=1.0, record="runs/a")` stands where
    `FedAvg(fraction_train=0.5)` stood; clients need no change.
    """

    def __init__(
        self,
        *,
        epsilon: float | Annealed = 1.0,
        center: Center = "uniform",
        **keywords: Unpack[StrategyKeywords],
    ) -> None:
        """Take the half-width ε of the box round λ0, λ0, and what every `RuleStrategy` takes."""
        super().__init__(rules.FedMGDA(epsilon=epsilon, center=center), **keywords)


class FedMGDA(RuleStrategy):
    """FedMGDA: the min-norm point of the updates as they are."""

    def __init__(
        self,
        *,
        epsilon: float | Annealed = 1.0,
        center: Center = "uniform",
        **keywords: Unpack[StrategyKeywords],
    ) -> None:
        """Take the half-width ε of the box round λ0, λ0, and what every `RuleStrategy` takes."""
        rule = rules.FedMGDA(epsilon=epsilon, center=center, normalize=False)
        super().__init__(rule, **keywords)


class FedAvg(RuleStrategy):
    """FedAvg, weighted by examples as Flower's is, behind the gate and with a record."""

    def __init__(
        self, *, center: Center = "examples", **keywords: Unpack[StrategyKeywords]
    ) -> None:
        """Take the weights λ0 and what every `RuleStrategy` takes."""
        super().__init__(rules.FedAvg(center=center), **keywords)


class FedAvgN(RuleStrategy):
    """FedAvg-n: the mean of the updates, each of unit length."""

    def __init__(self, *, center: Center = "uniform", **keywords: Unpack[StrategyKeywords]) -> None:
        """Take the weights λ0 and what every `RuleStrategy` takes."""
        super().__init__(rules.FedAvg(center=center, normalize=True), **keywords)


class QFedAvg(RuleStrategy):
    """q-FedAvg: updates weighted by the q-th power of the loss; clients must say their loss."""

    def __init__(
        self,
        *,
        client_lr: float,
        q: float = 1.0,
        loss_scale: LossScale = "mean",
        **keywords: Unpack[StrategyKeywords],
    ) -> None:
        """Take the clients' learning rate η (L = 1/η), q, and what every `RuleStrategy` takes."""
        rule = rules.QFedAvg(q=q, client_lr=client_lr, loss_scale=loss_scale)
        super().__init__(rule, **keywords)


class AFL(RuleStrategy):
    """AFL: a mixture that climbs towards the largest loss; clients must say their loss.

    The model that is evaluated and returned is the mean of the iterates.
    """

    def __init__(
        self,
        *,
        gamma_w: float = 1.0,
        gamma_lambda: float = 0.1,
        **keywords: Unpack[StrategyKeywords],
    ) -> None:
        """Take the steps of the model and of λ, and what every `RuleStrategy` takes."""
        super().__init__(rules.AFL(gamma_w=gamma_w, gamma_lambda=gamma_lambda), **keywords)
