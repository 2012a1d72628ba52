"""Runs that are to be compared: opened, named, and held to the same test rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import DataError
from fedmgda._text import listed
from fedmgda.experiments._labels import distinct_names, label, without_twins
from fedmgda.experiments._reader import Run, holds_run, open_run, run_folders
from fedmgda.experiments._scores import answers_of
from fedmgda.metrics import constant_losses

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda._types import Indices, Vector
    from fedmgda.experiments._rows import RowPredictions
    from fedmgda.metrics import Answers

__all__ = ["CONSTANT", "Side", "check_same_rows", "comparison_order", "constant_side", "open_sides"]

CONSTANT = "constant"
"""What the predictor is called that knows no features."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """One run of a comparison: what its model says of the test rows of every client that counts.

    Attributes:
        label: What the run is called, whatever its seed.
        seed: Its seed.
        run: The run itself; the constant predictor has that of another.
        rows: Of shape `(n,)`, ascending: the test rows.
        clients: Of shape `(n,)`: whose they are.
        answers: What the model says of them.
        names: What the clients are called, by their ids.
        classes: What the classes are called, by their numbers.
        attackers: The clients that attack; none of their rows is here.
    """

    label: str
    seed: int
    run: Run
    rows: Indices
    clients: Indices
    answers: Answers
    names: tuple[str, ...]
    classes: tuple[str, ...]
    attackers: tuple[int, ...] = ()


def open_sides(paths: Sequence[Path]) -> tuple[list[Side], tuple[str, ...]]:
    """Open run folders, and the run folders that lie in folders, as a sweep leaves them.

    Returns:
        The runs in the given order; of a folder those of the federation first, FedMGDA+ before
        other rules. And sentences the user should see, such as which run is not finished.

    Raises:
        DataError: If there is no run, or one that was named has nothing to compare.
    """
    runs, notes = list[Run](), list[str]()
    for path in paths:
        inside = run_folders(path) if not holds_run(path) else []
        if inside:
            found, said = _usable(path, sorted(map(open_run, inside), key=comparison_order))
            runs += found
            notes += said
        else:
            run = open_run(path)
            why = _nothing_to_compare(run)
            if why is not None:
                raise DataError(f"{run.path} {why}.")
            runs.append(run)
    if not runs:
        raise DataError(" ".join([f"There is no finished run in {paths[0]}.", *notes]))
    runs, twins = without_twins(runs)
    sides = [_side(name, run) for name, run in zip(distinct_names(runs), runs, strict=True)]
    return _of_honest_clients(sides, (*notes, *twins))


def _of_honest_clients(
    sides: list[Side], notes: tuple[str, ...]
) -> tuple[list[Side], tuple[str, ...]]:
    """Leave out, in all runs of a seed, the clients that attack in one of them.

    What an attack costs is what it costs honest clients, and these are asked in both runs.
    """
    attackers: dict[int, set[int]] = {}
    for side in sides:
        attackers.setdefault(side.seed, set()).update(side.attackers)
    kept = [_without(side, attackers[side.seed]) for side in sides]
    if all(mine is side for mine, side in zip(kept, sides, strict=True)):
        return sides, notes
    attacked = dict.fromkeys(side.label for side in sides if side.attackers)
    said = f"Clients that attack in {listed(attacked, 3)} are left out of all runs of that seed."
    return kept, (*notes, said)


def _without(side: Side, clients: set[int]) -> Side:
    more = clients - set(side.attackers)
    if not more:
        return side
    kept = np.flatnonzero(~np.isin(side.clients, list(more)))
    return replace(
        side, rows=side.rows[kept], clients=side.clients[kept], answers=side.answers.take(kept)
    )


def check_same_rows(one: Side, other: Side) -> None:
    """Refuse to compare runs that were not tested on the same rows of the same data.

    Raises:
        DataError: If they were not.
    """
    reason = None
    if one.run.fingerprint != other.run.fingerprint:
        reason = "were not made from the same data, or it was split in another way"
    elif not (
        np.array_equal(one.rows, other.rows)
        and np.array_equal(one.clients, other.clients)
        and np.array_equal(one.answers.targets, other.answers.targets)
    ):
        reason = "were not tested on the same rows"
    if reason is not None and one.seed != other.seed:
        raise DataError(
            f"{one.run.path} has seed {one.seed} and {other.run.path} seed {other.seed}, so that "
            "they were not tested on the same rows; fedmgda run SPEC.TOML --compare --seeds 3 "
            "runs both for each of several seeds."
        )
    if reason is not None:
        raise DataError(
            f"{one.run.path} and {other.run.path} {reason}; compare runs of one data file, one "
            "seed and one split."
        )


def constant_side(of: Side) -> Side | None:
    """Return the predictor that says of every row what the training targets alone suggest.

    Returns:
        None where the run did not keep the sums of the training targets.
    """
    sums = of.run.target_sums
    if sums is None:
        return None
    said = of.answers
    losses = constant_losses(said, sums)
    if said.num_classes is None:
        value: Any = sums[1] / sums[0]
        answers = replace(said, predictions=np.full(len(of.rows), value), losses=losses)
    else:
        shares = (sums + 1.0) / (sums.sum() + len(sums))
        odds = None if said.probabilities is None else np.tile(shares, (len(of.rows), 1))
        best = np.full(len(of.rows), int(np.argmax(sums)))
        answers = replace(said, predictions=best, losses=losses, probabilities=odds)
    return replace(of, label=CONSTANT, answers=answers)


def comparison_order(run: Run) -> tuple[bool, bool, str, bool, str, int]:
    """Order the runs of a folder: those of the federation first, FedMGDA+ before other rules.

    Of a rule those that nobody attacks come first.
    """
    spec = run.spec
    rule, attacked = spec.rule.name, spec.attack.name not in {None, "none"}
    return spec.baseline is not None, rule != "fedmgda+", rule, attacked, label(run), spec.seed


def _usable(path: Path, runs: list[Run]) -> tuple[list[Run], list[str]]:
    """Return the runs of a folder that can be compared, and sentences about the others."""
    reasons = [(run, _nothing_to_compare(run)) for run in runs]
    usable = [run for run, why in reasons if why is None]
    if not any(run.spec.baseline for run in runs):
        return usable, [f"{run.path} {why}, and is left out." for run, why in reasons if why]
    waiting = [run.path.name for run in runs if not run.finished]
    notes = [f"{run.path} {why}, and is left out." for run, why in reasons if why and run.finished]
    if waiting:
        are = "is" if len(waiting) == 1 else "are"
        notes.append(
            f"Of {path}, {listed(waiting)} {are} not finished and left out; the same fedmgda run "
            "... --compare command goes on."
        )
    return usable, notes


def _nothing_to_compare(run: Run) -> str | None:
    if not run.finished:
        return f"is not finished (fedmgda resume {run.path} goes on with it)"
    if run.predictions() is None:
        return "keeps no predictions (records.predictions), so that no row can be compared"
    return None


def _side(label: str, run: Run) -> Side:
    found = run.predictions()
    assert found is not None  # noqa: S101 (_nothing_to_compare has looked)
    names = tuple(client.name or str(client.client_id) for client in run.clients)
    order = np.argsort(found.rows, kind="stable")
    kept = order[~np.isin(found.clients[order], run.attackers)]
    encoder, num_classes = run.encoder(), _num_classes(found, run.target_sums)
    said = answers_of(
        found,
        num_classes,
        target_sums=run.target_sums,
        scale=encoder.target_scale if encoder else 1.0,
    )
    return Side(
        label=label,
        seed=run.spec.seed,
        run=run,
        rows=found.rows[kept],
        clients=found.clients[kept],
        answers=said.take(kept),
        names=names,
        classes=(encoder.class_names if encoder else None)
        or tuple(map(str, range(num_classes or 0))),
        attackers=run.attackers,
    )


def _num_classes(found: RowPredictions, target_sums: Vector | None) -> int | None:
    """Return the number of classes of stored predictions; None for a regression."""
    if found.targets.dtype.kind == "f":
        return None
    if target_sums is not None:
        return len(target_sums)
    if found.probabilities is not None:
        return int(found.probabilities.shape[1])
    return int(max(found.targets.max(initial=0), found.predictions.max(initial=0))) + 1
