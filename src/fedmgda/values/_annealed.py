"""A number that falls with the rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

__all__ = ["Annealed", "value_at"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Annealed:
    """v_t = first / t^power in round t = 1, 2, ..., as Theorem 1b wants of ε and of the local step.

    Attributes:
        first: The value in the first round.
        power: How fast it falls; 0 leaves it where it is.

    >>> [Annealed(first=1.0, power=0.5)(round_num) for round_num in (1, 4, 100)]
    [1.0, 0.5, 0.1]
    """

    first: float
    power: float = 0.5

    def __post_init__(self) -> None:
        for name in ("first", "power"):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise ValueError(f"{name} must be zero or positive, and finite, got {value}.")

    def __call__(self, round_num: int) -> float:
        """Return the value in a round."""
        return self.first * float(round_num) ** -self.power


def value_at(value: float | Annealed, round_num: int) -> float:
    """Return a number, or what has become of one that falls."""
    return value(round_num) if isinstance(value, Annealed) else value
