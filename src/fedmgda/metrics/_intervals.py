"""How sure a share is that was counted on few rows."""

from __future__ import annotations

import math

__all__ = ["wilson_interval"]

_NORMAL_95 = 1.959963984540054  # of a normal variable, 95 % lie within so many deviations


def wilson_interval(successes: float, trials: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share of which `successes` of `trials` were seen.

    It stays inside [0, 1] and is honest for few trials: one of one does not mean all.

    Args:
        successes: From 0 to `trials`.
        trials: At least 0; of none, the share may be anything.

    >>> [round(end, 3) for end in wilson_interval(1, 1)]
    [0.207, 1.0]
    >>> [round(end, 3) for end in wilson_interval(5, 10)]
    [0.237, 0.763]
    """
    if trials <= 0:
        return 0.0, 1.0
    share, square = successes / trials, _NORMAL_95**2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    spread = math.sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    half = _NORMAL_95 * spread / (1 + square / trials)
    # The ends are exact where every trial, or none, was a success.
    low = 0.0 if successes <= 0 else max(middle - half, 0.0)
    high = 1.0 if successes >= trials else min(middle + half, 1.0)
    return low, high
