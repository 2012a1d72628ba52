"""What a study has shown so far: from its runs to lines, differences and primary comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from fedmgda._errors import StoreError
from fedmgda.paper._collected import read_results
from fedmgda.paper._comparison import Line, compare
from fedmgda.paper._metrics import FIXED
from fedmgda.paper._primary import Sample, samples
from fedmgda.paper._promise import Promise, promises
from fedmgda.paper._questions import Answer, answers
from fedmgda.paper._setting import plan_study, run_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.paper._published_study import PublishedStudy
    from fedmgda.paper._result import Result
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = ["Report", "make_report"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a study has shown so far.

    Attributes:
        lines: Our numbers beside the paper's.
        answers: Differences over paired seeds, for the questions of our own.
        fixed: The metrics that were fixed beforehand; none that nothing measured.
        fixed_answers: Differences in them.
        primaries: The primary comparisons of the study, seed by seed.
        promises: What its protected rows did, round by round.
        results: The runs behind them.
        planned: How many runs the study has.
        files: What was written.
    """

    lines: list[Line]
    answers: list[Answer]
    fixed: list[Line]
    fixed_answers: list[Answer]
    primaries: dict[str, Sample]
    promises: list[Promise]
    results: list[Result]
    planned: int
    files: list[Path] = field(default_factory=list)


def make_report(
    study: Study, setting: Setting, folder: Path, published: Sequence[PublishedStudy] = ()
) -> Report:
    """Read the runs of a study and compare them; no file is written.

    Every finished run counts. A row without one is shown as far as its runs have come, and is not
    compared.

    Args:
        study: The study.
        setting: How large it is run.
        folder: The folder of its runs.
        published: Where finished runs of it are published that count as well.

    Raises:
        StoreError: If nothing has been run there.
    """
    runs = plan_study(study, setting)
    results = read_results(runs, folder, published)
    lines = compare(study, setting, results)
    if not lines:
        raise StoreError(
            f"{folder} has no run of {study.name!r} that came to an evaluation; "
            f"run it with: {run_command(study, setting, folder)}"
        )
    fixed = _measured(compare(study, setting, results, FIXED))
    return Report(
        lines=lines, answers=answers(study, lines), fixed=fixed,
        fixed_answers=answers(study, fixed), primaries=samples(study, setting, fixed),
        promises=promises(study, results), results=results, planned=len(runs),
    )  # fmt: skip


def _measured(lines: list[Line]) -> list[Line]:
    """Leave out what no run of the study measured."""
    known = {line.metric for line in lines if any(map(math.isfinite, line.values.values()))}
    return [line for line in lines if line.metric in known]
