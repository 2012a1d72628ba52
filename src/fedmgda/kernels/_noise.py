"""The coin flips of dropout: SplitMix64, one state per client and round."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedmgda.kernels._jit import kernel

__all__ = ["draw_scales"]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def draw_scales(state: Any, rate: float, scales: Any) -> None:
    """Fill `scales` with 0 at the given rate and 1 / (1 - rate) elsewhere; advance the state."""
    kept = np.float32(1.0 / (1.0 - rate))
    for i in range(scales.size):
        state[0] += _GAMMA
        z = state[0]
        z = (z ^ (z >> _30)) * _MIX_1
        z = (z ^ (z >> _27)) * _MIX_2
        z ^= z >> _31
        uniform = np.float64(z >> _11) * 2.0**-53
        scales[i] = kept if uniform >= rate else np.float32(0.0)
