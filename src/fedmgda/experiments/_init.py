"""A spec for a file that nobody has described yet: what is in it, and what was guessed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from fedmgda._errors import DataError
from fedmgda._paths import is_folder, kind_of, paths_in
from fedmgda.data import (
    FILE_COLUMN,
    Guess,
    guess_client,
    guess_target,
    inspect_columns,
    read_raw,
)
from fedmgda.experiments._init_facts import (
    about_arrays,
    about_client,
    about_columns,
    about_file,
    about_target,
    perhaps_amounts,
    rarest,
)
from fedmgda.experiments._parse import parse
from fedmgda.experiments._resolve import resolve
from fedmgda.experiments._settle import settle
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._toml import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.data import ColumnFacts, RawTable
    from fedmgda.experiments._settle import Settled

__all__ = ["Proposal", "propose_spec"]

_PROTECT = "# protect = true  # a round is held if anybody says its loss rose: docs/protection.md"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What `fedmgda init` has to say about a file.

    Attributes:
        spec: The text of a spec that runs, with comments.
        facts: What is in the file and what was guessed, a heading and a sentence each.
        unsure: Whether a guess should be looked at.
    """

    spec: str
    facts: tuple[tuple[str, str], ...]
    unsure: bool


def propose_spec(
    path: Path | str, *, client: str | None = None, target: str | None = None
) -> Proposal:
    """Look at a csv, tsv, parquet or npz file, or a folder of them, and write a spec for it.

    Args:
        path: The file or folder.
        client: The column that says whose a row is; guessed if None.
        target: The column to predict; guessed if None.

    Raises:
        DataError: If the file cannot be read or trained on; the sentence says why.
        SpecError: If a column is named for a file that has none.
    """
    path = Path(path)
    if kind_of(path) is None:
        raise DataError(f"There is no table {path}; check the name.")
    if _is_arrays(path):
        keys = {"client": client, "target": target}
        data = {"path": str(path)} | {key: name for key, name in keys.items() if name is not None}
        settled = settle(resolve(parse(Spec, {"data": data})))
        facts = [] if settled.data is None else about_arrays(settled.data)
        return _proposal(data, settled, facts, unsure=False)
    raw = read_raw(path)
    columns = inspect_columns(raw)
    owner = _client(raw, columns, path, client)
    wanted = _target(raw, columns, owner, target)
    names = {"path": str(path), "client": owner.name, "target": wanted.name}
    data = {key: name for key, name in names.items() if name is not None}
    settled = settle(resolve(parse(Spec, {"data": data})))
    amounts = perhaps_amounts(wanted.name, columns, settled.data)
    facts = [
        ("file", about_file(raw)),
        ("client", about_client(raw, columns, owner, path, settled)),
        ("target", about_target(wanted, columns, settled.data, amounts=amounts)),
        *about_columns(columns, {*names.values()}),
    ]
    unsure = amounts or not (owner.sure and wanted.sure)
    return _proposal(data, settled, facts, unsure=unsure, amounts=amounts)


def _is_arrays(path: Path) -> bool:
    if is_folder(path):
        return any(file.suffix.lower() == ".npz" for file in paths_in(path))
    return path.suffix.lower() == ".npz"


def _client(raw: RawTable, columns: Sequence[ColumnFacts], path: Path, client: str | None) -> Guess:
    if client is not None:
        return Guess(name=client, why="is what you named", sure=True)
    if is_folder(path):
        return Guess(name=None, why="every file is a client", sure=True)
    return guess_client(raw, columns)


def _target(
    raw: RawTable, columns: Sequence[ColumnFacts], owner: Guess, target: str | None
) -> Guess:
    if target is not None:
        return Guess(name=target, why="is what you named", sure=True)
    found = guess_target(raw, columns, {owner.name or "", FILE_COLUMN})
    if found.name is None:
        raise DataError(
            f"No column of {raw.name} can be a target: each is an id or a code, a date, "
            "constant, or lacks most values. Name one with --target."
        )
    return found


def _proposal(
    data: Mapping[str, Any],
    settled: Settled,
    facts: list[tuple[str, str]],
    *,
    unsure: bool,
    amounts: bool = False,
) -> Proposal:
    found, rare = settled.data, None
    if found is not None and found.num_classes is not None and rarest(found)[1]:
        rare = rarest(found)[0]
        score = "balanced accuracy and AUC" if found.num_classes == 2 else "balanced accuracy"
        advice = f'look at {score} too; clients.class_weights = "balanced" makes it count for more'
        facts = [*facts, ("rare", f"{rare}: {advice}")]
    doubtful = ['# task = "regression"  # if the target is an amount'] if amounts else []
    spec = _text(_data_lines(data, dict(facts), doubtful), settled, facts, rare)
    return Proposal(spec=spec, facts=tuple(facts), unsure=unsure)


def _data_lines(
    data: Mapping[str, Any], about: Mapping[str, str], doubtful: Sequence[str]
) -> list[str]:
    """Return the table of the data: its keys, each below what was found, and what to look at."""
    lines = ["[data]"]
    for key, value in data.items():
        lines += [_comment(about[key])] if key in about else []
        lines.append(f"{key} = {toml_value(value)}")
    lines += doubtful
    for head in ("left out", "look at", "missing"):
        lines += [_comment(f"{head}: {about[head]}")] if head in about else []
    if "target" in data:
        lines.append("# ignore = []  # columns that nothing should be learned from")
    return lines


def _text(
    data: Sequence[str], settled: Settled, facts: Sequence[tuple[str, str]], rare: str | None
) -> str:
    spec = settled.spec
    lines = [_comment(dict(facts)["file"])]
    lines.append("# Every key not given here has a default; what it means: fedmgda explain KEY.")
    lines += [f"# rounds = {spec.rounds}", "", *data]
    lines += ["", "[clients]", f"# per_round = {spec.clients.per_round}  # who takes part"]
    lines.append(f"# client_lr = {spec.clients.client_lr}  # what the data tells for seed 0")
    if rare is not None:
        lines.append(_comment(f"{rare}; with the next line all classes weigh the same"))
        lines.append('# class_weights = "balanced"')
    lines += ["", "[rule]", f"name = {toml_value(spec.rule.name)}"]
    lines += ["", "[server]", _PROTECT]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """Return a line of TOML that nothing in a name of the user's can end."""
    return f"# {''.join(c if c.isprintable() else ' ' for c in text)}."
