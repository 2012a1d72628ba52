"""What a rule is: a cohort and a state in, weights and a state out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from fedmgda.values import aggregate

if TYPE_CHECKING:
    from fedmgda._types import RuleState
    from fedmgda.values import Aggregate, Cohort, Weighing

__all__ = ["Rule"]


class Rule(ABC):
    """How a server weighs the updates of a cohort; a concrete rule is a frozen, final dataclass.

    A rule never forms a vector of length d: the engine combines what it weighed, and takes the
    evidence, for every rule alike.

    Attributes:
        reads_losses: Whether it reads `Cohort.losses`, which clients then measure with care.
        needs_rows: Whether it needs the rows themselves (`DenseUpdates.rows`): refused where the
            updates are held by others or known by their products only.
        average_iterates: Whether the trained model is the mean of w_1..w_T instead of w_T.
    """

    __slots__ = ()

    reads_losses: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False
    average_iterates: bool = False

    @abstractmethod
    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Weigh a cohort of at least one client; return the new state beside the weights.

        Args:
            cohort: What the gate let through.
            state: The memory of the rule, as `init` or the last round left it.
            round_num: The round, 1 for the first.
        """

    def init(self, num_clients: int) -> RuleState:
        """Return the state before the first round, for clients 0 to `num_clients` - 1."""
        del num_clients
        return {}

    def aggregate(self, cohort: Cohort) -> Aggregate:
        """Reduce a cohort to a direction and its evidence, as in the first round."""
        state = self.init(max(cohort.client_ids) + 1)
        return aggregate(cohort, self.weigh(cohort, state, 1)[0])
