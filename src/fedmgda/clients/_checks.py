"""What a pool refuses before it starts."""

from __future__ import annotations

import math
from typing import get_args

import torch

from fedmgda._errors import MissingDependencyError
from fedmgda.clients._bench import ComputePath, Device, ReportedLoss

__all__ = ["check_settings"]


def check_settings(
    *, workers: int, client_timeout: float, reported_loss: str, path: str, device: str
) -> None:
    """Refuse settings that are out of range, in one sentence.

    Raises:
        ValueError: If a value is none of those that are possible.
        MissingDependencyError: If the device is not there.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}.")
    if not 0 < client_timeout < math.inf:
        raise ValueError(f"client_timeout must be positive and finite, got {client_timeout}.")
    if reported_loss not in get_args(ReportedLoss):
        raise ValueError(f'reported_loss must be "before" or "during", got {reported_loss!r}.')
    if path not in get_args(ComputePath):
        raise ValueError(f'path must be "auto", "torch" or "compiled", got {path!r}.')
    if device not in get_args(Device):
        raise ValueError(f'device must be "cpu" or "cuda", got {device!r}.')
    if device == "cuda" and not torch.cuda.is_available():
        raise MissingDependencyError(
            'device = "cuda" needs a GPU that torch can use, and torch finds none; use "cpu".'
        )
