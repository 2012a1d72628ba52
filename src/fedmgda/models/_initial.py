"""The initial model as a function of the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fedmgda._random import Stream, generator
from fedmgda.models._flat import FlatModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from fedmgda._types import Vector

__all__ = ["initial_vector"]


def initial_vector(build_model: Callable[[], nn.Module], seed: int) -> Vector:
    """Return the vector of a freshly built model, drawn from the seed alone.

    PyTorch's initialisers read its global generator; it is put back as the caller left it.

    Args:
        build_model: Returns a new module.
        seed: The seed of the experiment.

    Returns:
        Of shape `(d + num_buffers,)`, float32: parameters, then float buffers.
    """
    draw = generator(seed, Stream.INITIAL_MODEL).integers(2**63)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(draw))
        return FlatModel(build_model()).array.copy()
