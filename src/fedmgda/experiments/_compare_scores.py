"""Runs that kept no test rows: who is better off by the clients' own scores, chance unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._text import counted
from fedmgda.experiments._comparison import Against, ClientGain, Comparison, RunScore
from fedmgda.experiments._conclusion import most_telling
from fedmgda.experiments._labels import distinct_names, without_twins
from fedmgda.experiments._reader import holds_run, open_run
from fedmgda.metrics import known_mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda._types import Indices, Vector
    from fedmgda.experiments._reader import Run

__all__ = ["compare_scores", "keep_no_rows"]

_ACCURACY, _ERROR = "accuracy", "rmse"  # what the records of clients tell of their test rows


def keep_no_rows(paths: Sequence[Path]) -> bool:
    """Tell whether all of these are finished runs of which none kept what it says of test rows."""
    runs = [open_run(path) for path in paths if holds_run(path)]
    if len(runs) < len(paths):
        return False
    return all(run.finished and run.predictions() is None for run in runs)


def compare_scores(paths: Sequence[Path], *, metric: str | None, against: str | None) -> Comparison:
    """Compare the first run with the others by the accuracy, or the error, of every client.

    What a client gains is known; what the chance of its test rows makes of that is not, and NaN.

    Args:
        paths: Run folders.
        metric: Its name; no other than accuracy, or of numbers the RMSE, can be told.
        against: The run to compare with; all others if None.

    Raises:
        DataError: If the runs are not of the same clients, or have no score.
        SpecError: If the metric cannot be told, or there is no such run.
    """
    runs, notes = without_twins([open_run(path) for path in paths])
    groups: dict[str, list[Run]] = {}
    for name, run in zip(distinct_names(runs), runs, strict=True):
        groups.setdefault(name, []).append(run)
    mine, *others = groups
    if against is not None:
        others = [name for name in others if name == against]
    known = _ERROR if _of_numbers(runs[0]) else _ACCURACY
    if metric not in {None, known}:
        raise SpecError(f"No test rows were kept, so that {metric!r} is not known; leave it out.")
    if not others:
        wanted = f"no run {against!r}" if against else "nothing"
        raise DataError(f"There is {wanted} to compare {runs[0].path} with; name another run.")
    _check_same_clients(runs)
    sides = [_Side(label=name, runs=tuple(groups[name])) for name in (mine, *others)]
    first, names = runs[0], tuple(c.name or str(c.client_id) for c in runs[0].clients)
    rows = first.sizes["test"] * len(sides[0].runs)
    each = tuple(_against(sides[0], other, names, rows) for other in sides[1:])
    return Comparison(
        metric=known,
        clients=names,
        rows=tuple(rows.tolist()),
        runs=tuple(_score(side, rows) for side in sides),
        against=each,
        conclusion=_conclusion(first, most_telling(each)),
        verdict=first.verdict,
        notes=tuple(notes),
        draws=0,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """The runs of one name, which differ in the seed."""

    label: str
    runs: tuple[Run, ...]

    @property
    def values(self) -> dict[int, Vector]:
        """By seed, the scores of all clients, of shape `(num_clients,)`."""
        return {run.spec.seed: _scores(run) for run in self.runs}

    @property
    def numbers(self) -> bool:
        """Whether the scores are errors: the smaller, the better."""
        return _of_numbers(self.runs[0])


def _of_numbers(run: Run) -> bool:
    return run.encoder() is not None and run.class_names is None


def _scores(run: Run) -> Vector:
    """Return what each client scored: its accuracy, or its RMSE in the units of the target."""
    encoder = run.encoder()
    if encoder is None or encoder.class_names is not None:
        return np.array([client.test_accuracy for client in run.clients])
    losses = np.array([client.test_loss for client in run.clients])
    if run.spec.clients.loss is not None:
        losses = np.full_like(losses, np.nan)  # of one's own, not the squared error
    return np.sqrt(losses) * encoder.target_scale


def _check_same_clients(runs: Sequence[Run]) -> None:
    for run in runs:
        if run.fingerprint != runs[0].fingerprint:
            raise DataError(
                f"{runs[0].path} and {run.path} were not made from the same data, or it was split "
                "in another way; compare runs of the same clients."
            )
        if np.isnan(_scores(run)).all():
            raise DataError(
                f"{run.path} keeps neither predictions nor a score of its clients, so that none "
                "can be compared; train with records.predictions = true."
            )


def _score(side: _Side, rows: Indices) -> RunScore:
    values = known_mean(list(side.values.values()))
    known = ~np.isnan(values)
    unknown = (math.nan,) * len(values)
    return RunScore(
        name=side.label,
        seeds=tuple(side.values),
        pooled=_pooled(values[known], rows[known], numbers=side.numbers),
        average=float(values[known].mean()),
        worst=float(values[known].max() if side.numbers else values[known].min()),
        clients=tuple(values.tolist()),
        low=unknown,
        high=unknown,
    )


def _pooled(values: Vector, rows: Indices, *, numbers: bool) -> float:
    """Return the score over all rows together; errors add up as squares."""
    if numbers:
        return float(np.sqrt(np.average(values**2, weights=rows)))
    return float(np.average(values, weights=rows))


def _against(mine: _Side, other: _Side, names: Sequence[str], rows: Indices) -> Against:
    ours, theirs = mine.values, other.values
    seeds = [seed for seed in ours if seed in theirs] or list(ours)[:1]
    rivals = [theirs.get(seed, next(iter(theirs.values()))) for seed in seeds]
    up = -1.0 if mine.numbers else 1.0
    by_seed = up * np.array([ours[s] - rival for s, rival in zip(seeds, rivals, strict=True)])
    gains = known_mean(by_seed)
    return Against(
        name=other.label,
        seeds=tuple(seeds),
        gain=up * (_score(mine, rows).pooled - _score(other, rows).pooled),
        low=math.nan,
        high=math.nan,
        gaining=int(np.sum(gains > 0)),
        losing=int(np.sum(gains < 0)),
        losing_by_chance=math.nan,
        losing_by_chance_95=math.nan,
        better=0,
        worse=0,
        worse_by_chance=math.nan,
        worse_by_chance_95=math.nan,
        losing_by_seed=tuple(int(np.sum(one < 0)) for one in by_seed),
        worse_by_seed=(0,) * len(seeds),
        clients=tuple(
            ClientGain(
                client=name,
                rows=int(rows[place]),
                gain=float(gains[place]),
                low=math.nan,
                high=math.nan,
                p_worse=math.nan,
                p_better=math.nan,
                beyond_chance=None,
                by_seed=tuple(by_seed[:, place].tolist()),
            )
            for place, name in enumerate(names)
        ),
    )


def _conclusion(first: Run, other: Against) -> str:
    known = sum(not math.isnan(client.gain) for client in other.clients)
    worse = "larger error" if _of_numbers(first) else "lower accuracy"
    return (
        f"{first.verdict.headline} {other.losing} of {counted(known, 'client')} "
        f"{'has' if other.losing == 1 else 'have'} a {worse} than under {other.name}; no "
        "test rows were kept, so that it may be chance."
    )
