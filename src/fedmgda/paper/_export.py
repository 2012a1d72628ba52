"""A study made small enough to be kept under version control."""

from __future__ import annotations

import json
import lzma
import math
import shutil
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fedmgda._errors import StoreError
from fedmgda.paper._result import known_mean
from fedmgda.paper._study import study_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.experiments import Environment, EvaluationRow, ProtectionRow, RoundRow
    from fedmgda.paper._report import Report
    from fedmgda.paper._result import Result
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = ["export_study"]

_DIGITS = 5  # significant digits of what is kept
_SUMMARY = ("average", "average_weighted", "std", "percentile_5", "percentile_95")


def export_study(study: Study, setting: Setting, report: Report, target: Path) -> list[Path]:
    """Copy spec, setting, environment, tables, figures, and the records of every run, compressed.

    Of a run, `runs/<name>.json.xz` keeps, as columns, for every round the improved participants,
    the length of the direction, its smallest inner product with an update, the largest weight and
    the mean losses of the participants, and of protected ones ω, s and the lengths of the step that
    was proposed and of the one made; for every evaluation the summary over users; and of the last
    evaluation every user. What belongs to single participants of a round is left out: the run
    folder has it. The same runs give the same bytes. Runs that are not finished are kept only if
    none is.

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
    } | {f"runs/{r.run.folder_name}.json.xz": _records(r) for r in kept}
    written = []
    try:
        (target / "runs").mkdir(parents=True, exist_ok=True)
        for name, content in texts.items():
            (target / name).write_bytes(content)
            written.append(target / name)
        written += [shutil.copyfile(file, target / file.name) for file in report.files]
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}.") from error
    return written


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
    for result in kept:
        facts = replace(result.environment, seed=None)
        if facts not in found:
            found.append(facts)
    return [{key: x for key, x in asdict(facts).items() if key != "seed"} for facts in found]


def _records(result: Result) -> bytes:
    last = result.evaluations[-1]
    columns = {
        "rounds": _columns([_of_round(row) for row in result.rounds]),
        "failed": [row.round_num for row in result.rounds if row.failed is not None],
        "quarantined": sum(len(row.quarantined) for row in result.rounds),
        "evaluations": _columns([_of_evaluation(row) for row in result.evaluations]),
        "users": {
            "clients": list(last.client_ids),
            "accuracies": _rounded(last.accuracies.tolist()),
            "losses": _rounded(last.losses.tolist()),
            "num_examples": _rounded(last.num_examples.tolist()),
        },
    }
    text = json.dumps(columns, separators=(",", ":")) + "\n"
    return lzma.compress(text.encode(), preset=9)


def _of_round(row: RoundRow) -> dict[str, float | None]:
    return {
        "round": row.round_num,
        "improved": row.improved,
        "norm": row.norm,
        "min_inner": row.min_inner,
        "max_lam": None if row.lam is None or not len(row.lam) else float(row.lam.max()),
        "mean_losses_before": known_mean(row.losses_before),
        "mean_local_losses": known_mean(row.local_losses),
        **_of_protection(row.protection),
    }


def _of_protection(made: ProtectionRow | None) -> dict[str, float | None]:
    """Return what protection made of a step; columns of nothing, which are left out, without it."""
    opposed = None if made is None else len(made.opposed[0]) if made.opposed else 0
    return {
        "omega": None if made is None else made.omega,
        "scale": None if made is None else made.scale,  # none in a round that is held
        "opposed_first": opposed,
        "overridden": None if made is None else len(made.overridden),
        "step_norm": None if made is None else made.step_norm,
        "moved_norm": None if made is None else made.moved_norm,
    }


def _of_evaluation(row: EvaluationRow) -> dict[str, float | None]:
    found: dict[str, float | None] = {"round": row.round_num}
    for users, group in (("honest", row.honest), ("all", row.all_users)):
        accuracy = (group.accuracy if group else None) or {}
        found |= {f"{users}_{name}": accuracy.get(name) for name in _SUMMARY}
    return found


def _columns(rows: Sequence[dict[str, float | None]]) -> dict[str, list[Any]]:
    """Turn rows into columns, which compress better, without those that are empty."""
    names = rows[0] if rows else ()
    columns = {name: [_rounded(row[name]) for row in rows] for name in names}
    return {name: c for name, c in columns.items() if any(value is not None for value in c)}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
