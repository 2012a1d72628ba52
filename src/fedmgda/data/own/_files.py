"""The user's own files: a table, an archive of arrays, or a folder with one file per client."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._paths import is_folder, paths_in
from fedmgda.data.own._columns import RawTable, read_columns
from fedmgda.data.own._npz import join_npz, load_npz
from fedmgda.data.own._table import TableSettings, make_table
from fedmgda.data.own._values import texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.data._dataset import Settings
    from fedmgda.data._federated import Examples
    from fedmgda.data.own._columns import RawColumn
    from fedmgda.data.own._encoding import Table
    from fedmgda.data.own._table import LearningTask

__all__ = [
    "FILE_COLUMN",
    "TABLES",
    "load_folder",
    "load_own",
    "read_own",
    "read_raw",
    "table_files",
]

TABLES = (".csv", ".tsv", ".parquet", ".pq")
FILE_COLUMN = "file name"


def load_own(
    path: Path | str,
    *,
    target: str | None = None,
    client: str | None = None,
    features: Sequence[str] | None = None,
    task: LearningTask | None = None,
) -> Table | Examples:
    """Read the user's data, whatever it is: a table, an npz file, or a folder of either.

    The columns are those of `load_table`; an npz file has none, and takes `task` alone.
    """
    columns = {"target": target, "client": client, "features": features}
    return read_own(Path(path), {**columns, "task": task})


def read_own(path: Path, settings: Settings) -> Table | Examples:
    """Read the user's data with the keys that a spec gives."""
    target, client = settings.get("target"), settings.get("client")
    if is_folder(path):
        if client is not None:
            raise SpecError(
                f"data.client = {client!r} does not apply to the folder {path.name}, where each "
                "file is a client."
            )
        return _read_folder(path, settings)
    if path.suffix.lower() == ".npz":
        _check_no_columns(settings)
        return load_npz(path, task=settings.get("task"))
    if target is None:
        raise SpecError(f"data.target must name the column of {path.name} to predict.")
    return make_table(read_columns(path), _table_settings(settings))


def _table_settings(settings: Settings) -> TableSettings:
    names = {f.name for f in fields(TableSettings)}
    given = {k: v for k, v in settings.items() if k in names and v is not None}
    return TableSettings(**given)


def _check_no_columns(settings: Settings) -> None:
    for key in ("target", "client", "features", "ignore"):
        if settings.get(key) is not None:
            raise SpecError(
                f"data.{key} does not apply to an npz file; its keys are features, targets and "
                "client."
            )


def load_folder(
    path: Path | str,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    task: LearningTask | None = None,
) -> Table | Examples:
    """Read a folder with one CSV, Parquet or npz file per client; file names are client names.

    Tables must have the same columns; the options are those of `load_table`.
    """
    return _read_folder(Path(path), {"target": target, "features": features, "task": task})


def _read_folder(path: Path, settings: Settings) -> Table | Examples:
    files, suffix = _one_kind(path)
    if suffix == ".npz":
        _check_no_columns(settings)
        return join_npz(path, files, settings.get("task"))
    if settings.get("target") is None:
        raise SpecError(f"data.target must name the column of the tables in {path.name}.")
    return make_table(
        _join_tables(path, files), _table_settings({**settings, "client": FILE_COLUMN})
    )


def read_raw(path: Path | str) -> RawTable:
    """Return the columns of a table, or of a folder of tables below one another.

    In a folder each file is a client: its name stands in one more column, the last.

    Raises:
        DataError: If there is no table, or it cannot be read.
    """
    path = Path(path)
    if not is_folder(path):
        return read_columns(path)
    return _join_tables(path, table_files(path))


def table_files(path: Path) -> list[Path]:
    """Return the tables of a folder, one for each client.

    Raises:
        DataError: If it holds something else.
    """
    files, suffix = _one_kind(path)
    if suffix == ".npz":
        raise DataError(f"The folder {path} holds arrays (.npz), which have no columns.")
    return files


def _one_kind(path: Path) -> tuple[list[Path], str]:
    """Return the files of a folder, one for each client, and the suffix they share."""
    if not is_folder(path):
        raise DataError(f"There is no folder {path}; check data.path.")
    files = _client_files(path)
    suffixes = sorted({file.suffix.lower() for file in files})
    if len(suffixes) != 1:
        raise DataError(
            f"The folder {path} must hold files of one kind, .csv, .parquet or .npz, one for each "
            f"client; it has {' and '.join(suffixes) or 'none'}."
        )
    return files, suffixes[0]


def _client_files(path: Path) -> list[Path]:
    """Return the data files; hidden ones are notes of an operating system, as macOS' ._a.csv."""
    files = [
        file
        for file in paths_in(path)
        if file.suffix.lower() in (*TABLES, ".npz") and not file.name.startswith(".")
    ]
    known: dict[str, Path] = {}
    for file in files:
        other = known.setdefault(file.with_suffix(file.suffix.lower()).name, file)
        if other is not file:
            raise DataError(
                f"{other.name} and {file.name} in {path.name} are the same client, {file.stem!r}; "
                "rename one of them."
            )
    return files


def _join_tables(path: Path, files: list[Path]) -> RawTable:
    """Put the tables below one another, with one more column: the name of the file."""
    tables = [read_columns(file) for file in files]
    names = list(tables[0].columns)
    for table in tables:
        if different := sorted(set(names) ^ set(table.columns)):
            raise DataError(
                f"{tables[0].name} and {table.name} must have the same columns; only one of them "
                f"has {different[0]!r}."
            )
    if FILE_COLUMN in names:
        raise DataError(
            f"{tables[0].name} has a column {FILE_COLUMN!r}, which is kept for the clients."
        )
    lengths = [len(table.rows) for table in tables]
    columns = {name: _stacked([table.columns[name] for table in tables]) for name in names}
    columns[FILE_COLUMN] = np.repeat([file.stem for file in files], lengths).tolist()
    return RawTable(
        name=path.name,
        columns=columns,
        rows=np.concatenate([table.rows for table in tables]),
        files=np.repeat([table.name for table in tables], lengths),
    )


def _stacked(columns: list[RawColumn]) -> RawColumn:
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return [text for column in columns for text in texts_of(column)]
