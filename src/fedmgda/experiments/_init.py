"""A spec for a file that nobody has described yet: what is in it, and what was guessed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import DataError
from fedmgda._text import listed
from fedmgda.data import (
    FILE_COLUMN,
    Guess,
    group_sizes,
    guess_client,
    guess_target,
    inspect_columns,
    read_raw,
)
from fedmgda.experiments._parse import parse
from fedmgda.experiments._resolve import resolve
from fedmgda.experiments._settle import settle
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._toml import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.data import ColumnFacts, FederatedData, RawTable
    from fedmgda.experiments._settle import Settled

__all__ = ["Proposal", "propose_spec"]

_RARE = 0.2  # of the share a class would have if all were as large; a rarer one is easily missed


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
    if _is_arrays(path):
        keys = {"client": client, "target": target}
        data = {"path": str(path)} | {key: name for key, name in keys.items() if name is not None}
        settled = settle(resolve(parse(Spec, {"data": data})))
        facts = [] if settled.data is None else _about_arrays(settled.data)
        return _proposal(data, settled, facts, unsure=False)
    raw = read_raw(path)
    columns = inspect_columns(raw)
    owner = _client(raw, columns, path, client)
    wanted = _target(raw, columns, owner, target)
    names = {"path": str(path), "client": owner.name, "target": wanted.name}
    data = {key: name for key, name in names.items() if name is not None}
    settled = settle(resolve(parse(Spec, {"data": data})))
    found = settled.data
    facts = [("file", f"{raw.name}: {len(raw.rows)} rows, {len(raw.columns)} columns")]
    facts.append(("client", _about_client(raw, owner, path, settled)))
    facts.append(("target", _about_target(wanted, found)))
    facts += _about_columns(columns, {*names.values()})
    return _proposal(data, settled, facts, unsure=not (owner.sure and wanted.sure))


def _is_arrays(path: Path) -> bool:
    if path.is_dir():
        return any(file.suffix.lower() == ".npz" for file in path.iterdir())
    return path.suffix.lower() == ".npz"


def _client(raw: RawTable, columns: Sequence[ColumnFacts], path: Path, client: str | None) -> Guess:
    if client is not None:
        return Guess(name=client, why="is what you named", sure=True)
    if path.is_dir():
        return Guess(name=None, why="every file is a client", sure=True)
    return guess_client(raw, columns)


def _target(
    raw: RawTable, columns: Sequence[ColumnFacts], owner: Guess, target: str | None
) -> Guess:
    if target is not None:
        return Guess(name=target, why="is what you named", sure=True)
    found = guess_target(columns, {owner.name or "", FILE_COLUMN})
    if found.name is None:
        raise DataError(
            f"No column of {raw.name} can be a target: each is an id, a date, constant, or lacks "
            "values. Name one with --target, or fill in what is missing."
        )
    return found


def _about_client(raw: RawTable, owner: Guess, path: Path, settled: Settled) -> str:
    data, clients = settled.data, settled.spec.clients
    count = 0 if data is None else data.num_clients
    if owner.name is None and not path.is_dir():
        return (
            f"no column looks like one, so {count} clients are made up; name it with --client if "
            "there is one"
        )
    groups = count if owner.name is None else len(group_sizes(raw, owner.name))
    fewer = groups - count
    least = settled.spec.data.min_rows
    few = f"; left out with fewer than {least} rows: {fewer}" if fewer else ""
    drawn = f"; {clients.per_round} take part in a round" if clients.per_round != count else ""
    what = f"{owner.name!r} {owner.why}" if owner.name else owner.why
    return f"{what}: {groups} groups{few}{drawn}{_instead(owner)}"


def _about_target(wanted: Guess, data: FederatedData | None) -> str:
    return f"{wanted.name!r} {wanted.why}: {_task(data)}{_instead(wanted)}"


def _instead(guess: Guess) -> str:
    """Name what else it could be, where the guess is not sure."""
    if guess.sure or not guess.others:
        return ""
    return f". NOT SURE: it could be {listed(map(repr, guess.others))}"


def _task(data: FederatedData | None) -> str:
    if data is None or data.num_classes is None:
        return "numbers, so a regression"
    return f"{data.num_classes} classes, of which {_rarest(data)[0]}"


def _rarest(data: FederatedData) -> tuple[str, bool]:
    """Return which class is the rarest, and whether that is rare for so many classes."""
    counts = np.bincount(data.targets, minlength=data.num_classes or 1)
    least = int(counts.argmin())
    names = data.class_names or tuple(map(str, range(len(counts))))
    share = counts[least] / counts.sum()
    text = f"{names[least]!r} has {counts[least]} of {counts.sum()} rows ({100 * share:.1f} %)"
    return text, bool(share < _RARE / len(counts))


def _about_columns(columns: Sequence[ColumnFacts], roles: set[str | None]) -> list[tuple[str, str]]:
    others = [fact for fact in columns if fact.name not in roles]
    out = [f"{fact.name} ({fact.kind})" for fact in others if fact.why]
    doubtful = [f"{fact.name} ({fact.doubt})" for fact in others if fact.doubt]
    missing = [f"{fact.name} ({fact.num_missing})" for fact in others if fact.num_missing]
    found = {
        "left out": listed(out, 8),
        "look at": listed(doubtful, 3),
        "missing": listed(missing, 5),
    }
    return [(head, text) for head, text in found.items() if text]


def _about_arrays(data: FederatedData) -> list[tuple[str, str]]:
    shape = " x ".join(map(str, data.features.shape[1:]))
    return [
        ("file", f"{data.name}: {len(data.targets)} examples of {shape} numbers"),
        ("client", f"{data.num_clients} clients"),
        ("target", _task(data)),
    ]


def _proposal(
    data: Mapping[str, Any], settled: Settled, facts: list[tuple[str, str]], *, unsure: bool
) -> Proposal:
    found, rare = settled.data, None
    if found is not None and found.num_classes is not None and _rarest(found)[1]:
        rare = _rarest(found)[0]
        score = "balanced accuracy and AUC" if found.num_classes == 2 else "balanced accuracy"
        advice = f'look at {score} too; clients.class_weights = "balanced" makes it count for more'
        facts = [*facts, ("rare", f"{rare}: {advice}")]
    return Proposal(spec=_text(data, settled, facts, rare), facts=tuple(facts), unsure=unsure)


def _text(
    data: Mapping[str, Any], settled: Settled, facts: Sequence[tuple[str, str]], rare: str | None
) -> str:
    about, spec = dict(facts), settled.spec
    lines = [_comment(about["file"]), "# Every key not given here has a default: docs/runs.md."]
    lines += [f"# rounds = {spec.rounds}", "", "[data]"]
    for key, value in data.items():
        lines += [_comment(about[key])] if key in about else []
        lines.append(f"{key} = {toml_value(value)}")
    for head in ("left out", "look at", "missing"):
        lines += [_comment(f"{head}: {about[head]}")] if head in about else []
    if "target" in data:
        lines.append("# ignore = []  # columns that nothing should be learned from")
    lines += ["", "[clients]", f"# per_round = {spec.clients.per_round}  # who takes part"]
    lines.append(f"# client_lr = {spec.clients.client_lr}  # what the data tells for seed 0")
    if rare is not None:
        lines.append(_comment(f"{rare}; with the next line all classes weigh the same"))
        lines.append('# class_weights = "balanced"')
    lines += ["", "[rule]", f"name = {toml_value(spec.rule.name)}"]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """Return a line of TOML that nothing in a name of the user's can end."""
    return f"# {''.join(c if c.isprintable() else ' ' for c in text)}."
