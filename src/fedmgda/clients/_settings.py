"""What everyone who does a client's work must agree on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, final, get_args

import torch

from fedmgda._errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

    from fedmgda.clients._training import LocalTraining

__all__ = ["Device", "ReportedLoss", "Settings"]

ReportedLoss: TypeAlias = Literal["before", "during"]
Device: TypeAlias = Literal["cpu", "cuda"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What every process must know to give the same numbers.

    Attributes:
        build_model: Returns a new module.
        training: The hyper-parameters of local SGD.
        seed: The seed of the experiment.
        loss_factors: Whose training objective and reported loss are multiplied, and by what.
        reported_loss: "before" reports f_i(w_t), "during" the mean of the batch losses.
        channels_last: In which memory format images are computed.
        device: Where torch computes.

    Raises:
        ValueError: If a value is none of those that are possible.
        MissingDependencyError: If the device is not there.
    """

    build_model: Callable[[], nn.Module]
    training: LocalTraining
    seed: int
    loss_factors: Mapping[int, float] = field(default_factory=dict)
    reported_loss: ReportedLoss = "before"
    channels_last: bool = False
    device: Device = "cpu"

    def __post_init__(self) -> None:
        if self.reported_loss not in get_args(ReportedLoss):
            raise ValueError(
                f'reported_loss must be "before" or "during", got {self.reported_loss!r}.'
            )
        if self.device not in get_args(Device):
            raise ValueError(f'device must be "cpu" or "cuda", got {self.device!r}.')
        if self.device == "cuda" and not torch.cuda.is_available():
            raise MissingDependencyError(
                'device = "cuda" needs a GPU that torch can use, and torch finds none; use "cpu".'
            )
        for client_id, factor in self.loss_factors.items():
            if not math.isfinite(factor):
                raise ValueError(
                    f"loss_factors must be finite, got {factor} for client {client_id}."
                )
