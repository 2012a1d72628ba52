"""The power law of a curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def fitted_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return p of seconds ≈ c · size^p, by least squares on logarithms.

    1 is linear growth, 0 is none.

    >>> round(fitted_exponent([1, 10, 100], [3.0, 30.0, 300.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
