"""What is kept of a run, as columns: what is published, and all that is drawn."""

from __future__ import annotations

import json
import lzma
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import StoreError
from fedmgda._files import read_file
from fedmgda._json import read_json
from fedmgda.experiments import known_ids
from fedmgda.paper._result import known_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.experiments import EvaluationRow, PlannedRun, ProtectionRow, RoundRow
    from fedmgda.paper._result import Result

__all__ = ["Record", "columns_of", "packed", "read_record", "record_name", "record_of"]

_LARGEST = 1 << 27  # bytes of a record, packed or not
_DIGITS = 5  # significant digits of what is kept
_SUMMARY = ("average", "average_weighted", "std", "percentile_5", "percentile_95")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What figures show of one run, to the digits that are published.

    Attributes:
        run: What was planned.
        evaluated: Of shape `(e,)`: the rounds after which users were evaluated.
        average: Of shape `(e,)`: the average user accuracy then, in percent.
        improved: Of shape `(t,)`: the improved participants of every round, in percent; NaN where
            it was not measured.
        losses: Of shape `(t,)`: the participants' mean loss while they trained.
        users: Of shape `(n,)`: the accuracies of the honest users in the last evaluation, in
            percent.
    """

    run: PlannedRun
    evaluated: Vector
    average: Vector
    improved: Vector
    losses: Vector
    users: Vector


def record_name(run: PlannedRun) -> str:
    """Return where the record of a run stands in the folder of a published study."""
    return f"runs/{run.folder_name}.json.xz"


def columns_of(result: Result) -> dict[str, Any]:
    """Return what is kept of a run; `export_study` says what that is."""
    last = result.evaluations[-1]
    return {
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


def packed(columns: Mapping[str, Any]) -> bytes:
    """Return the bytes of a published record; the same columns give the same bytes."""
    text = json.dumps(columns, separators=(",", ":")) + "\n"
    return lzma.compress(text.encode(), preset=9)


def read_record(run: PlannedRun, folder: Path) -> Record | None:
    """Return the record of a run in the folder of a published study, None if it has none.

    Raises:
        StoreError: If the record cannot be read.
    """
    path = folder / record_name(run)
    if (packed := read_file(path, _LARGEST)) is None:
        return None
    try:
        return record_of(run, read_json(_unpacked(packed)))
    except (
        lzma.LZMAError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
    ) as error:
        raise StoreError(
            f"{path} is no record of a run ({error}); publish the study again."
        ) from error


def _unpacked(packed: bytes) -> bytes:
    """Undo the compression, of a few bytes that could become billions."""
    content = (unpacker := lzma.LZMADecompressor()).decompress(packed, _LARGEST)
    if not unpacker.eof:
        raise ValueError(f"it is cut short, or has more than {_LARGEST} bytes")
    return content


def record_of(run: PlannedRun, columns: Mapping[str, Any]) -> Record:
    """Return what is drawn of a run, from what is kept of it."""
    rounds, evaluations, users = columns["rounds"], columns["evaluations"], columns["users"]
    length, malicious = len(rounds.get("round", ())), set(known_ids(run.spec.attack.clients))
    honest = [
        accuracy
        for client, accuracy, examples in zip(
            users["clients"], users["accuracies"], users["num_examples"], strict=True
        )
        if accuracy is not None and examples and client not in malicious
    ]
    # Who is not attacked has no users but honest ones, and their summary only.
    average = evaluations.get("all_average", evaluations.get("honest_average"))
    evaluated = _floats(evaluations["round"], 0)
    return Record(
        run=run,
        evaluated=evaluated,
        average=100.0 * _floats(average, len(evaluated)),
        improved=_floats(rounds.get("improved"), length),
        losses=_floats(rounds.get("mean_local_losses"), length),
        users=100.0 * _floats(honest, 0),
    )


def _floats(values: Sequence[float | None] | None, length: int) -> Vector:
    """Turn a column into a vector; one that was left out, because it was empty, into NaN."""
    if values is None:
        return np.full(length, np.nan)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


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
