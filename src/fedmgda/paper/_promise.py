"""The promise of protected runs, counted round by round: nobody's loss rose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.paper._comparison import cell_name
from fedmgda.paper._metrics import measure
from fedmgda.paper._result import by_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.paper._result import Result
    from fedmgda.paper._study import Study

__all__ = ["Promise", "promises"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a protected row did in all rounds of all its runs.

    Attributes:
        row: What it is called.
        runs: How many runs there are.
        rounds: Their rounds together.
        losses: The losses of honest participants before and after a step, one for each.
        rose: How many of them rose.
        held: The share of rounds that were held, in percent.
        most_held: The largest such share in a run.
        short: The share of rounds whose step was cut to less than a sixteenth.
        most_short: The largest such share in a run.
        overridden: The share of participants that a step left out of its cone.
        plain: The row without protection; empty where the study has none.
        path: The length of the path over that of the plain row, in percent, over paired seeds.
    """

    row: str
    runs: int
    rounds: int
    losses: int
    rose: int
    held: float
    most_held: float
    short: float
    most_short: float
    overridden: float
    plain: str = ""
    path: float | None = None


def promises(study: Study, results: Sequence[Result]) -> list[Promise]:
    """Look at every round of every finished protected run."""
    groups = {
        cell: [result for result in group if result.done]
        for cell, group in by_cell(results).items()
    }
    found = []
    for cell, group in groups.items():
        if not group or not _is_protected(group[0]) or not all(map(_counts_losses, group)):
            continue
        plain = _plain(study, dict(cell).get("variant", ""))
        partners = groups.get(tuple((dict(cell) | {"variant": plain}).items()), [])
        if not partners or _is_protected(partners[0]):
            plain, partners = "", []
        found.append(_promise(study, group, plain, partners))
    return found


def _is_protected(result: Result) -> bool:
    return result.run.spec.server.protect is not None


def _counts_losses(result: Result) -> bool:
    return "losses" in result.rounds  # records of the first version do not


def _plain(study: Study, variant: str) -> str:
    return next((second for first, second in study.pairs if first == variant), "")


def _promise(
    study: Study, group: Sequence[Result], plain: str, partners: Sequence[Result]
) -> Promise:
    held, short, overridden = (
        np.array([measure(result, name, study.span) for result in group])
        for name in ("held", "short", "overridden")
    )
    return Promise(
        row=cell_name(study, group[0].cell),
        runs=len(group),
        rounds=sum(len(result.of_rounds("round")) for result in group),
        losses=_total(group, "losses"),
        rose=_total(group, "rose"),
        held=float(held.mean()),
        most_held=float(held.max()),
        short=float(short.mean()),
        most_short=float(short.max()),
        overridden=float(overridden.mean()),
        plain=plain,
        path=_path(study, group, partners),
    )


def _total(group: Sequence[Result], column: str) -> int:
    return int(sum(result.of_rounds(column).sum() for result in group))


def _path(study: Study, group: Sequence[Result], partners: Sequence[Result]) -> float | None:
    plain = {result.run.seed: measure(result, "path", study.span) for result in partners}
    shares = [
        100.0 * measure(result, "path", study.span) / plain[result.run.seed]
        for result in group
        if plain.get(result.run.seed)
    ]
    return float(np.mean(shares)) if shares else None
