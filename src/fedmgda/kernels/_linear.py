"""A model of one dense layer: linear and logistic regression, straight from the features.

With a hundred weights the work on an example takes less time than to move it: nothing is copied,
and loss and gradient are one call.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedmgda.kernels._jit import inner_product, kernel

__all__ = ["linear_example"]


@inner_product
def product(params: Any, features: Any, w: Any, row: Any, size: Any) -> Any:
    """Return the product of an example with the weights at w."""
    total = np.float32(0.0)
    for k in range(size):
        total += params[w + k] * np.float32(features[row, k])
    return total


@kernel
def linear_example(
    layer: Any, params: Any, grad: Any, features: Any, row: Any, classes: Any, values: Any,
    slopes: Any, factor: float,
) -> tuple[float, bool]:  # fmt: skip
    """Return the loss of an example and whether its class is right.

    Adds factor times its gradient to `grad`, unless the factor is 0.
    """
    length, size, units = np.uint64(layer.row), np.uint64(features.shape[1]), layer.features
    best = 0
    for i in range(units):
        w = np.uint64(layer.weights) + np.uint64(i) * length
        slopes[i] = product(params, features, w, row, size) + params[layer.biases + i]
        best = i if slopes[i] > slopes[best] else best
    if classes.size > 0:
        loss, right = softmax_loss(slopes, units, classes[row], best, factor), best == classes[row]
    else:
        difference = np.float64(slopes[0]) - np.float64(values[row])
        slopes[0] = np.float32(2.0 * factor * difference)
        loss, right = difference * difference, False
    if factor != 0.0:
        for i in range(units):
            slope, w = slopes[i], np.uint64(layer.weights) + np.uint64(i) * length
            for k in range(size):
                grad[w + k] += slope * np.float32(features[row, k])
            grad[layer.biases + i] += slope
    return loss, right


@kernel
def softmax_loss(outputs: Any, units: int, target: int, best: int, factor: float) -> float:
    """Return the cross-entropy, and replace the outputs by factor times its slopes."""
    highest, answer, total = np.float64(outputs[best]), np.float64(outputs[target]), 0.0
    for i in range(units):
        power = 1.0 if i == best else math.exp(np.float64(outputs[i]) - highest)
        outputs[i] = np.float32(power)
        total += power
    for i in range(units):
        outputs[i] *= np.float32(factor / total)
    outputs[target] -= np.float32(factor)
    return math.log(total) + highest - answer
