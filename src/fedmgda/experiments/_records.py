"""The records of a run: one JSON object per line, only ever appended, cut back on a resume."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, final

from fedmgda._errors import StoreError
from fedmgda._files import AppendedFile, read_lines, start_digest, truncate_file
from fedmgda._json import decode, encode, read_json
from fedmgda.experiments._gram import gram_place, gram_size
from fedmgda.experiments._rows import EvaluationRow, RoundRow, TimingRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fedmgda.experiments._rows import GramPlace

__all__ = [
    "EVALUATIONS", "GRAM", "ROUNDS", "TIMINGS", "Records", "gram_places", "read_rows",
    "read_timings", "survey_rows",
]  # fmt: skip

R = TypeVar("R", RoundRow, EvaluationRow)

ROUNDS, EVALUATIONS, TIMINGS = "rounds.jsonl", "evaluations.jsonl", "timings.jsonl"
GRAM = "gram.bin"
_LONGEST = 1 << 28  # bytes of a line: a round of a million clients
_NOT_BEHIND = "the bytes before it are not those it was written after"


@final
class Records:
    """Everything that a run writes line by line; `rewind` comes before the first `append`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        names = (ROUNDS, EVALUATIONS, TIMINGS, GRAM)
        self._files = {name: AppendedFile(folder / name) for name in names}
        self._chains = {name: _Chain() for name in (ROUNDS, EVALUATIONS)}
        self._gram_end, self._gram_digest = 0, hashlib.sha256()

    def append_round(
        self,
        row: RoundRow,
        gram: tuple[bytes, int] | None,
        cone: tuple[bytes, int] | None = None,
    ) -> RoundRow:
        """Add the line of a round, after the matrices it speaks of; return it as it was written.

        Args:
            row: The round.
            gram: What is kept of its Gram matrix and how many columns that has.
            cone: Likewise of the matrix of the unit gradients, where the round is protected.
        """
        if gram is not None:
            row = replace(row, gram=self._append_gram(*gram))
        if cone is not None and row.protection is not None:
            row = replace(row, protection=replace(row.protection, gram=self._append_gram(*cone)))
        return self._append_chained(ROUNDS, row)

    def _append_gram(self, content: bytes, columns: int) -> GramPlace:
        place = gram_place(content, columns, offset=self._gram_end)
        self._files[GRAM].append(content)
        self._gram_end += len(content)
        self._gram_digest.update(content)
        return place

    def append_evaluation(self, row: EvaluationRow) -> EvaluationRow:
        """Add the line of an evaluation; return it as it was written."""
        return self._append_chained(EVALUATIONS, row)

    def append_timing(self, row: TimingRow) -> None:
        """Add the line of a round's seconds."""
        self._files[TIMINGS].append(_line({"round": row.round_num, **row.seconds}) + b"\n")

    def sync(self) -> None:
        """Wait until the records are on the disk: a checkpoint must never be ahead of them."""
        for name in (GRAM, ROUNDS, EVALUATIONS):
            self._files[name].sync()

    def digests(self) -> dict[str, str]:
        """Return the sha256 of what has been written, by file."""
        chains = {name: chain.digest.hexdigest() for name, chain in self._chains.items()}
        return chains | {GRAM: self._gram_digest.hexdigest()}

    def rewind(
        self,
        round_num: int,
        evaluated: Sequence[int],
        digests: Mapping[str, str] | None = None,
    ) -> None:
        """Cut the records back to what was known after a round.

        Args:
            round_num: The round; 0 is before the first, -1 before the first evaluation.
            evaluated: The rounds up to it that must have been evaluated.
            digests: What `digests` returned after that round, as far as it is known.

        Raises:
            StoreError: If something before the cut is missing or damaged; nothing is cut then.
        """
        self.close()
        rounds = self._read(ROUNDS, RoundRow, round_num, list(range(1, round_num + 1)))
        self._read(EVALUATIONS, EvaluationRow, round_num, list(evaluated))
        ends = [place.offset + gram_size(place) for place in gram_places(rounds)]
        self._gram_end = max(ends, default=0)
        self._gram_digest = start_digest(self._folder / GRAM, self._gram_end)
        for name, digest in self.digests().items():
            if (digests or {}).get(name, digest) != digest:
                raise _not_left(self._folder / name, round_num)
        for name, chain in self._chains.items():
            truncate_file(self._folder / name, chain.size)
        truncate_file(self._folder / GRAM, self._gram_end)
        # No result depends on a timing, so a damaged one just goes, with all behind it.
        known = 0
        for line in read_lines(self._folder / TIMINGS, _LONGEST):
            if not _is_timing(line, round_num):
                break
            known += len(line) + 1
        truncate_file(self._folder / TIMINGS, known)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()

    def _append_chained(self, name: str, row: R) -> R:
        row = replace(row, previous=self._chains[name].digest.hexdigest())
        line = _line(encode(row))
        self._files[name].append(line + b"\n")
        self._chains[name].add(line)
        return row

    def _read(self, name: str, kind: type[R], round_num: int, wanted: list[int]) -> list[R]:
        """Read a record up to a round, and take up its chain there."""
        path, chain, kept = self._folder / name, _Chain(), list[R]()
        for line in read_lines(path, _LONGEST):
            # What a crash left behind the cut may be torn in any way; it goes with the rest.
            with suppress(ValueError):
                row = chain.read(kind, line)
                if row.round_num <= round_num:
                    kept.append(row)
                    chain.add(line)
                    continue
            break
        if [row.round_num for row in kept] != wanted:
            raise _not_left(path, round_num)
        self._chains[name] = chain
        return kept


def _not_left(path: Path, round_num: int) -> StoreError:
    return StoreError(
        f"{path} is not what a run leaves after round {round_num}; the folder was damaged by "
        "something else. Delete it and run again."
    )


class _Chain:
    """The lines of a record so far, each of which knows the digest of those before it."""

    def __init__(self) -> None:
        self.digest, self.size, self._begun = hashlib.sha256(), 0, False

    def read(self, kind: type[R], line: bytes) -> R:
        """Parse the next line, or say by a ValueError why it cannot be the next one."""
        row = decode(kind, read_json(line))
        if not self.leads_to(row):
            raise ValueError(_NOT_BEHIND)
        return row

    def leads_to(self, row: RoundRow | EvaluationRow) -> bool:
        """Tell whether a line can have been written after the lines so far."""
        self._begun = self._begun or row.previous is not None  # those of format 1 know nothing
        return not self._begun or row.previous == self.digest.hexdigest()

    def add(self, line: bytes) -> None:
        self.digest.update(line + b"\n")
        self.size += len(line) + 1


def gram_places(rounds: Iterable[RoundRow]) -> Iterator[GramPlace]:
    """Yield where the matrices of rounds lie, in the order in which they were written."""
    for row in rounds:
        for place in (row.gram, row.protection and row.protection.gram):
            if place is not None:
                yield place


def read_rows(path: Path, kind: type[R]) -> tuple[list[R], tuple[str, int]]:
    """Return the lines of a chained record, and the digest and size of their bytes.

    A torn last line is left out: its run is still writing, or was killed while it did.

    Raises:
        StoreError: If a line is damaged, or is not the one that was written there.
    """
    rows, chain = list[R](), _Chain()
    for number, line in enumerate(read_lines(path, _LONGEST), 1):
        try:
            rows.append(chain.read(kind, line))
        except ValueError as error:
            raise StoreError(
                f"{path} is damaged in line {number} ({error}); restore it, or delete the folder "
                "and run again."
            ) from error
        chain.add(line)
    return rows, (chain.digest.hexdigest(), chain.size)


def survey_rows(path: Path, kind: type[R], most: int) -> tuple[list[R], tuple[int, str] | None]:
    """Return the lines of a chained record as far as they can be read, whatever is wrong with them.

    Args:
        path: The file.
        kind: What a line is.
        most: How many lines it may have; of more, one is read and no other.

    Returns:
        The lines, up to the first that is none; and the number of the first that is not what was
        written there, with the reason (one short clause), or None.

    Raises:
        StoreError: If the file cannot be read at all.
    """
    rows, chain, wrong = list[R](), _Chain(), None
    for number, line in enumerate(islice(read_lines(path, _LONGEST), most + 1), 1):
        try:
            rows.append(decode(kind, read_json(line)))
        except ValueError as error:
            return rows, wrong or (number, str(error))
        if wrong is None and not chain.leads_to(rows[-1]):
            wrong = (number, _NOT_BEHIND)
        chain.add(line)
    return rows, wrong


def read_timings(path: Path) -> Iterator[TimingRow]:
    """Yield the seconds of the rounds; a line that is damaged is passed over."""
    for line in read_lines(path, _LONGEST):
        try:
            yield _timing(line)
        except ValueError:
            continue


def _is_timing(line: bytes, latest: int) -> bool:
    try:
        return _timing(line).round_num <= latest
    except ValueError:
        return False


def _timing(line: bytes) -> TimingRow:
    table = read_json(line)
    if not isinstance(table, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 (a value, not a type)
    seconds = {key: value for key, value in table.items() if key != "round"}
    return decode(TimingRow, {"round_num": table.get("round"), "seconds": seconds})


def _line(table: dict[str, Any]) -> bytes:
    return json.dumps(table, separators=(",", ":")).encode()
