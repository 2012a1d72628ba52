"""A convolution of an image with a single channel, with dropout, max-pooling and ReLU.

Here whole planes are added up, one for each weight: the image moved by the place of the weight in
the filter. Moved across the ends of its rows, a plane has positions that mean nothing; the pooling
skips them. With one channel this is faster than one product for each patch. The way back is that of
any convolution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedmgda.kernels._jit import kernel

__all__ = ["find_winners", "plane_forward"]

_0, _1, _2, _3, _4 = (np.uint64(i) for i in range(5))
_NOTHING = np.float32(0.0)


@kernel
def move(layer: Any, k: Any) -> Any:
    """Return where the plane of weight k starts; weights of the padding take the first."""
    side = np.uint64(layer.kernel)
    if k >= side * side:
        return np.uint64(layer.inputs)
    return np.uint64(layer.inputs) + (k // side) * np.uint64(layer.width) + k % side


@kernel
def add_planes(layer: Any, params: Any, work: Any, c: Any, size: Any) -> None:
    """Write the plane of filter c: four weights at a time, so that sums stay in registers."""
    w, to = np.uint64(layer.weights) + c * np.uint64(layer.row), np.uint64(layer.raw) + c * size
    bias, taps = params[np.uint64(layer.biases) + c], np.uint64(layer.kernel * layer.kernel)
    for p in range(size):
        work[to + p] = bias
    k = _0
    while k < taps:
        a, b, c, d = params[w + k], params[w + k + _1], params[w + k + _2], params[w + k + _3]
        x, y = move(layer, k), move(layer, k + _1)
        z, v = move(layer, k + _2), move(layer, k + _3)
        for p in range(size):
            total = work[to + p] + a * work[x + p]
            total += b * work[y + p]
            total += c * work[z + p]
            work[to + p] = total + d * work[v + p]
        k += _4


@kernel
def pool_plane(layer: Any, work: Any, c: Any, size: Any, scale: Any) -> None:
    """Write the maximum of each window of a plane, after ReLU if any: first down, then across."""
    side, width, filters = np.uint64(layer.pool), np.uint64(layer.width), np.uint64(layer.features)
    across = np.uint64(layer.width - layer.kernel + 1) // side
    x, y = np.uint64(layer.raw) + c * size, np.uint64(layer.outputs) + c
    best = np.uint64(layer.patches)  # not in use before the way back
    for _ in range(np.uint64(layer.height - layer.kernel + 1) // side):
        for k in range(across * side):
            work[best + k] = work[x + k]
        for i in range(_1, side):
            for k in range(across * side):
                a, b = work[best + k], work[x + i * width + k]
                work[best + k] = a if a >= b else b
        for left in range(across):
            highest = work[best + left * side]
            for j in range(_1, side):
                value = work[best + left * side + j]
                highest = highest if highest >= value else value
            if layer.relu and highest < np.float32(0.0):
                highest = np.float32(0.0)
            work[y] = scale * highest
            y += filters
        x += side * width


@kernel
def find_winners(layer: Any, work: Any, slopes: Any, winners: Any) -> None:
    """Write where the maximum of each window was, for the windows that receive a gradient."""
    side, width, filters = np.uint64(layer.pool), np.uint64(layer.width), np.uint64(layer.features)
    wide = np.uint64(layer.width - layer.kernel + 1)
    size = np.uint64(layer.height - layer.kernel) * width + wide
    y, w = np.uint64(layer.outputs), np.uint64(layer.winners)
    for top in range(np.uint64(layer.height - layer.kernel + 1) // side):
        for left in range(wide // side):
            corner = np.uint64(layer.raw) + top * side * width + left * side
            for c in range(filters):
                if slopes[y + c] != np.float32(0.0) and (not layer.relu or work[y + c] != _NOTHING):
                    p = highest_in(work, corner + c * size, side, width, wide)
                    winners[w + c] = np.int32(top * side * wide + left * side + p)
            y, w = y + filters, w + filters


@kernel
def highest_in(work: Any, x: Any, side: Any, width: Any, wide: Any) -> Any:
    """Return the place of the highest value of a window in a plane of the given width."""
    winner, best = _0, work[x]
    for j in range(side):
        for k in range(side):
            value, p = work[x + j * width + k], j * wide + k
            higher = value > best
            winner, best = p if higher else winner, value if higher else best
    return winner


@kernel
def plane_forward(layer: Any, params: Any, work: Any, training: bool) -> None:
    """Write the layer's output for its input, both in `work`."""
    dropped = training and layer.drop > 0.0
    size = np.uint64((layer.height - layer.kernel) * layer.width + layer.width - layer.kernel + 1)
    for c in range(np.uint64(layer.features)):
        scale = work[np.uint64(layer.scales) + c] if dropped else np.float32(1.0)
        if scale > np.float32(0.0):
            add_planes(layer, params, work, c, size)
            pool_plane(layer, work, c, size, scale)
        else:
            for y in range(
                np.uint64(layer.outputs) + c,
                np.uint64(layer.outputs + layer.size),
                np.uint64(layer.features),
            ):
                work[y] = np.float32(0.0)
