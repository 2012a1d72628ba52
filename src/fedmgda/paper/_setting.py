"""How large a study is run, and by whose word: seeds, rounds, compat, changed keys."""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from fedmgda._errors import SpecError
from fedmgda.experiments import merged, plan_sweep
from fedmgda.paper._study import load_study

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.experiments import PlannedRun
    from fedmgda.paper._study import Study

__all__ = [
    "REPRODUCED",
    "Compat",
    "Setting",
    "default_folder",
    "parse_seeds",
    "plan_study",
    "run_command",
    "seeds_of",
]

Compat: TypeAlias = Literal["paper", "released-code"]

REPRODUCED = Path("runs") / "reproduce"
"""Where studies are kept unless the user says so."""

_OPTIONS = {
    "seed": "--seeds", "rounds": "--rounds", "compat": "--compat", "sweep": "--seeds or --row",
}  # fmt: skip
"""What the command line has options for, which names of folders and reports rest on."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a user asks of a study.

    Attributes:
        compat: Whether runs follow the paper's text or the authors' released code.
        seeds: How many seeds, the study's own first, or exactly which; None takes the study's.
        rounds: How many rounds; None takes the study's.
        rows: Labels of variants, or values of the grid, to run alone: any of those named on an
            axis, and all axes together. Empty takes all.
        changes: Further keys of the spec, as `section.key=value`.
    """

    compat: Compat = "paper"
    seeds: int | range | None = None
    rounds: int | None = None
    rows: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("seeds", self.seeds), ("rounds", self.rounds)):
            if isinstance(value, int) and value < 1:
                raise SpecError(f"{name} must be at least 1, got {value}.")
        for change in self.changes:
            key = change.partition("=")[0].strip().partition(".")[0]
            if key in _OPTIONS:
                raise SpecError(f"{change!r} cannot change a study; use {_OPTIONS[key]} instead.")


def plan_study(study: Study, setting: Setting) -> list[PlannedRun]:
    """Return the runs of a study; the theory has none.

    Raises:
        SpecError: If a changed key is not valid, or a row is not in the study.
    """
    if study.kind == "theory":
        return []
    # A checkpoint after every round: a study that is killed loses at most one.
    base = merged({"engine": {"checkpoint_seconds": 0.0}}, dict(study.sweep))
    table: dict[str, Any] = merged(
        base, {"compat": setting.compat, "sweep": {"seeds": seeds_of(study, setting)}}
    )
    if setting.rounds is not None:
        table["rounds"] = setting.rounds
    if study.longer:
        table["sweep"]["variants"] = _with_longer(study, table)
    runs = plan_sweep(table, setting.changes, setting.rows)
    for planned in runs:
        if (measure := planned.spec.evaluation.measure) is not None:
            raise SpecError(
                f"evaluation.select = {measure!r} does not apply to a study of the paper, which "
                "reports the last model; leave it out."
            )
    return runs


def _with_longer(study: Study, table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the variants, those that get as much computing as protection with their rounds."""
    rounds = round(study.cost * table["rounds"])
    return [
        {**variant, "rounds": rounds} if variant["label"] in study.longer else variant
        for variant in table["sweep"]["variants"]
    ]


def seeds_of(study: Study, setting: Setting) -> list[int]:
    """Return the seeds: those named, or the study's own, cut or continued after the largest.

    >>> from fedmgda.paper import load_study
    >>> seeds_of(load_study("cifar-user-1"), Setting(seeds=5))
    [1, 5000, 6000, 9000, 9001]
    >>> seeds_of(load_study("cifar-user-1"), Setting(seeds=range(6, 9)))
    [6, 7, 8]
    """
    own = list(study.sweep.get("sweep", {}).get("seeds", []))
    if setting.seeds is None or not own:
        return own
    if isinstance(setting.seeds, range):
        return list(setting.seeds)
    more = range(max(own) + 1, max(own) + 1 + max(0, setting.seeds - len(own)))
    return [*own, *more][: setting.seeds]


def parse_seeds(text: str) -> int | range:
    """Read what `--seeds` takes: a number of seeds, or the first and the last one.

    >>> parse_seeds("5"), parse_seeds("6-15")
    (5, range(6, 16))

    Raises:
        SpecError: If it is neither.
    """
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text.strip(), re.ASCII)
    first, last = (int(part) if part else None for part in found.groups()) if found else (0, None)
    if first is None or (last is None and first < 1) or (last is not None and last < first):
        raise SpecError(
            f"--seeds must be a number of seeds, or a range from the first to the last as in 6-15, "
            f"got {text!r}."
        )
    return first if last is None else range(first, last + 1)


def _seeds_text(seeds: int | range) -> str:
    return str(seeds) if isinstance(seeds, int) else f"{seeds.start}-{seeds.stop - 1}"


def default_folder(study: Study, setting: Setting) -> Path:
    """Return where a study is kept unless the user says so: one folder per setting of its runs.

    >>> from fedmgda.paper import load_study
    >>> default_folder(load_study("fig2-adult"), Setting(rounds=3)).as_posix()
    'runs/reproduce/adult-bias-paper-rounds3'
    >>> default_folder(load_study("protected-fmnist"), Setting()).as_posix()
    'runs/reproduce/fmnist-rules-paper-seeds6-15'
    """
    name = f"{study.runs or study.name}-{setting.compat}"
    if setting.rounds is not None and setting.rounds != study.rounds:
        name += f"-rounds{setting.rounds}"
    seeds = _seeds_apart(study) if setting.seeds is None else setting.seeds
    if isinstance(seeds, range):
        name += f"-seeds{_seeds_text(seeds)}"  # a report apart: never pooled with others
    if setting.changes:
        name += "-" + hashlib.sha256("\n".join(setting.changes).encode()).hexdigest()[:8]
    return REPRODUCED / name


def _seeds_apart(study: Study) -> range | None:
    """Return the seeds of a study that shares the runs of another on seeds of its own."""
    if not study.runs:
        return None
    own, theirs = (seeds_of(one, Setting()) for one in (study, load_study(study.runs)))
    return None if own == theirs else range(own[0], own[-1] + 1)


def run_command(study: Study, setting: Setting, folder: Path) -> str:
    """Return the command that runs a study, or goes on with it, in a folder.

    >>> from fedmgda.paper import load_study
    >>> setting = Setting(seeds=1, rows=("AFL bias 0",))
    >>> run_command(load_study("adult-bias"), setting, Path("mine"))
    "fedmgda reproduce adult-bias --seeds 1 -r 'AFL bias 0' --out mine"
    """
    words = ["fedmgda", "reproduce", study.name]
    if setting.compat != "paper":
        words += ["--compat", setting.compat]
    words += [] if setting.rounds is None else ["--rounds", str(setting.rounds)]
    words += [] if setting.seeds is None else ["--seeds", _seeds_text(setting.seeds)]
    words += [word for row in setting.rows for word in ("-r", row)]
    words += [word for change in setting.changes for word in ("-c", change)]
    if folder != default_folder(study, setting):
        words += ["--out", str(folder)]
    return shlex.join(words)
