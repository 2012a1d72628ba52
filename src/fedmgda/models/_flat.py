"""The bridge between a module and the flat vector that travels."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from torch import nn

if TYPE_CHECKING:
    from torch import Tensor

    from fedmgda._types import Vector

__all__ = ["FlatModel"]


@final
class FlatModel:
    """A module whose parameters, gradients and float buffers live in two flat pieces of memory.

    Loading a model is one copy and an SGD step a vector operation, whatever the architecture. The
    vector that travels holds all parameters in the order of `module.parameters()`, tied ones once,
    and then the float buffers (batch-norm statistics). Integer buffers do not travel: they return
    to their initial value whenever a vector is loaded.

    Attributes:
        module: The module, on the device, in float32. Its parameters are views of `vector`.
        num_params: d, the number of parameters.
        num_buffers: The number of entries of all float buffers.
        vector: Of shape `(d + num_buffers,)`: parameters, then float buffers. With `channels_last`
            the kernels of convolutions lie in it as these want them; `array` has torch's order.
        params: Of shape `(d,)`: the head of `vector`.
        grad: Of shape `(d,)`: where a backward pass adds the gradient, in the order of `params`.
        channels_last: Whether convolutions work in that memory format.

    >>> import numpy as np
    >>> model = FlatModel(torch.nn.Linear(2, 1))
    >>> model.load(np.array([1.0, 2.0, 3.0], dtype=np.float32))
    >>> model.module(torch.ones(1, 2)).item()
    6.0
    """

    def __init__(
        self, module: nn.Module, *, channels_last: bool = False, device: str = "cpu"
    ) -> None:
        self.module = module.float().to(device)
        params, buffers = list(module.parameters()), list(module.buffers())
        float_buffers = [buffer for buffer in buffers if buffer.is_floating_point()]
        self._others = [buffer for buffer in buffers if not buffer.is_floating_point()]
        self._initial_others = [buffer.clone() for buffer in self._others]
        self.num_params = sum(param.numel() for param in params)
        self.num_buffers = sum(buffer.numel() for buffer in float_buffers)
        self.channels_last = channels_last
        kernels = _kernels(module) if channels_last else set()
        self._pieces = _pieces([*params, *float_buffers], kernels)
        self.vector = torch.empty(self.num_params + self.num_buffers, device=device)
        self.params = self.vector[: self.num_params]
        self.grad = torch.zeros(self.num_params, device=device)
        for tensor, piece in zip([*params, *float_buffers], self._pieces, strict=True):
            piece.view(self.vector).copy_(tensor.detach())
            tensor.data = piece.view(self.vector)
        for param, piece in zip(params, self._pieces, strict=False):
            param.grad = piece.view(self.grad)

    @property
    def array(self) -> Vector:
        """A copy of `vector`, of shape `(d + num_buffers,)`, in the order in which it travels."""
        return self._ordered(self.vector)

    @property
    def grad_array(self) -> Vector:
        """A copy of `grad`, of shape `(d,)`, in the order in which the parameters travel."""
        return self._ordered(self.grad)

    def load(self, vector: Vector) -> None:
        """Make the module the model of a vector of shape `(d + num_buffers,)`."""
        if vector.shape != self.vector.shape:
            raise ValueError(
                f"The model has {self.num_params} parameters and {self.num_buffers} buffer entries,"
                f" got a vector of shape {vector.shape}."
            )
        travelled = torch.tensor(vector, dtype=torch.float32)
        self.vector.copy_(travelled)
        for piece in self._pieces:
            if piece.turned:
                piece.view(self.vector).copy_(piece.plain_view(travelled))
        for buffer, initial in zip(self._others, self._initial_others, strict=True):
            buffer.copy_(initial)

    def _ordered(self, flat: Tensor) -> Vector:
        ordered = flat.to("cpu", copy=True)
        for piece in self._pieces:
            if piece.turned:
                piece.plain_view(ordered).copy_(piece.view(flat))
        return ordered.numpy()


@final
class _Piece:
    """Where a tensor lies in a flat one, and whether its channels come last there."""

    def __init__(self, start: int, shape: torch.Size, *, turned: bool) -> None:
        self._place = slice(start, start + shape.numel())
        self._shape = shape
        self.turned = turned

    def plain_view(self, flat: Tensor) -> Tensor:
        return flat[self._place].view(self._shape)

    def view(self, flat: Tensor) -> Tensor:
        if not self.turned:
            return self.plain_view(flat)
        out, inside, height, width = self._shape
        return flat[self._place].view(out, height, width, inside).permute(0, 3, 1, 2)


def _pieces(tensors: list[Tensor], kernels: set[int]) -> list[_Piece]:
    """Lay the tensors out one behind the other."""
    pieces, start = [], 0
    for tensor in tensors:
        pieces.append(_Piece(start, tensor.shape, turned=id(tensor) in kernels))
        start += tensor.numel()
    return pieces


def _kernels(module: nn.Module) -> set[int]:
    """Return which parameters are kernels of two-dimensional convolutions, by identity."""
    kinds = (nn.Conv2d, nn.ConvTranspose2d)
    return {id(part.weight) for part in module.modules() if isinstance(part, kinds)}
