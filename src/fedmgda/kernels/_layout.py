"""One layer of a compiled model, as numbers that the kernels can read."""

from __future__ import annotations

import numpy as np

__all__ = ["CONV", "DENSE", "LANES", "LAYER", "PLANE"]

DENSE, CONV, PLANE = 0, 1, 2

LANES = 16
"""Rows of weights are padded to a multiple of this, so that no vector has a ragged end."""

LAYER = np.dtype(
    [
        ("kind", "i8"),
        ("inputs", "i8"),  # where its input starts in the activations
        ("outputs", "i8"),  # where its output starts
        ("size", "i8"),  # numbers in its output
        ("weights", "i8"),  # where its first row of weights starts, in the kernels' order
        ("biases", "i8"),
        ("row", "i8"),  # the padded length of a row of weights
        ("features", "i8"),  # output channels, or units
        ("height", "i8"),  # of the input image; for a dense layer 1
        ("width", "i8"),
        ("channels", "i8"),  # of the input image; for a dense layer the numbers in its input
        ("kernel", "i8"),
        ("pool", "i8"),  # side of the max-pooling window; 1 for none
        ("relu", "i8"),
        ("patches", "i8"),  # scratch: the input as one row per position
        ("raw", "i8"),  # scratch: the convolution before pooling
        ("scales", "i8"),  # scratch: what dropout multiplies each output (channel) with
        ("winners", "i8"),  # scratch, in whole numbers: which position won the pooling
        ("end", "i8"),  # the length of all activations and scratch up to here
        ("num_winners", "i8"),  # the length of all winners up to here
        ("drop", "f8"),  # the rate of dropout; 0 for none
    ]
)
