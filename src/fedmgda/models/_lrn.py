"""Local response normalisation by a handful of passes over memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

__all__ = ["LocalResponseNorm"]


@final
class LocalResponseNorm(nn.Module):
    """y_c = x_c / s_c^beta with s_c = k + alpha / size * (sum of x_j² over `size` channels near c).

    The function of `torch.nn.LocalResponseNorm`, which pads, pools in three dimensions and raises
    to a power; that is a third of the time of the CIFAR-10 network. Here the squares are added
    where they belong, and the usual power 0.75 is two square roots. In any memory format.

    Attributes:
        size: The number of channels of a window: size // 2 before c, the others from c on.
        alpha: The weight of the mean square.
        beta: The power.
        k: What is added to it.

    >>> norm = LocalResponseNorm(2, alpha=2.0, beta=0.5)
    >>> norm(torch.tensor([[[0.0], [3.0], [4.0]]])).flatten()  # 3 / sqrt(10), 4 / sqrt(26)
    tensor([0.0000, 0.9487, 0.7845])
    """

    def __init__(
        self, size: int, *, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}.")
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        """Normalise an input of shape `(n, channels, ...)`."""
        weight = self.alpha / self.size
        result: Tensor = _Normalize.apply(x, self.size, weight, self.beta, self.k)  # type: ignore[no-untyped-call]
        return result

    def extra_repr(self) -> str:
        """Describe the module as torch's own is described."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Normalize(torch.autograd.Function):
    """The function and its derivative; what is saved is x, 1 / s and s^-beta."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, size: int, weight: float, beta: float, k: float) -> Tensor:
        total = torch.addcmul(x.new_tensor(k), x, x, value=weight)
        for here, there in _neighbours(size):
            total[:, here].addcmul_(x[:, there], x[:, there], value=weight)
        inverse = total.reciprocal_()
        factor = _power(inverse, beta)
        ctx.save_for_backward(x, inverse, factor)
        ctx.size, ctx.slope = size, -2 * beta * weight
        return x * factor

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, inverse, factor = ctx.saved_tensors
        pull = (grad * x).mul_(factor).mul_(inverse)
        result = (grad * factor).addcmul_(x, pull, value=ctx.slope)
        for here, there in _neighbours(ctx.size):
            # x_j is in the window of c exactly where c reads j.
            result[:, there].addcmul_(x[:, there], pull[:, here], value=ctx.slope)
        return result, None, None, None, None


def _neighbours(size: int) -> Iterator[tuple[slice, slice]]:
    """Yield the channels c and the channels c - o (then c + o) that their windows hold."""
    for offset in range(1, size // 2 + 1):
        yield slice(offset, None), slice(None, -offset)
    for offset in range(1, (size - 1) // 2 + 1):
        yield slice(None, -offset), slice(offset, None)


def _power(inverse: Tensor, beta: float) -> Tensor:
    if beta != 0.75:
        return inverse**beta
    root = inverse.sqrt()
    return root.sqrt().mul_(root)
