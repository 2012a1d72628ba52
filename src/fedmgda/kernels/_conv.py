"""A convolution with channel dropout, max-pooling and ReLU, for one example.

Images are stored with the channels innermost, so that one row of a patch is contiguous in the image
and in the weights. Only the position that won each pooling window receives a gradient, and only in
channels that dropout kept: the backward pass visits those and no others.

Places in memory are unsigned here: the compiler then knows that none counts from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedmgda.kernels._dense import one_product as dense_product
from fedmgda.kernels._jit import inner_product, kernel

__all__ = ["conv_backward", "conv_forward", "cut_patches"]

_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))


@kernel
def copy_8(work: Any, at: Any, to: Any) -> None:
    """Copy eight numbers: all are read before the first is written, so that it is one move."""
    a, b, c, d = work[at], work[at + _1], work[at + _2], work[at + _3]
    e, f, g, h = work[at + _4], work[at + _5], work[at + _6], work[at + _7]
    work[to], work[to + _1], work[to + _2], work[to + _3] = a, b, c, d
    work[to + _4], work[to + _5], work[to + _6], work[to + _7] = e, f, g, h


@kernel
def cut_patches(layer: Any, work: Any) -> None:
    """Write the patch under each output position to a row of its own, padded with zeros."""
    side, width = np.uint64(layer.kernel), np.uint64(layer.width * layer.channels)
    step, row = np.uint64(layer.channels), np.uint64(layer.row)
    piece, at = side * step, np.uint64(layer.patches)
    for top in range(np.uint64(layer.height) - side + _1):
        for left in range(np.uint64(layer.width) - side + _1):
            start = np.uint64(layer.inputs) + top * width + left * step
            to = at
            for _ in range(side):
                # Eight at a time, beyond the end too: what follows is written after this.
                j = _0
                while j < piece:
                    copy_8(work, start + j, to + j)
                    j += _8
                to, start = to + piece, start + width
            at += row
            while to < at:
                work[to] = np.float32(0.0)
                to += _1


@kernel
def convolve(layer: Any, params: Any, work: Any, dropped: bool) -> None:
    """Write the product of every patch with every filter; filters that are dropped give zero."""
    filters = np.uint64(layer.features)
    positions = np.uint64((layer.height - layer.kernel + 1) * (layer.width - layer.kernel + 1))
    whole = positions - positions % _8
    for p in range(_0, whole, _8):
        for c in range(filters):
            eight_products(layer, params, work, p, c, dropped)
    for p in range(whole, positions):
        for c in range(filters):
            one_product(layer, params, work, p, c, dropped)


@inner_product
def sums_of_eight(params: Any, work: Any, w: Any, x0: Any, row: Any) -> Any:
    """Return the products of the eight patches from x0 on with the filter at w."""
    x1 = x0 + row
    x2 = x1 + row
    x3 = x2 + row
    x4 = x3 + row
    x5 = x4 + row
    x6 = x5 + row
    x7 = x6 + row
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0.0)
    for k in range(row):
        weight = params[w + k]
        s0 += weight * work[x0 + k]
        s1 += weight * work[x1 + k]
        s2 += weight * work[x2 + k]
        s3 += weight * work[x3 + k]
        s4 += weight * work[x4 + k]
        s5 += weight * work[x5 + k]
        s6 += weight * work[x6 + k]
        s7 += weight * work[x7 + k]
    return s0, s1, s2, s3, s4, s5, s6, s7


@kernel
def eight_products(layer: Any, params: Any, work: Any, p: Any, c: Any, dropped: bool) -> None:
    """Write the products of eight patches with one filter."""
    row, filters = np.uint64(layer.row), np.uint64(layer.features)
    to = np.uint64(layer.raw) + p * filters + c
    scale = work[np.uint64(layer.scales) + c] if dropped else np.float32(1.0)
    if scale == np.float32(0.0):
        for _ in range(_8):
            work[to] = np.float32(0.0)
            to += filters
        return
    w, x0 = np.uint64(layer.weights) + c * row, np.uint64(layer.patches) + p * row
    products = sums_of_eight(params, work, w, x0, row)
    bias = params[np.uint64(layer.biases) + c]
    for product in products:
        work[to] = scale * (product + bias)
        to += filters


@kernel
def one_product(layer: Any, params: Any, work: Any, p: Any, c: Any, dropped: bool) -> None:
    """Write the product of one patch with one filter."""
    row = np.uint64(layer.row)
    w, x = np.uint64(layer.weights) + c * row, np.uint64(layer.patches) + p * row
    total = dense_product(params, work, w, x, row)
    scale = work[np.uint64(layer.scales) + c] if dropped else np.float32(1.0)
    to = np.uint64(layer.raw) + p * np.uint64(layer.features) + c
    work[to] = scale * (total + params[np.uint64(layer.biases) + c])


@kernel
def pool_max(layer: Any, work: Any, winners: Any) -> None:
    """Write the maximum of each window, after ReLU if any, and the position it came from."""
    filters, side = np.uint64(layer.features), np.uint64(layer.pool)
    across = np.uint64(layer.width - layer.kernel + 1)
    down = np.uint64(layer.height - layer.kernel + 1)
    raw, y, w = np.uint64(layer.raw), np.uint64(layer.outputs), np.uint64(layer.winners)
    for top in range(_0, down - down % side, side):
        for left in range(_0, across - across % side, side):
            for i in range(side):
                for j in range(side):
                    p = (top + i) * across + left + j
                    first, x = i + j == _0, raw + p * filters
                    for c in range(filters):
                        value = work[x + c]
                        # A NaN stays, whether it comes first or later.
                        if first or not value <= work[y + c]:
                            work[y + c] = value
                            winners[w + c] = np.int32(p)
            y, w = y + filters, w + filters
    if layer.relu:
        for k in range(np.uint64(layer.outputs), y):
            work[k] = np.float32(0.0) if work[k] < np.float32(0.0) else work[k]


@kernel
def conv_forward(layer: Any, params: Any, work: Any, winners: Any, training: bool) -> None:
    """Write the layer's output for its input, both in `work`."""
    cut_patches(layer, work)
    convolve(layer, params, work, training and layer.drop > 0.0)
    pool_max(layer, work, winners)


@kernel
def conv_backward(
    layer: Any, params: Any, grad: Any, work: Any, slopes: Any, winners: Any, training: bool,
    first: bool,
) -> None:  # fmt: skip
    """Add the layer's share to `grad`; unless it is the first, write the slopes of its input."""
    dropped = training and layer.drop > 0.0
    row, filters, y = np.uint64(layer.row), np.uint64(layer.features), np.uint64(layer.outputs)
    if not first:
        slopes[layer.inputs : layer.outputs] = np.float32(0.0)
    for i in range(_0, np.uint64(layer.size), filters):
        for c in range(filters):
            slope = slopes[y + i + c]
            if slope == np.float32(0.0) or (layer.relu and work[y + i + c] == np.float32(0.0)):
                continue
            if dropped:
                slope *= work[np.uint64(layer.scales) + c]
            p = np.uint64(winners[np.uint64(layer.winners) + i + c])
            w, x = np.uint64(layer.weights) + c * row, np.uint64(layer.patches) + p * row
            for k in range(row):
                grad[w + k] += slope * work[x + k]
            grad[np.uint64(layer.biases) + c] += slope
            if not first:
                spread(layer, params, slopes, p, w, slope)


@kernel
def spread(layer: Any, params: Any, slopes: Any, p: Any, w: Any, slope: Any) -> None:
    """Add a filter, times a slope, to the slopes of the patch it was applied to."""
    side, width = np.uint64(layer.kernel), np.uint64(layer.width * layer.channels)
    piece, across = side * np.uint64(layer.channels), np.uint64(layer.width) - side + _1
    at = np.uint64(layer.inputs) + (p // across) * width + (p % across) * np.uint64(layer.channels)
    for _ in range(side):
        for k in range(piece):
            slopes[at + k] += slope * params[w + k]
        at, w = at + width, w + piece
