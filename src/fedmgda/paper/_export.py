"""A study made small enough to be kept under version control."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fedmgda._errors import StoreError
from fedmgda._files import make_folder, write_file
from fedmgda.paper._records import packed, record_name
from fedmgda.paper._study import study_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.experiments import Environment
    from fedmgda.paper._report import Report
    from fedmgda.paper._result import Result
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = ["export_study"]


def export_study(study: Study, setting: Setting, report: Report, target: Path) -> list[Path]:
    """Copy spec, setting, environment, tables, figures, and the records of every run, compressed.

    Of a run, `runs/<name>.json.xz` keeps what `fedmgda.paper._records` lists. The same runs give
    the same bytes. Runs that are not finished are kept only if none is.

    Returns:
        The files.
    """
    kept = [result for result in report.results if result.done] or list(report.results)
    if not kept:
        raise StoreError(f"No run of {study.name!r} has begun; there is nothing to publish.")
    texts = {
        "spec.toml": study_text(study.name).encode(),
        "setting.json": _json(_facts(setting, report, kept)),
        "environment.json": _json(_environments(kept)),
    } | {record_name(r.run): packed(r) for r in kept}
    texts |= {file.name: file.read_bytes() for file in report.files}
    make_folder(target / "runs")
    for name, content in texts.items():
        write_file(target / name, content)
    return [target / name for name in texts]


def _facts(setting: Setting, report: Report, kept: Sequence[Result]) -> dict[str, Any]:
    return {
        "compat": setting.compat,
        "rounds": kept[0].run.spec.rounds,
        "seeds": sorted({result.run.seed for result in kept}),
        "changes": list(setting.changes),
        "runs_finished": sum(result.done for result in kept),
        "runs_planned": report.planned,
    }


def _environments(kept: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the environments runs were begun in, each once, without the seed."""
    found: list[Environment] = []
    for facts in (replace(one, seed=None) for result in kept for one in result.environments):
        if facts not in found:
            found.append(facts)
    return [{key: x for key, x in asdict(facts).items() if key != "seed"} for facts in found]


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
