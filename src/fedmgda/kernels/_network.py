"""Forward and backward through all layers, for one example."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedmgda.kernels._conv import conv_backward, conv_forward, cut_patches
from fedmgda.kernels._dense import dense_backward, dense_forward
from fedmgda.kernels._jit import kernel
from fedmgda.kernels._layout import CONV, DENSE, PLANE
from fedmgda.kernels._noise import draw_scales
from fedmgda.kernels._plane import find_winners, plane_forward

__all__ = ["backward", "cross_entropy", "forward", "squared_error"]


@kernel
def forward(layers: Any, params: Any, work: Any, winners: Any, noise: Any, training: bool) -> None:
    """Run the example at the start of `work` through the layers."""
    for i in range(layers.size):
        layer = layers[i]
        if training and layer.drop > 0.0:
            draw_scales(noise, layer.drop, work[layer.scales : layer.scales + layer.features])
        if layer.kind == CONV:
            conv_forward(layer, params, work, winners, training)
        elif layer.kind == PLANE:
            plane_forward(layer, params, work, training)
        else:
            dense_forward(layer, params, work, training)


@kernel
def backward(
    layers: Any, params: Any, grad: Any, work: Any, slopes: Any, winners: Any, training: bool
) -> None:
    """Add the gradient to `grad`, given the slope of the loss in the last outputs."""
    for i in range(layers.size - 1, -1, -1):
        layer = layers[i]
        if layer.kind == PLANE:
            find_winners(layer, work, slopes, winners)
            cut_patches(layer, work)
        if layer.kind != DENSE:
            conv_backward(layer, params, grad, work, slopes, winners, training, i == 0)
        else:
            dense_backward(layer, params, grad, work, slopes, training, i == 0)


@kernel
def cross_entropy(last: Any, work: Any, target: int, slopes: Any, factor: float) -> Any:
    """Return the loss and whether the class is right; write factor times the slope of the loss."""
    begin, end = np.uint64(last.outputs), np.uint64(last.outputs + last.size)
    best: Any = begin
    for i in range(begin, end):
        if work[i] > work[best]:
            best = i
    total, highest = 0.0, np.float64(work[best])
    for i in range(begin, end):
        power = 1.0 if i == best else math.exp(np.float64(work[i]) - highest)
        slopes[i] = np.float32(power)
        total += power
    for i in range(begin, end):
        slopes[i] *= np.float32(factor / total)
    answer = begin + np.uint64(target)
    slopes[answer] -= np.float32(factor)
    return math.log(total) + highest - np.float64(work[answer]), best == answer


@kernel
def squared_error(last: Any, work: Any, target: float, slopes: Any, factor: float) -> Any:
    """Return the squared error of a single output; write factor times its slope."""
    difference = np.float64(work[last.outputs]) - np.float64(target)
    slopes[last.outputs] = np.float32(2.0 * factor * difference)
    return difference * difference
