"""What is kept of a run, read from its folder, and written down small.

Of every round: the improved participants, the length of the direction, its smallest inner product
with an update, the largest weight, the mean losses of the participants, how far the model moved,
how many took part, were quarantined, and were attackers in quarantine, whether it was held or
failed; of protected ones also ω, s, the length of the proposed step, how many opposed the first
length and were overridden, how many losses of honest participants were compared and how many rose.
Of every evaluation the summary over users, and the accuracy on the official test set where that was
asked for; of the last one every user. What belongs to single
participants of a round is left out: the run folder has it.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._json import read_json
from fedmgda.paper._result import Result, Users, malicious_clients

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fedmgda._types import Vector
    from fedmgda.experiments import (
        Environment,
        EvaluationRow,
        PlannedRun,
        ProtectionRow,
        RoundRow,
        Run as RunFolder,
    )

__all__ = ["LARGEST_RECORD", "as_published", "packed", "record_name", "result_of", "unpacked"]

LARGEST_RECORD = 1 << 27  # bytes of what is kept of a run, packed or not
_DIGITS = 7  # significant digits of what is kept; five in the first version
_SUMMARY = ("average", "average_weighted", "std", "percentile_5", "percentile_95")


def record_name(run: PlannedRun) -> str:
    """Return where the record of a run stands in the folder of a published study."""
    return f"runs/{run.folder_name}.json.xz"


def result_of(run: PlannedRun, found: RunFolder) -> Result:
    """Return what is kept of a run that has been evaluated, from its folder."""
    last, malicious = found.evaluations[-1], malicious_clients(run)
    return Result(
        run=run,
        done=found.finished,
        rounds=_columns([_of_round(row, malicious) for row in found.rounds]),
        evaluations=_columns([_of_evaluation(row) for row in found.evaluations]),
        users=Users(
            clients=tuple(last.client_ids),
            accuracies=last.accuracies,
            losses=last.losses,
            num_examples=np.asarray(last.num_examples, dtype=np.float64),
        ),
        environments=(found.environment,),
    )


def packed(result: Result) -> bytes:
    """Return the bytes of a published record; the same result gives the same bytes."""
    return lzma.compress(_text(result).encode(), preset=9)


def unpacked(
    run: PlannedRun, content: bytes, *, done: bool, environments: Sequence[Environment]
) -> Result:
    """Return what a published record keeps of a run.

    Args:
        run: What was planned.
        content: What `packed` returned.
        done: Whether the run is finished.
        environments: Those of the study the record belongs to.

    Raises:
        ValueError: If the content is no such record; also KeyError, TypeError, LZMAError.
    """
    found = _result(run, _decompressed(content), done, environments)
    users = found.users
    exact = _as_shares(users.accuracies, users.num_examples)
    return replace(found, users=replace(users, accuracies=exact))


def _decompressed(content: bytes) -> str:
    """Undo the compression, of a few bytes that could become billions."""
    text = (unpacker := lzma.LZMADecompressor()).decompress(content, LARGEST_RECORD)
    if not unpacker.eof:
        raise ValueError(f"it is cut short, or has more than {LARGEST_RECORD} bytes")
    return text.decode()


def as_published(result: Result) -> Result:
    """Return a result with the digits that are published of it."""
    return _result(result.run, _text(result), result.done, result.environments)


def _text(result: Result) -> str:
    users = result.users
    commits = {found.commit for found in result.environments}
    kept = {
        "rounds": {name: _rounded(column) for name, column in result.rounds.items()},
        "evaluations": {name: _rounded(column) for name, column in result.evaluations.items()},
        "users": {
            "clients": list(users.clients),
            "accuracies": _rounded(users.accuracies),
            "losses": _rounded(users.losses),
            "num_examples": _rounded(users.num_examples),
        },
        **({"commit": commits.pop()} if len(commits) == 1 else {}),
    }
    return json.dumps(kept, separators=(",", ":")) + "\n"


def _result(run: PlannedRun, text: str, done: bool, environments: Sequence[Environment]) -> Result:
    kept = read_json(text)
    users, commit = kept["users"], kept.get("commit")
    of_commit = tuple(found for found in environments if found.commit == commit)
    return Result(
        run=run,
        done=done,
        rounds={name: _floats(column) for name, column in kept["rounds"].items()},
        evaluations={name: _floats(column) for name, column in kept["evaluations"].items()},
        users=Users(
            clients=tuple(users["clients"]),
            accuracies=_floats(users["accuracies"]),
            losses=_floats(users["losses"]),
            num_examples=_floats(users["num_examples"]),
        ),
        environments=of_commit or tuple(environments),
    )


def _of_round(row: RoundRow, malicious: frozenset[int]) -> dict[str, float | None]:
    quarantined = {failure.client_id for failure in row.quarantined}
    return {
        "round": row.round_num,
        "improved": row.improved,
        "norm": row.norm,
        "min_inner": row.min_inner,
        "max_lam": None if row.lam is None or not len(row.lam) else float(row.lam.max()),
        "mean_losses_before": _known_mean(row.losses_before),
        "mean_local_losses": _known_mean(row.local_losses),
        "moved": _moved(row),
        "participants": len(row.client_ids),
        "quarantined": len(quarantined),
        "attackers_quarantined": len(quarantined & malicious) if malicious else None,
        "failed": row.failed is not None,
        "held": bool(row.held),
        **_of_protection(row.protection),
        **_of_losses(row, malicious),
    }


def _moved(row: RoundRow) -> float:
    """Return how far the round moved the model; nowhere where it failed or was held."""
    if row.protection is not None:
        return row.protection.moved_norm
    return 0.0 if row.held or row.norm is None else row.server_lr * row.norm


def _of_protection(made: ProtectionRow | None) -> dict[str, float | None]:
    """Return what protection made of a step; columns of nothing, which are left out, without it."""
    opposed = None if made is None else len(made.opposed[0]) if made.opposed else 0
    return {
        "omega": None if made is None else made.omega,
        "scale": None if made is None else made.scale,  # none in a round that is held
        "opposed_first": opposed,
        "overridden": None if made is None else len(made.overridden),
        "step_norm": None if made is None else made.step_norm,
    }


def _of_losses(row: RoundRow, malicious: frozenset[int]) -> dict[str, int | None]:
    """Count the losses of honest participants in a protected round, and those that rose."""
    made = row.protection
    if made is None:
        return {"losses": None, "rose": None}
    if made.after is None:
        return {"losses": 0, "rose": 0}
    honest = np.array([client not in malicious for client in row.client_ids])
    rose = ~(made.after <= made.before)
    return {"losses": int(honest.sum()), "rose": int((rose & honest).sum())}


def _of_evaluation(row: EvaluationRow) -> dict[str, float | None]:
    found: dict[str, float | None] = {"round": row.round_num}
    for users, group in (("honest", row.honest), ("all", row.all_users)):
        accuracy = (group.accuracy if group else None) or {}
        found |= {f"{users}_{name}": accuracy.get(name) for name in _SUMMARY}
    return {**found, "global_accuracy": row.global_accuracy}


def _columns(rows: Sequence[Mapping[str, float | None]]) -> dict[str, Vector]:
    """Turn rows into columns, which compress better, without those that are empty."""
    names = rows[0] if rows else ()
    columns = {name: _floats(row[name] for row in rows) for name in names}
    return {name: column for name, column in columns.items() if not np.isnan(column).all()}


def _floats(values: Iterable[float | None]) -> Vector:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _rounded(values: Vector) -> list[Any]:
    """Return numbers as they are published: whole ones as they are, None where there is none."""
    return [
        None if np.isnan(x) else int(x) if x.is_integer() else float(f"{x:.{_DIGITS}g}")
        for x in values.tolist()
    ]


def _as_shares(accuracies: Vector, num_examples: Vector) -> Vector:
    """Return accuracies with the digits that were cut: each is a share of the test examples.

    >>> _as_shares(np.array([0.83333, 0.5]), np.array([6.0, 0.0]))
    array([0.83333333, 0.5       ])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.rint(accuracies * num_examples) / num_examples
    # Of more examples than this two shares could have the same digits.
    known = (num_examples < 0.2 * 10.0**_DIGITS) & (abs(shares - accuracies) <= 10.0**-_DIGITS)
    return np.where(known, shares, accuracies)


def _known_mean(values: Vector | None) -> float | None:
    """Return the mean of the values that are known, None if none is."""
    if values is None or np.isnan(values).all():
        return None
    return float(np.mean(values[~np.isnan(values)]))
