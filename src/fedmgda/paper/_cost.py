"""What a study costs, from rounds that were really run: here, or on the machine of the table."""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import FedmgdaError
from fedmgda.experiments import Collection, RunFolder, open_run, run_folders
from fedmgda.paper._setting import REPRODUCED, Setting, default_folder, plan_study
from fedmgda.paper._study import STUDIES, load_study

if TYPE_CHECKING:
    from pathlib import Path

    from fedmgda.experiments import PlannedRun
    from fedmgda.paper._study import Study

__all__ = ["Standing", "calibrate", "elsewhere", "measured_on", "standing"]

_ROUNDS = 3
_SECONDS = 20.0  # after which one timed round is enough


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a study stands, and what it takes.

    Attributes:
        runs: How many runs it has.
        finished: How many of them are done, in its default folder.
        rounds: The rounds of all runs together.
        seconds_per_round: Of one process, measured here or taken from the table of the package;
            None if neither is known.
        timed_here: Whether it was measured on this machine.
    """

    runs: int
    finished: int
    rounds: int
    seconds_per_round: float | None
    timed_here: bool

    @property
    def hours(self) -> float | None:
        """Hours of one core for all rounds."""
        if self.seconds_per_round is None:
            return None
        return self.seconds_per_round * self.rounds / 3600.0


def standing(study: Study, setting: Setting) -> Standing:
    """Look at the default folders of a study: the runs that are done, and the pace of all."""
    runs = plan_study(study, setting)
    folder, pace = default_folder(study, setting), _pace(study, setting, runs)
    return Standing(
        runs=len(runs),
        finished=sum(RunFolder(folder / run.folder_name).done for run in runs),
        rounds=sum(run.spec.rounds for run in runs),
        seconds_per_round=_costs()["seconds_per_round"].get(study.name) if pace is None else pace,
        timed_here=pace is not None,
    )


def measured_on() -> str:
    """Return the processor that the costs of the package were measured on."""
    return str(_costs()["machine"])


@cache
def _costs() -> dict[str, Any]:
    """Return what scripts/measure_costs.py wrote."""
    text = (files("fedmgda.paper") / "costs.json").read_text(encoding="utf-8")
    costs: dict[str, Any] = json.loads(text)
    return costs


def elsewhere(setting: Setting) -> dict[Path, tuple[int, int]]:
    """Return the kept studies of other settings: their folders, runs finished and runs begun."""
    own = {default_folder(load_study(name), setting) for name in STUDIES}
    timed = f"-rounds{_ROUNDS}"
    found = {}
    for folder in sorted(REPRODUCED.glob("*/")):
        begun = run_folders(folder)
        if begun and folder not in own and not folder.name.endswith(timed):
            found[folder] = sum(RunFolder(run).done for run in begun), len(begun)
    return found


def calibrate(study: Study, setting: Setting) -> str | None:
    """Run up to three rounds of the first run of a study, unless its pace is known.

    Returns:
        Why there was no round to time, say for want of the data; None if there was one.
    """
    short = replace(setting, rounds=_ROUNDS, seeds=1)
    runs = plan_study(study, short)[:1]
    if not runs or _pace(study, setting, plan_study(study, setting)) is not None:
        return None
    started = time.monotonic()
    states: Any = Collection(default_folder(study, short), runs).execute()
    with closing(states):
        for state in states:
            if state.error or (state.round_num and time.monotonic() - started > _SECONDS):
                return None if state.error is None else str(state.error)
    return None


def _pace(study: Study, setting: Setting, runs: list[PlannedRun]) -> float | None:
    """Return the mean seconds of a round: of the study's own runs, else of its calibration."""
    for folder in (
        default_folder(study, setting),
        default_folder(study, replace(setting, rounds=_ROUNDS)),
    ):
        if not folder.is_dir():
            continue
        paces = [pace for run in runs if (pace := _pace_of(folder / run.folder_name)) is not None]
        if paces:
            return float(np.mean(paces))
    return None


def _pace_of(folder: Path) -> float | None:
    try:
        rows = open_run(folder).timings
    except FedmgdaError:
        return None
    seconds = [sum(row.seconds.values()) for row in rows]
    return float(np.mean(seconds)) if seconds else None
