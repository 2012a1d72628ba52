"""A dense layer with ReLU and dropout, for one example."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedmgda.kernels._jit import inner_product, kernel

__all__ = ["dense_backward", "dense_forward", "one_product"]

_0, _4 = np.uint64(0), np.uint64(4)


@inner_product
def four_products(params: Any, work: Any, w0: Any, x: Any, row: Any) -> Any:
    """Return the products of the input at x with the four rows of weights from w0 on."""
    w1 = w0 + row
    w2 = w1 + row
    w3 = w2 + row
    a = b = c = d = np.float32(0.0)
    for k in range(row):
        value = work[x + k]
        a += value * params[w0 + k]
        b += value * params[w1 + k]
        c += value * params[w2 + k]
        d += value * params[w3 + k]
    return a, b, c, d


@inner_product
def one_product(params: Any, work: Any, w: Any, x: Any, row: Any) -> Any:
    """Return the product of the input at x with the row of weights at w."""
    total = np.float32(0.0)
    for k in range(row):
        total += work[x + k] * params[w + k]
    return total


@kernel
def dense_forward(layer: Any, params: Any, work: Any, training: bool) -> None:
    """Write the layer's output for its padded input, both in `work`."""
    row, units = np.uint64(layer.row), np.uint64(layer.features)
    w, x, y = np.uint64(layer.weights), np.uint64(layer.inputs), np.uint64(layer.outputs)
    whole = units - units % _4
    for i in range(_0, whole, _4):
        at = y + i
        for product in four_products(params, work, w + i * row, x, row):
            work[at] = product
            at += np.uint64(1)
    for i in range(whole, units):
        work[y + i] = one_product(params, work, w + i * row, x, row)
    dropped = training and layer.drop > 0.0
    for i in range(units):
        value = work[y + i] + params[np.uint64(layer.biases) + i]
        if layer.relu and value < np.float32(0.0):
            value = np.float32(0.0)
        work[y + i] = value * work[np.uint64(layer.scales) + i] if dropped else value


@kernel
def dense_backward(
    layer: Any, params: Any, grad: Any, work: Any, slopes: Any, training: bool, first: bool
) -> None:
    """Add the layer's share to `grad`; unless it is the first, write the slopes of its input."""
    dropped = training and layer.drop > 0.0
    row, x, y = np.uint64(layer.row), np.uint64(layer.inputs), np.uint64(layer.outputs)
    if not first:
        slopes[layer.inputs : layer.inputs + layer.row] = np.float32(0.0)
    for i in range(np.uint64(layer.features)):
        slope = slopes[y + i] * work[np.uint64(layer.scales) + i] if dropped else slopes[y + i]
        # Where ReLU or dropout made a zero, nothing flows back: most of the work is not done.
        if slope == np.float32(0.0) or (layer.relu and work[y + i] == np.float32(0.0)):
            continue
        w = np.uint64(layer.weights) + i * row
        for k in range(row):
            grad[w + k] += slope * work[x + k]
        grad[np.uint64(layer.biases) + i] += slope
        if not first:
            for k in range(row):
                slopes[x + k] += slope * params[w + k]
