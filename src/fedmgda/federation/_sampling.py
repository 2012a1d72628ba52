"""Who takes part in a round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Sampler", "UniformSampler", "cohort_size"]


class Sampler(Protocol):
    """A choice of clients from a generator that belongs to the round."""

    def __call__(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Return the ids of the clients to ask, ascending."""


def cohort_size(participation: float, num_clients: int) -> int:
    """Return ⌈p n⌉, forgiving the last bit of p n.

    >>> cohort_size(0.07, 100), cohort_size(0.071, 100)
    (7, 8)
    """
    return min(max(math.ceil(participation * num_clients - 1e-9), 1), num_clients)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UniformSampler:
    """A uniform choice without replacement.

    Attributes:
        num_clients: n; ids are 0 to n - 1.
        per_round: How many take part; n means all.
        always_on: Clients that take part in every round (attackers, mostly). One that was not drawn
            replaces the last drawn client that is not always on.
    """

    num_clients: int
    per_round: int
    always_on: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.per_round <= self.num_clients:
            raise ValueError(
                f"per_round must lie in [1, {self.num_clients}], the number of clients, "
                f"got {self.per_round}."
            )
        if len(set(self.always_on)) > self.per_round:
            raise ValueError(
                f"{len(set(self.always_on))} clients are always on but only {self.per_round} "
                "take part in a round."
            )

    def __call__(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Draw the clients of one round."""
        drawn = rng.choice(self.num_clients, self.per_round, replace=False).tolist()
        for client in self.always_on:
            if client not in drawn:
                last = max(i for i, other in enumerate(drawn) if other not in self.always_on)
                drawn[last] = client
        return tuple(sorted(drawn))
