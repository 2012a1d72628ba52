"""A flat vector back as named arrays, as torch users expect a model on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.models._flat import FlatModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import nn

    from fedmgda._types import Vector

__all__ = ["named_arrays"]


def named_arrays(build_model: Callable[[], nn.Module], vector: Vector) -> dict[str, NDArray[Any]]:
    """Return the state dict of a model as NumPy arrays.

    Args:
        build_model: Returns a new module.
        vector: Of shape `(d + num_buffers,)`.
    """
    model = FlatModel(build_model())
    model.load(vector)
    state = model.module.state_dict()
    return {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in state.items()}
