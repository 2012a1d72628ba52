"""The tensors of a model, as torch users expect them on disk, and where they lie in the vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fedmgda.models._flat import FlatModel
from fedmgda.values import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

__all__ = ["layout_of"]


def layout_of(build_model: Callable[[], nn.Module]) -> tuple[Tensor, ...]:
    """Return the entries of the state dict of a model, for `fedmgda.values.named_arrays`.

    Parameters and float buffers lie in the vector that travels, tied ones at one place. Whole
    numbers, such as the counter of a batch norm, do not travel: they keep the value of a new model.

    Args:
        build_model: Returns a new module.
    """
    with torch.random.fork_rng(devices=[]):
        model = FlatModel(build_model())
    first = model.vector.data_ptr()
    found = []
    for name, tensor in model.module.state_dict().items():
        start = (tensor.data_ptr() - first) // tensor.element_size() if tensor.numel() else 0
        shape = tuple(tensor.shape) or (1,)  # as run folders have always had single numbers
        if tensor.is_floating_point():
            found.append(Tensor(name=name, shape=shape, start=start))
        else:
            found.append(Tensor(name=name, shape=shape, value=tensor.clone().numpy()))
    return tuple(found)
