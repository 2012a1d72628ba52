"""What a run of a study left behind, read when it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._errors import StoreError
from fedmgda.experiments import known_ids, open_run, run_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.experiments import (
        Environment,
        EvaluationRow,
        PlannedRun,
        RoundRow,
        Run,
    )

__all__ = ["Result", "by_cell", "known_mean", "read_results"]


@final
class Result:
    """One run: where it stands and its records.

    Attributes:
        run: What was planned.
        found: What its folder holds.
        done: Whether the run is finished.
    """

    def __init__(self, run: PlannedRun, found: Run) -> None:
        self.run, self.found, self.done = run, found, found.finished

    @property
    def cell(self) -> Mapping[str, str]:
        """What distinguishes the run from others, its seed apart."""
        return self.run.cell

    @property
    def evaluations(self) -> tuple[EvaluationRow, ...]:
        """The evaluations so far."""
        return self.found.evaluations

    @property
    def rounds(self) -> tuple[RoundRow, ...]:
        """The rounds so far."""
        return self.found.rounds

    @property
    def environment(self) -> Environment:
        """Where the run began."""
        return self.found.environment

    @cached_property
    def malicious(self) -> frozenset[int]:
        """The clients that attack."""
        return frozenset(known_ids(self.run.spec.attack.clients))

    def accuracies(self, *, honest: bool = False) -> tuple[Vector, Vector]:
        """Return percent of the last evaluation and test examples, of users that have examples."""
        last = self.evaluations[-1]
        rows = zip(last.client_ids, last.accuracies, last.num_examples, strict=True)
        kept = [
            (100.0 * accuracy, examples)
            for client, accuracy, examples in rows
            if not np.isnan(accuracy) and examples > 0 and not (honest and client in self.malicious)
        ]
        values = np.array(kept, dtype=np.float64).reshape(-1, 2)
        return values[:, 0], values[:, 1]

    def curve(self, name: str) -> Vector:
        """Return a measure of the honest users' accuracies, in [0, 1], at every evaluation."""
        summaries = [row.honest.accuracy if row.honest else None for row in self.evaluations]
        return _floats((summary or {}).get(name) for summary in summaries)

    def steps(self) -> Vector:
        """Return how far every round moved the model; nowhere where it failed or was held."""
        return np.array([_step(row) for row in self.rounds], dtype=np.float64)

    def improved(self) -> Vector:
        """Return the improved participants of every round in percent, NaN where not measured."""
        return _floats(row.improved for row in self.rounds)

    def training_losses(self) -> Vector:
        """Return for every round the participants' mean loss while they trained (SPEC 5)."""
        return _floats(known_mean(row.local_losses) for row in self.rounds)


def read_results(runs: Sequence[PlannedRun], path: Path) -> list[Result]:
    """Return the runs that have begun, finished or not.

    Raises:
        StoreError: If a folder holds a run of another spec.
    """
    begun, results = set(run_folders(path)), []
    for run in runs:
        if path / run.folder_name not in begun:
            continue
        found = open_run(path / run.folder_name)
        if not found.begun:
            continue
        if not found.holds(run.spec):
            raise StoreError(
                f"{found.path} holds a run of another spec; name the folder of this study and "
                "its setting with --out."
            )
        results.append(Result(run, found))
    return results


def by_cell(results: Sequence[Result]) -> dict[tuple[tuple[str, str], ...], list[Result]]:
    """Group runs that differ in their seed only; where some are finished, the others are left out.

    A run that has only its initial evaluation says nothing yet and is left out too.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
    for result in results:
        if result.done or len(result.evaluations) > 1:
            groups.setdefault(tuple(result.cell.items()), []).append(result)
    return {cell: [r for r in group if r.done] or group for cell, group in groups.items()}


def _step(row: RoundRow) -> float:
    if row.protection is not None:
        return row.protection.moved_norm
    return 0.0 if row.held or row.norm is None else row.server_lr * row.norm


def _floats(values: Iterable[float | None]) -> Vector:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def known_mean(values: Vector | None) -> float | None:
    """Return the mean of the values that are known, None if none is."""
    if values is None or np.isnan(values).all():
        return None
    return float(np.mean(values[~np.isnan(values)]))
