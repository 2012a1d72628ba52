"""`fedmgda predict`: what a trained model says of new rows."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path  # noqa: TC003 (read at run time)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedmgda._errors import DataError, SpecError, StoreError
from fedmgda._files import is_there, read_part, write_file
from fedmgda._paths import is_folder, kind_of
from fedmgda._text import counted, listed, told_apart
from fedmgda.cli._console import escape, note, out, say
from fedmgda.cli._options import NoCode  # noqa: TC001 (read at run time)
from fedmgda.cli._places import check_place
from fedmgda.data import read_raw, texts_of
from fedmgda.experiments import open_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fedmgda.data import RawColumn, RawTable
    from fedmgda.experiments import Scores

__all__ = ["predict"]

_HEAD = 1 << 20  # bytes in which the names of all columns stand


def predict(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="RUN")],
    table: Annotated[
        Path, typer.Argument(help="New rows: csv, parquet, or a folder.", metavar="NEW.CSV")
    ],
    scored: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write them, a csv file; else to the terminal."),
    ] = None,
    no_code: NoCode = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")] = False,
) -> None:
    """Use a trained model: new rows in, their classes or values beside them out."""
    if scored is not None:
        _check_place(scored, table)
    opened = open_run(run)
    model = opened.model(allow_code=not no_code)
    if model.encoder is None or model.encoder.columns is None:
        raise DataError(
            f"{run} has no encoder of columns, because it was trained on arrays or by an earlier "
            "version; use fedmgda.open_run(RUN).model().predict(features) in Python."
        )
    if kind_of(table) is None:
        raise DataError(f"There is no table {table}; check its name.")
    raw = read_raw(table)
    scores = model.score(raw)
    verdict = opened.verdict
    doubts = () if verdict.good else (f"The verdict on {run}: {verdict.headline}",)
    scores = replace(scores, notes=(*scores.notes, *doubts))
    note(scores.notes)
    if scored is not None:
        write_file(scored, _csv(raw, scores).encode())
    if as_json:
        found = _as_json(scores, rows=scored is None)
        typer.echo(json.dumps(found if scored is None else {**found, "out": str(scored)}, indent=2))
    elif scored is None:
        typer.echo(_csv(raw, scores), nl=False, color=True)  # or escapes in cells would be lost
    else:
        target = model.encoder.target
        say(out, escape(f"{_in_short(scores, target)} Written to {scored}"))


def _check_place(scored: Path, table: Path) -> None:
    check_place(scored, "--out", suffix=".csv")
    # Of a folder every file is a client, and a new one would be too.
    among = _are_same(scored.parent, table) and is_folder(table)
    if among or _are_same(scored, table):
        holds = "lies among" if among else "holds"
        raise SpecError(f"{scored} {holds} the rows themselves; choose another place for --out.")
    if is_there(scored) and not _holds_predictions(scored):
        raise SpecError(
            f"{scored} exists and holds no predictions; choose another place for --out, or delete "
            "it first."
        )


def _are_same(one: Path, other: Path) -> bool:
    return is_there(one) and kind_of(other) is not None and one.samefile(other)


def _holds_predictions(path: Path) -> bool:
    """Tell whether a file is a table that was written here: by the last of its columns."""
    try:
        head = read_part(path, 0, _HEAD).split(b"\n")[0].decode("utf-8", "replace")
    except StoreError:
        return False
    names = next(csv.reader([head]), [])
    while names and names[-1].startswith("probability:"):
        names.pop()
    return bool(names) and names[-1].partition(" ")[0] == "prediction"


def _csv(raw: RawTable, scores: Scores) -> str:
    """Return the rows as they came, with what the model says in further columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*raw.columns, *_new_names(raw.columns, scores)])
    columns = [_cells(column) for column in raw.columns.values()]
    for given, said in zip(zip(*columns, strict=True), _answers(scores), strict=True):
        writer.writerow([*given, *said])
    return text.getvalue()


def _cells(column: RawColumn) -> list[str]:
    """Return what stands in a column; a number that is missing is an empty cell."""
    typed = not isinstance(column, list)
    return ["" if typed and text == "nan" else text for text in texts_of(column)]


def _answers(scores: Scores) -> Iterator[list[Any]]:
    """Yield for each row its prediction and the probabilities of the classes."""
    shares = [] if scores.probabilities is None else scores.probabilities.tolist()
    for row, prediction in enumerate(scores.predictions.tolist()):
        yield [prediction, *(shares[row] if shares else ())]


def _new_names(taken: Collection[str], scores: Scores) -> list[str]:
    """Return the names of the further columns; one that is taken gets a number."""
    wanted = ["prediction", *(f"probability:{name}" for name in scores.class_names or ())]
    return told_apart(wanted, taken)


def _as_json(scores: Scores, *, rows: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "num_rows": len(scores.predictions),
        "classes": scores.class_names,
        "notes": scores.notes,
    }
    if rows:
        found["predictions"] = scores.predictions.tolist()
        shares = scores.probabilities
        found["probabilities"] = None if shares is None else shares.tolist()
    return found


def _in_short(scores: Scores, target: str | None) -> str:
    values = scores.predictions
    rows = counted(len(values), "row")
    if scores.class_names is None:
        low, high = float(values.min()), float(values.max())
        return f"{rows}: {target!r} from {low:.6g} to {high:.6g}."
    counts = Counter(values.tolist()).most_common()
    shares = listed([f"{name} in {count}" for name, count in counts])
    return f"{rows}: {target!r} is {shares}."
