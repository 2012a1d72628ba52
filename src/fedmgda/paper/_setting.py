"""How large a study is run, and by whose word: seeds, rounds, compat, changed keys."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from fedmgda._errors import SpecError
from fedmgda.experiments import merged, plan_sweep, with_overrides

if TYPE_CHECKING:
    from fedmgda.experiments import PlannedRun
    from fedmgda.paper._study import Study

__all__ = ["Compat", "Setting", "default_folder", "plan_study", "seeds_of"]

Compat: TypeAlias = Literal["paper", "released-code"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a user asks of a study.

    Attributes:
        compat: Whether runs follow the paper's text or the authors' released code.
        seeds: How many seeds, the study's own first; None takes those.
        rounds: How many rounds; None takes the study's.
        rows: Labels of variants, or values of the grid, to run alone; empty takes all.
        changes: Further keys of the spec, as `section.key=value`.
    """

    compat: Compat = "paper"
    seeds: int | None = None
    rounds: int | None = None
    rows: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("seeds", self.seeds), ("rounds", self.rounds)):
            if value is not None and value < 1:
                raise SpecError(f"{name} must be at least 1, got {value}.")


def plan_study(study: Study, setting: Setting) -> list[PlannedRun]:
    """Return the runs of a study; the theory has none.

    Raises:
        SpecError: If a changed key is not valid, or a row is not in the study.
    """
    if study.kind == "theory":
        return []
    table: dict[str, Any] = merged(
        dict(study.sweep), {"compat": setting.compat, "sweep": {"seeds": seeds_of(study, setting)}}
    )
    if setting.rounds is not None:
        table["rounds"] = setting.rounds
    return _chosen(plan_sweep(with_overrides(table, setting.changes)), setting.rows)


def _chosen(runs: list[PlannedRun], rows: tuple[str, ...]) -> list[PlannedRun]:
    known = list(dict.fromkeys(value for run in runs for value in run.cell.values()))
    for row in rows:
        if row not in known:
            raise SpecError(f"There is no row {row!r}; the rows are {'; '.join(known)}.")
    return [run for run in runs if not rows or set(rows) & set(run.cell.values())]


def seeds_of(study: Study, setting: Setting) -> list[int]:
    """Return the seeds: the study's own, cut or continued with the numbers after the largest.

    >>> from fedmgda.paper import load_study
    >>> seeds_of(load_study("cifar-user-1"), Setting(seeds=5))
    [1, 5000, 6000, 9000, 9001]
    """
    own = list(study.sweep.get("sweep", {}).get("seeds", []))
    if setting.seeds is None or not own:
        return own
    more = range(max(own) + 1, max(own) + 1 + max(0, setting.seeds - len(own)))
    return [*own, *more][: setting.seeds]


def default_folder(study: Study, setting: Setting) -> Path:
    """Return where a study is kept unless the user says so: one folder per setting of its runs.

    >>> from fedmgda.paper import load_study
    >>> default_folder(load_study("fig2-adult"), Setting(rounds=3)).as_posix()
    'runs/reproduce/adult-bias-paper-rounds3'
    """
    name = f"{study.runs or study.name}-{setting.compat}"
    if setting.rounds is not None and setting.rounds != study.rounds:
        name += f"-rounds{setting.rounds}"
    if setting.changes:
        name += "-" + hashlib.sha256("\n".join(setting.changes).encode()).hexdigest()[:8]
    return Path("runs") / "reproduce" / name
