"""What `fedmgda init` says of a file, in sentences: clients, target, columns to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._paths import is_folder
from fedmgda._text import listed, shown
from fedmgda.data import group_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.data import ColumnFacts, FederatedData, Guess, RawTable
    from fedmgda.experiments._settle import Settled

__all__ = [
    "about_arrays",
    "about_client",
    "about_columns",
    "about_file",
    "about_target",
    "perhaps_amounts",
    "rarest",
]

_RARE = 0.2  # of the share a class would have if all were as large; a rarer one is easily missed
_ALONE = "; one client is no federation"


def about_file(raw: RawTable) -> str:
    """Say how large a table is."""
    return f"{raw.name}: {_counted(len(raw.rows), 'row')}, {_counted(len(raw.columns), 'column')}"


def about_client(
    raw: RawTable, columns: Sequence[ColumnFacts], owner: Guess, path: Path, settled: Settled
) -> str:
    """Say whose the rows are, how that was found, and what else it could be."""
    data, clients = settled.data, settled.spec.clients
    count = 0 if data is None else data.num_clients
    if owner.name is None and not is_folder(path):
        return (
            f"no column looks like one, so {count} clients are made up; name it with --client if "
            "there is one"
        )
    groups = count if owner.name is None else len(group_sizes(raw, owner.name))
    fewer = groups - count
    least = settled.spec.data.min_rows
    few = f"; left out with fewer than {least} rows: {fewer}" if fewer else ""
    drawn = f"; {clients.per_round} take part in a round" if clients.per_round != count else ""
    alone = _ALONE if count == 1 else ""
    what = f"{_called(owner.name, columns)} {owner.why}" if owner.name else owner.why
    doubt = "" if owner.sure else _not_sure(owner, columns, "no column")
    return f"{what}: {_counted(groups, 'group')}{few}{drawn}{alone}{doubt}"


def about_target(
    wanted: Guess, columns: Sequence[ColumnFacts], data: FederatedData | None, *, amounts: bool
) -> str:
    """Say what is predicted, how that was found, and what else it could be."""
    doubt = (
        "" if wanted.sure else _not_sure(wanted, columns, "" if wanted.others else "one left out")
    )
    task = '. NOT SURE: if these numbers are amounts, set data.task = "regression"'
    found = f"{_called(wanted.name or '', columns)} {wanted.why}: {_task(data)}"
    return f"{found}{doubt}{task if amounts else ''}"


def perhaps_amounts(
    target: str | None, columns: Sequence[ColumnFacts], data: FederatedData | None
) -> bool:
    """Tell whether the classes are whole numbers, more than two, which may be amounts."""
    kind = next((fact.kind for fact in columns if fact.name == target), None)
    numbers = kind in {"number", "id"}  # texts have other kinds, or more values than classes
    return numbers and data is not None and (data.num_classes or 0) > 2


def about_columns(columns: Sequence[ColumnFacts], roles: set[str | None]) -> list[tuple[str, str]]:
    """Name the columns that are left out, are doubtful, or miss values."""
    others = [fact for fact in columns if fact.name not in roles]
    out = [f"{shown(fact.name)} ({fact.kind})" for fact in others if fact.why]
    doubtful = [f"{shown(fact.name)} ({fact.doubt})" for fact in others if fact.doubt]
    missing = [f"{shown(fact.name)} ({fact.num_missing})" for fact in others if fact.num_missing]
    found = {
        "left out": listed(out, 8),
        "look at": listed(doubtful, 3),
        "missing": listed(missing, 5),
    }
    return [(head, text) for head, text in found.items() if text]


def about_arrays(data: FederatedData) -> list[tuple[str, str]]:
    """Say what is in an archive, or a folder, of arrays."""
    shape = " x ".join(map(str, data.features.shape[1:]))
    alone = _ALONE if data.num_clients == 1 else ""
    return [
        ("file", f"{data.name}: {len(data.targets)} examples of {shape} numbers"),
        ("client", f"{_counted(data.num_clients, 'client')}{alone}"),
        ("target", _task(data)),
    ]


def rarest(data: FederatedData) -> tuple[str, bool]:
    """Return which class is the rarest, and whether that is rare for so many classes."""
    counts = np.bincount(data.targets, minlength=data.num_classes or 1)
    least = int(counts.argmin())
    names = data.class_names or tuple(map(str, range(len(counts))))
    share = counts[least] / counts.sum()
    text = f"{names[least]!r} has {counts[least]} of {counts.sum()} rows ({100 * share:.1f} %)"
    return text, bool(share < _RARE / len(counts))


def _task(data: FederatedData | None) -> str:
    if data is None or data.num_classes is None:
        return "numbers, so a regression"
    return f"{data.num_classes} classes, of which {rarest(data)[0]}"


def _not_sure(guess: Guess, columns: Sequence[ColumnFacts], otherwise: str) -> str:
    """Name what else it could be."""
    others = ", ".join(_called(name, columns) for name in guess.others)
    return f". NOT SURE: it could be {' or '.join(filter(None, (others, otherwise)))}"


def _called(name: str, columns: Sequence[ColumnFacts]) -> str:
    """Return the name of a column, with how many values it misses."""
    count = next((fact.num_missing for fact in columns if fact.name == name), 0)
    return f"{name!r} ({count} missing)" if count else repr(name)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
