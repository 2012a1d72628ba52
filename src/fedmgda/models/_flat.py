"""The bridge between a module and the flat vector that travels."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor, nn

    from fedmgda._types import Vector

__all__ = ["FlatModel"]


@final
class FlatModel:
    """A module whose parameters, gradients and float buffers live in two flat pieces of memory.

    Loading a model is one copy and an SGD step a vector operation, whatever the architecture. The
    vector holds all parameters in the order of `module.parameters()`, tied ones once, and then the
    float buffers (batch-norm statistics). Integer buffers do not travel: they return to their
    initial value whenever a vector is loaded.

    Attributes:
        module: The module, on the CPU, in float32. Its parameters are views of `vector`.
        num_params: d, the number of parameters.
        num_buffers: The number of entries of all float buffers.
        vector: Of shape `(d + num_buffers,)`: parameters, then float buffers.
        params: Of shape `(d,)`: the head of `vector`.
        grad: Of shape `(d,)`: where a backward pass adds the gradient.
        array: `vector` as a NumPy array, on the same memory.

    >>> import numpy as np
    >>> model = FlatModel(torch.nn.Linear(2, 1))
    >>> model.load(np.array([1.0, 2.0, 3.0], dtype=np.float32))
    >>> model.module(torch.ones(1, 2)).item()
    6.0
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module.float()
        params, buffers = list(module.parameters()), list(module.buffers())
        float_buffers = [buffer for buffer in buffers if buffer.is_floating_point()]
        self._others = [buffer for buffer in buffers if not buffer.is_floating_point()]
        self._initial_others = [buffer.clone() for buffer in self._others]
        self.num_params = sum(param.numel() for param in params)
        self.num_buffers = sum(buffer.numel() for buffer in float_buffers)
        self.vector = _rebind([*params, *float_buffers])
        self.params = self.vector[: self.num_params]
        self.array: Vector = self.vector.numpy()
        self.grad = torch.zeros(self.num_params)
        for param, view in _views(params, self.grad):
            param.grad = view

    def load(self, vector: Vector) -> None:
        """Make the module the model of a vector of shape `(d + num_buffers,)`."""
        if vector.shape != self.array.shape:
            raise ValueError(
                f"The model has {self.num_params} parameters and {self.num_buffers} buffer entries,"
                f" got a vector of shape {vector.shape}."
            )
        self.array[:] = vector
        for buffer, initial in zip(self._others, self._initial_others, strict=True):
            buffer.copy_(initial)


def _views(tensors: Iterable[Tensor], flat: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
    """Pair each tensor with the piece of `flat` that has its shape and belongs to it."""
    offset = 0
    for tensor in tensors:
        yield tensor, flat[offset : offset + tensor.numel()].view(tensor.shape)
        offset += tensor.numel()


def _rebind(tensors: list[Tensor]) -> Tensor:
    """Move the tensors, in place, into one flat piece of memory and return it."""
    flat = torch.empty(sum(tensor.numel() for tensor in tensors))
    for tensor, view in _views(tensors, flat):
        view.copy_(tensor.detach())
        tensor.data = view
    return flat
