"""What is kept of a run of a study, as columns: all that is measured, drawn and published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.experiments import known_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Vector
    from fedmgda.experiments import Environment, PlannedRun

__all__ = ["Result", "Users", "by_cell", "malicious_clients"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """How n users are served at the end.

    Attributes:
        clients: Their ids.
        accuracies: Of shape `(n,)`, on the test split, in [0, 1]; NaN where there is none.
        losses: Of shape `(n,)`, on the test split.
        num_examples: Of shape `(n,)`: the test examples.
    """

    clients: tuple[int, ...]
    accuracies: Vector
    losses: Vector
    num_examples: Vector


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run, from its folder or from where it was published.

    Attributes:
        run: What was planned.
        done: Whether the run is finished.
        rounds: For every name of `fedmgda.paper._records`, of shape `(t,)`: its value in every
            round, NaN where it was not measured; a name that was in none is left out.
        evaluations: Likewise of shape `(e,)`: what was seen at every evaluation.
        users: The last evaluation, user by user.
        environments: Where the run began; all of a published study where it does not say which.
    """

    run: PlannedRun
    done: bool
    rounds: Mapping[str, Vector]
    evaluations: Mapping[str, Vector]
    users: Users
    environments: tuple[Environment, ...] = ()

    @property
    def cell(self) -> Mapping[str, str]:
        """What distinguishes the run from others, its seed apart."""
        return self.run.cell

    @property
    def malicious(self) -> frozenset[int]:
        """The clients that attack."""
        return malicious_clients(self.run)

    @property
    def evaluated(self) -> Vector:
        """Of shape `(e,)`: the rounds after which users were evaluated."""
        return self.evaluations["round"]

    def of_rounds(self, name: str) -> Vector:
        """Return a column of the rounds, of shape `(t,)`; NaN where nothing was measured."""
        length = len(self.rounds.get("round", ()))
        return self.rounds.get(name, np.full(length, np.nan))

    def curve(self, name: str) -> Vector:
        """Return a measure of the honest users' accuracies, in [0, 1], at every evaluation."""
        return self._of_evaluations(f"honest_{name}")

    def average(self) -> Vector:
        """Return the average accuracy of all users at every evaluation, in percent."""
        # Where nobody attacks there are none but honest users, and their summary only.
        known = "all_average" in self.evaluations
        return 100.0 * self._of_evaluations("all_average" if known else "honest_average")

    def global_accuracy(self) -> Vector:
        """Return the accuracy on the official test set at every evaluation, in percent."""
        return 100.0 * self._of_evaluations("global_accuracy")

    def accuracies(self, *, honest: bool = False) -> tuple[Vector, Vector]:
        """Return percent of the last evaluation and test examples, of users that have examples."""
        users = self.users
        kept = ~np.isnan(users.accuracies) & (users.num_examples > 0)
        if honest:
            kept &= np.array([client not in self.malicious for client in users.clients], dtype=bool)
        return 100.0 * users.accuracies[kept], users.num_examples[kept]

    def _of_evaluations(self, name: str) -> Vector:
        return self.evaluations.get(name, np.full(len(self.evaluated), np.nan))


def malicious_clients(run: PlannedRun) -> frozenset[int]:
    """Return the clients that attack in a run."""
    return frozenset(known_ids(run.spec.attack.clients))


def by_cell(results: Sequence[Result]) -> dict[tuple[tuple[str, str], ...], list[Result]]:
    """Group runs that differ in their seed only; where some are finished, the others are left out.

    A run that has only its initial evaluation says nothing yet and is left out too.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
    for result in results:
        if result.done or len(result.evaluated) > 1:
            groups.setdefault(tuple(result.cell.items()), []).append(result)
    return {cell: [r for r in group if r.done] or group for cell, group in groups.items()}
