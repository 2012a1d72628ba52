"""The one protocol the engine knows: a cohort and a state in, an aggregate and a state out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from fedmgda.rules._checks import check_name, nonnegative

if TYPE_CHECKING:
    from fedmgda._types import Aggregate, Cohort, RuleState, Vector

__all__ = ["Center", "Rule", "StatelessRule", "center_weights"]

Center: TypeAlias = Literal["uniform", "examples"]


class Rule(Protocol):
    """How a server turns the updates of a cohort into one direction."""

    def init(self, num_clients: int) -> RuleState:
        """Return the state before the first round, for clients 0 to `num_clients` - 1."""

    def step(self, cohort: Cohort, state: RuleState) -> tuple[Aggregate, RuleState]:
        """Reduce a cohort of at least one client; return the new state beside the aggregate."""


class StatelessRule(ABC):
    """A rule without memory: it needs only `aggregate`."""

    @abstractmethod
    def aggregate(self, cohort: Cohort) -> Aggregate:
        """Reduce a cohort of at least one client to a direction and its evidence."""

    def init(self, num_clients: int) -> RuleState:
        """Return the empty state."""
        del num_clients
        return {}

    def step(self, cohort: Cohort, state: RuleState) -> tuple[Aggregate, RuleState]:
        """Aggregate; the state stays as it was."""
        return self.aggregate(cohort), state


def center_weights(center: Center, num_examples: Vector) -> Vector:
    """Return λ0 over the participants, of shape `(m,)`, summing to one.

    >>> center_weights("examples", np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    check_name("center", center, Center)
    if center == "uniform":
        return np.full(len(num_examples), 1.0 / max(len(num_examples), 1))
    counts = nonnegative("num_examples", num_examples)
    with np.errstate(over="ignore"):
        total = counts.sum()
    if len(counts) and not 0.0 < total < np.inf:
        raise ValueError(f"num_examples must have a positive, finite sum, got {total:g}.")
    return counts / total
