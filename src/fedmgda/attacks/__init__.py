"""What malicious clients do: to the loss they train on, or to what they report."""

from fedmgda.attacks._attack import (
    ATTACKS,
    Attack,
    BiasLoss,
    GeneratorOf,
    OpposeGradient,
    ScaleLoss,
    ScaleUpdate,
    Veto,
    attack_options,
    rows_of,
    under_attack,
)
from fedmgda.attacks._clients_under_attack import ClientsUnderAttack

__all__ = [
    "ATTACKS",
    "Attack",
    "BiasLoss",
    "ClientsUnderAttack",
    "GeneratorOf",
    "OpposeGradient",
    "ScaleLoss",
    "ScaleUpdate",
    "Veto",
    "attack_options",
    "rows_of",
    "under_attack",
]
