"""The bytes of a run folder: spec, digests and chains, before any number in them is believed."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from fedmgda._files import file_digest, is_there
from fedmgda._json import decode, read_json, to_json
from fedmgda.experiments._audit import Finding
from fedmgda.experiments._environment import FORMAT
from fedmgda.experiments._folder_files import (
    CLIENTS,
    DONE,
    ENVIRONMENT,
    MODEL,
    PARTITION,
    RESULTS,
    SPEC,
    SUMMARY,
    Done,
    read_named,
)
from fedmgda.experiments._gram import gram_size
from fedmgda.experiments._records import EVALUATIONS, GRAM, ROUNDS
from fedmgda.experiments._tag import spec_tag
from fedmgda.experiments._toml import to_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fedmgda.experiments._environment import Environment
    from fedmgda.experiments._rows import EvaluationRow, GramPlace, RoundRow
    from fedmgda.experiments._spec import Spec

__all__ = [
    "chain_proved", "check_chain", "check_digests", "check_gram_places", "check_spec",
    "no_digests", "read_done",
]  # fmt: skip

_BYTES, _CHAIN = "spec and results", "the records"


def read_done(folder: Path) -> Done | None:
    """Return the mark of a finished run; None where there is none, or format 1 left it empty.

    Raises:
        ValueError: If it is not as a run writes it.
        StoreError: If it cannot be read.
    """
    content = read_named(folder, DONE)
    if not content:
        return None
    done = decode(Done, read_json(content))
    if to_json(done).encode() != content:
        raise ValueError("it is not as a run writes it")
    return done


def check_spec(
    content: bytes, spec: Spec, environment: Environment, done: Done | None
) -> Finding | None:
    """Return what is wrong with a spec: its text, its seed, or its digest in DONE."""
    place, why = SPEC, ""
    if (foreign := _foreign_line(content, spec)) is not None:
        place, why = f"{SPEC}, line {foreign}", "it is not as a run writes it"
    elif environment.seed not in {None, spec.seed}:
        place, why = ENVIRONMENT, f"its seed is {environment.seed}, that of {SPEC} {spec.seed}"
    elif done is not None and done.spec != spec_tag(spec):
        why = f"it is not the spec whose digest {DONE} holds"
    return Finding(claim=_BYTES, standing="wrong", place=place, by=why, checked=1) if why else None


def _foreign_line(content: bytes, spec: Spec) -> int | None:
    """Return the first line that a run would not write: an older one may have written fewer."""
    written = iter(to_toml(spec).encode().split(b"\n"))
    for number, line in enumerate(content.split(b"\n"), 1):
        if not any(line == ours for ours in written):
            return number
    return None


def check_digests(folder: Path, spec: Spec, environment: Environment, done: Done) -> Finding:
    """Hold every result against its digest and size in DONE; none is missing, none is extra."""
    odd = next(chain(_odd_files(folder, done), _odd_list(folder, spec, environment, done)), None)
    if odd is not None:
        return Finding(claim=_BYTES, standing="wrong", place=odd[0], by=odd[1], checked=1)
    total = sum(file.bytes for file in done.files.values())
    return Finding(
        claim=_BYTES,
        standing="proved",
        by=f"sha256 of {len(done.files)} files, {total:,} bytes, and of the spec",
        checked=len(done.files),
        numbers={"files": len(done.files), "bytes": total},
    )


def _odd_files(folder: Path, done: Done) -> Iterator[tuple[str, str]]:
    """Yield the results that are not what DONE says of them, and why."""
    for name, wanted in done.files.items():
        if name not in RESULTS:
            yield DONE, f"it lists {name!r}, which is no result"
            continue
        found = file_digest(folder / name, wanted.bytes)
        if found is None:
            yield name, "it is missing"
        elif found != (wanted.sha256, wanted.bytes):
            yield name, f"its {found[1]} bytes are not the {wanted.bytes} whose digest {DONE} holds"


def _odd_list(
    folder: Path, spec: Spec, environment: Environment, done: Done
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the list of results in DONE."""
    if done.format != FORMAT or environment.format != FORMAT:
        yield DONE, f"it is of format {done.format}, the folder of {environment.format}"
    always = {PARTITION, EVALUATIONS, CLIENTS, SUMMARY}
    always |= set() if spec.baseline == "alone" else {ROUNDS, MODEL}
    for name in RESULTS:
        if name not in done.files and name in always:
            yield DONE, f"it holds no digest of {name}"
        elif name not in done.files and is_there(folder / name):
            yield name, f"{DONE} knows nothing of it"


def no_digests(*, finished: bool) -> Finding:
    """Say why no file is held against a digest."""
    why = "format 1 kept no digests" if finished else f"{DONE} comes at the end of a run"
    return Finding(claim=_BYTES, standing="not checkable", by=why)


def check_chain(
    name: str,
    rows: Sequence[RoundRow] | Sequence[EvaluationRow],
    wrong: tuple[int, str] | None,
    expected: Sequence[int],
) -> Finding | None:
    """Return what is wrong with the lines of a record: one is changed, or missing.

    Args:
        name: The file.
        rows: Its lines.
        wrong: The first that is not what was written there, and why.
        expected: The rounds that its lines are about.
    """
    if wrong is None:
        pairs = enumerate(zip_longest((row.round_num for row in rows), expected), 1)
        odd = next((number for number, (one, other) in pairs if one != other), None)
        if odd is None:
            return None
        wrong = odd, "the line of its round is missing, or there is one too many"
    return Finding(
        claim=_CHAIN,
        standing="wrong",
        place=f"{name}, line {wrong[0]}",
        by=wrong[1],
        checked=len(rows),
    )


def chain_proved(
    rounds: Sequence[RoundRow], evaluations: Sequence[EvaluationRow], *, finished: bool
) -> Finding:
    """Say by what records are proved to be in order, in which nothing is wrong."""
    counts = [len(part) for part in (rounds, evaluations)]
    chained = sum(row.previous is not None for part in (rounds, evaluations) for row in part)
    if not chained:
        return Finding(claim=_CHAIN, standing="not checkable", by="format 1 wrote no digests")
    by = f"{counts[0]:,} + {counts[1]:,} lines, each with the sha256 of all before"
    if chained < sum(counts):
        by = f"{chained} of {sum(counts)} lines, before which format 1 wrote no digests"
    elif not finished:
        by = f"{counts[0]:,} + {counts[1]:,} lines, all but the last of each by the next"
    return Finding(claim=_CHAIN, standing="proved", by=by, checked=chained)


def check_gram_places(places: Sequence[tuple[int, GramPlace]], size: int) -> Finding | None:
    """Return what is wrong with where the matrices lie: one behind the other, to the end.

    Args:
        places: Where each lies, with the line that says so.
        size: Of the file; -1 where it may go on.
    """
    end = 0
    for line, place in places:
        if place.offset != end:
            return Finding(
                claim=_CHAIN,
                standing="wrong",
                place=f"{ROUNDS}, line {line}",
                by=f"its matrix lies at byte {place.offset}, not {end}",
            )
        end += gram_size(place)
    if size not in {-1, end}:
        why = f"it has {size} bytes, and its matrices {end}"
        return Finding(claim=_CHAIN, standing="wrong", place=GRAM, by=why)
    return None
