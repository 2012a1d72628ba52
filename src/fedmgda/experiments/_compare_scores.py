"""Runs that kept no test rows: who is better off by the clients' own scores, chance unknown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda.experiments._compared_users import a_seed, compared_users
from fedmgda.experiments._comparison import Against, ClientGain, Comparison, RunScore
from fedmgda.experiments._conclusion import most_telling, of_clients, stalled
from fedmgda.experiments._labels import distinct_names, goes_by, without_twins
from fedmgda.experiments._reader import holds_run, open_run
from fedmgda.metrics import known_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fedmgda._types import Flags, Vector
    from fedmgda.experiments._compared_users import ComparedUser
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
        others = [name for name in others if goes_by(against, name, groups[name][0])]
    known = _ERROR if _of_numbers(runs[0]) else _ACCURACY
    if metric not in {None, known}:
        raise SpecError(f"No test rows were kept, so that {metric!r} is not known; leave it out.")
    if not others:
        wanted = f"no run {against!r}" if against else "nothing"
        raise DataError(f"There is {wanted} to compare {runs[0].path} with; name another run.")
    first = {run.spec.seed: run for run in groups[mine]}
    pairs = [_partners(first, groups[name]) for name in others]
    users = compared_users(list(first.values()), [_names(run) for run in first.values()])
    each = tuple(_against(name, users, pair) for name, pair in zip(others, pairs, strict=True))
    scores = [_score(mine, users, first)] + [
        _score(name, users, {seed: other for seed, (_, other) in pair.items()})
        for name, pair in zip(others, pairs, strict=True)
    ]
    return Comparison(
        metric=known,
        clients=tuple(user.name for user in users),
        rows=tuple(_rows(user, first) for user in users),
        runs=tuple(scores),
        against=each,
        conclusion=_conclusion(runs[0], most_telling(each)),
        verdict=runs[0].verdict,
        notes=tuple(notes),
        stalls=stalled({seed: run.verdict for seed, run in first.items()}),
        draws=0,
    )


def _of_numbers(run: Run) -> bool:
    return run.encoder() is not None and run.class_names is None


def _scores(run: Run) -> Vector:
    """Return what each honest client scored: its accuracy, or its RMSE in units of the target."""
    encoder = run.encoder()
    if encoder is None or encoder.class_names is not None:
        scores = np.array([client.test_accuracy for client in run.clients])
    else:
        scores = np.sqrt([client.test_loss for client in run.clients]) * encoder.target_scale
        if run.spec.clients.loss is not None:
            scores[:] = np.nan  # of one's own, not the squared error
    scores[list(run.attackers)] = np.nan
    return scores


def _names(run: Run) -> tuple[str, ...]:
    return tuple(client.name or str(client.client_id) for client in run.clients)


def _partners(first: Mapping[int, Run], others: Sequence[Run]) -> dict[int, tuple[Run, Run]]:
    """Return, by seed, both runs; where no seed is in common, one for the first."""
    theirs = {run.spec.seed: run for run in others}
    found = {seed: (run, theirs[seed]) for seed, run in first.items() if seed in theirs}
    seed, run = next(iter(first.items()))
    found = found or {seed: (run, others[0])}
    for mine, other in found.values():
        _check_same_clients(mine, other)
    return found


def _check_same_clients(mine: Run, other: Run) -> None:
    if (other.fingerprint, other.users) != (mine.fingerprint, mine.users):
        raise DataError(
            f"{mine.path} and {other.path} were not made from the same data, or it was split in "
            "another way; compare runs of the same clients."
        )
    for run in (mine, other):
        if np.isnan(_scores(run)).all():
            raise DataError(
                f"{run.path} keeps neither predictions nor a score of its clients, so that none "
                "can be compared; train with records.predictions = true."
            )


def _rows(user: ComparedUser, by_seed: Mapping[int, Run]) -> int:
    return sum(int(run.sizes["test"][user.client]) for run in user.among(by_seed).values())


def _means(users: Sequence[ComparedUser], by_seed: Mapping[int, Vector]) -> Vector:
    """Return the mean over the seeds of every user, of shape `(users,)`; NaN of who has none."""
    mine = ([one[user.client] for one in user.among(by_seed).values()] for user in users)
    return np.array([known_mean(values or [math.nan]) for values in mine])


def _score(name: str, users: Sequence[ComparedUser], by_seed: Mapping[int, Run]) -> RunScore:
    values = _means(users, {seed: _scores(run) for seed, run in by_seed.items()})
    numbers = _of_numbers(next(iter(by_seed.values())))
    worst, unknown = np.nanmax if numbers else np.nanmin, (math.nan,) * len(users)
    return RunScore(
        name=name,
        seeds=tuple(run.spec.seed for run in by_seed.values()),
        pooled=float(np.mean([_pooled(run) for run in by_seed.values()])),
        average=float(np.nanmean(values)),
        worst=a_seed(users, by_seed, lambda places: float(worst(values[places]))),
        clients=tuple(values.tolist()),
        low=unknown,
        high=unknown,
    )


def _pooled(run: Run) -> float:
    """Return the score over all rows together; errors add up as squares."""
    values, rows = _scores(run), run.sizes["test"]
    known = ~np.isnan(values)
    if _of_numbers(run):
        return float(np.sqrt(np.average(values[known] ** 2, weights=rows[known])))
    return float(np.average(values[known], weights=rows[known]))


def _against(
    name: str, users: Sequence[ComparedUser], by_seed: Mapping[int, tuple[Run, Run]]
) -> Against:
    pairs = list(by_seed.values())
    up = -1.0 if _of_numbers(pairs[0][0]) else 1.0
    each = {seed: up * (_scores(mine) - _scores(other)) for seed, (mine, other) in by_seed.items()}
    gains = _means(users, each)

    def count(who: Flags) -> float:
        return a_seed(users, by_seed, lambda places: int(who[places].sum()))

    return Against(
        name=name,
        seeds=tuple(mine.spec.seed for mine, _ in pairs),
        gain=up * float(np.mean([_pooled(mine) - _pooled(other) for mine, other in pairs])),
        low=math.nan,
        high=math.nan,
        gaining=count(gains > 0),
        losing=count(gains < 0),
        losing_by_chance=math.nan,
        losing_by_chance_95=math.nan,
        better=0,
        worse=0,
        worse_by_chance=math.nan,
        worse_by_chance_95=math.nan,
        losing_by_seed=tuple(int(np.sum(one < 0)) for one in each.values()),
        worse_by_seed=(0,) * len(each),
        clients=tuple(
            ClientGain(
                client=user.name,
                rows=_rows(user, {seed: mine for seed, (mine, _) in by_seed.items()}),
                gain=float(gain),
                low=math.nan,
                high=math.nan,
                p_worse=math.nan,
                p_better=math.nan,
                beyond_chance=None,
                by_seed=tuple(float(one[user.client]) for one in user.among(each).values()),
                seed=user.seed,
            )
            for user, gain in zip(users, gains.tolist(), strict=True)
        ),
    )


def _conclusion(first: Run, other: Against) -> str:
    worse = "larger error" if _of_numbers(first) else "lower accuracy"
    return (
        f"{first.verdict.headline} {of_clients(other.losing, other)} "
        f"{'has' if other.losing == 1 else 'have'} a {worse} than under {other.name}; no "
        "test rows were kept, so that it may be chance."
    )
