"""What malicious clients do: to the loss they train on, or to what they report."""

from fedmgda.attacks._attack import (
    ATTACKS,
    Attack,
    BiasLoss,
    GeneratorOf,
    ScaleLoss,
    ScaleUpdate,
    attack_options,
    rows_of,
    under_attack,
)

__all__ = [
    "ATTACKS",
    "Attack",
    "BiasLoss",
    "GeneratorOf",
    "ScaleLoss",
    "ScaleUpdate",
    "attack_options",
    "rows_of",
    "under_attack",
]
