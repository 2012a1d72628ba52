"""The server's step length, a function of the round and of what came back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

if TYPE_CHECKING:
    from fedmgda.values import Cohort

__all__ = ["Constant", "Harmonic", "MedianNorm", "PaperDecay", "Schedule"]


class Schedule(Protocol):
    """η_t, the step of the server."""

    def __call__(self, round_num: int, cohort: Cohort) -> float:
        """Return the step of a round (1 is the first)."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """η_t = η_g."""

    server_lr: float = 1.0

    def __call__(self, round_num: int, cohort: Cohort) -> float:
        """Return the constant."""
        del round_num, cohort
        return self.server_lr


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PaperDecay:
    """η_t = η_g β^⌊t/100⌋ with β = decay^(100/T), t from 0.

    The tables write "no decay" both as 0 and as 1; both are accepted.

    >>> schedule = PaperDecay(server_lr=1.5, decay=0.1, num_rounds=2000)
    >>> round(schedule(1, None), 4), round(schedule(101, None), 4)
    (1.5, 1.3369)
    """

    server_lr: float
    decay: float
    num_rounds: int

    def __call__(self, round_num: int, cohort: Cohort | None) -> float:
        """Return the step of a round."""
        del cohort
        falls = (round_num - 1) // 100
        if self.decay in {0.0, 1.0} or not falls:  # β of a short run may be beyond all numbers
            return self.server_lr
        beta = self.decay ** (100.0 / self.num_rounds)
        return float(self.server_lr * beta**falls)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Harmonic:
    """η_t = 2 / (c (t + 2)), t from 0: the step of Theorem 2."""

    curvature: float

    def __call__(self, round_num: int, cohort: Cohort) -> float:
        """Return the step of a round."""
        del cohort
        return 2.0 / (self.curvature * (round_num + 1))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MedianNorm:
    """η_t = η_g median_i ‖g_i‖: the length of a typical update, for rules that normalise."""

    server_lr: float = 1.0

    def __call__(self, round_num: int, cohort: Cohort) -> float:
        """Return the step for a cohort."""
        del round_num
        return self.server_lr * float(np.median(cohort.updates.norms()))
