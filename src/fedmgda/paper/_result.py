"""What a run of a study left behind, read when it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import StoreError
from fedmgda.experiments import RunFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.experiments import PlannedRun, Spec

__all__ = ["Result", "by_cell", "read_results"]


@final
class Result:
    """One run: where it stands and its records.

    Attributes:
        run: What was planned.
        folder: The run folder.
        done: Whether the run is finished.
    """

    def __init__(self, run: PlannedRun, folder: RunFolder) -> None:
        self.run, self.folder, self.done = run, folder, folder.done

    @property
    def cell(self) -> Mapping[str, str]:
        """What distinguishes the run from others, its seed apart."""
        return self.run.cell

    @cached_property
    def evaluations(self) -> list[dict[str, Any]]:
        """The lines of `evaluations.jsonl`.

        Raises:
            StoreError: If the run is finished and one is missing.
        """
        return self._read("evaluations", _evaluated(self.run.spec))

    @cached_property
    def rounds(self) -> list[dict[str, Any]]:
        """The lines of `rounds.jsonl`.

        Raises:
            StoreError: If the run is finished and one is missing.
        """
        return self._read("rounds", list(range(1, self.run.spec.rounds + 1)))

    @cached_property
    def malicious(self) -> frozenset[int]:
        """The clients that attack."""
        return frozenset(self.run.spec.attack.clients or ())

    def accuracies(self, *, honest: bool = False) -> tuple[Vector, Vector]:
        """Return percent of the last evaluation and test examples, of users that have examples."""
        last = self.evaluations[-1]
        rows = zip(last["clients"], last["accuracies"], last["num_examples"], strict=True)
        kept = [
            (100.0 * accuracy, examples)
            for client, accuracy, examples in rows
            if accuracy is not None and examples > 0 and not (honest and client in self.malicious)
        ]
        values = np.array(kept, dtype=np.float64).reshape(-1, 2)
        return values[:, 0], values[:, 1]

    def improved(self) -> Vector:
        """Return the improved participants of every round in percent, NaN where not measured."""
        return _floats(row["improved"] for row in self.rounds)

    def training_losses(self) -> Vector:
        """Return for every round the participants' mean loss while they trained (SPEC 5)."""
        seen = (row.get("local_losses") for row in self.rounds)
        return _floats(_mean_or_none(losses) for losses in seen)

    def _read(self, name: str, expected: list[int]) -> list[dict[str, Any]]:
        """Read a record; a finished run has a line for every expected round."""
        rows = self.folder.records.read(name)
        if self.done and [row["round"] for row in rows] != expected:
            path = self.folder.path
            raise StoreError(
                f"{path} is marked as finished by DONE, but lines of its {name}.jsonl are missing; "
                "delete the folder, with DONE and the checkpoints in it, and run again."
            )
        return rows


def read_results(runs: Sequence[PlannedRun], path: Path) -> list[Result]:
    """Return the runs that have begun, finished or not.

    Raises:
        StoreError: If a folder holds a run of another spec.
    """
    results = []
    for run in runs:
        folder = RunFolder(path / run.folder_name)
        if not folder.done and not (folder.path / "evaluations.jsonl").exists():
            continue
        if not folder.holds(run.spec):
            raise StoreError(
                f"{folder.path} holds a run of another spec; name the folder of this study and "
                "its setting with --out."
            )
        results.append(Result(run, folder))
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


def _evaluated(spec: Spec) -> list[int]:
    """Return the rounds a whole run evaluates: the initial model, then what the spec asks for."""
    when = spec.evaluation
    due = [r for r in range(1, spec.rounds + 1) if (r - (when.offset or 0)) % when.every == 0]
    last = [spec.rounds] if when.last and spec.rounds not in due else []
    return [0, *due, *last]


def _floats(values: Any) -> Vector:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _mean_or_none(losses: list[float | None] | None) -> float | None:
    known = [loss for loss in losses or () if loss is not None]
    return float(np.mean(known)) if known else None
