"""The user's own files: a table, an archive of arrays, or a folder with one file per client."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda.data._dataset import Dataset
from fedmgda.data.own._columns import RawTable, read_columns
from fedmgda.data.own._npz import join_npz, load_npz
from fedmgda.data.own._table import load_table, make_table
from fedmgda.data.own._values import texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.data._dataset import Settings
    from fedmgda.data._federated import Examples
    from fedmgda.data.own._columns import RawColumn
    from fedmgda.data.own._encoding import Table
    from fedmgda.data.own._table import LearningTask

__all__ = ["TABLE", "load_folder", "load_own"]

_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_FILE = "file name"


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
    path = Path(path)
    if path.is_dir():
        if client is not None:
            raise SpecError(
                f"data.client = {client!r} does not apply to the folder {path.name}, where each "
                "file is a client."
            )
        return load_folder(path, target=target, features=features, task=task)
    if path.suffix.lower() == ".npz":
        _check_no_columns(target=target, client=client, features=features)
        return load_npz(path, task=task)
    if target is None:
        raise SpecError(f"data.target must name the column of {path.name} to predict.")
    return load_table(path, target=target, client=client, features=features, task=task)


def _check_no_columns(**columns: str | Sequence[str] | None) -> None:
    for key, value in columns.items():
        if value is not None:
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
    path = Path(path)
    if not path.is_dir():
        raise DataError(f"There is no folder {path}; check data.path.")
    files = _client_files(path)
    suffixes = sorted({file.suffix.lower() for file in files})
    if len(suffixes) != 1:
        raise DataError(
            f"The folder {path} must hold files of one kind, .csv, .parquet or .npz, one for each "
            f"client; it has {' and '.join(suffixes) or 'none'}."
        )
    if suffixes == [".npz"]:
        _check_no_columns(target=target, features=features)
        return join_npz(path, files, task)
    if target is None:
        raise SpecError(f"data.target must name the column of the tables in {path.name}.")
    raw = _join_tables(path, files)
    return make_table(raw, target=target, client=_FILE, features=features, task=task)


def _client_files(path: Path) -> list[Path]:
    """Return the data files; hidden ones are notes of an operating system, as macOS' ._a.csv."""
    files = sorted(
        file
        for file in path.iterdir()
        if file.suffix.lower() in (*_TABLES, ".npz") and not file.name.startswith(".")
    )
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
    if _FILE in names:
        raise DataError(f"{tables[0].name} has a column {_FILE!r}, which is kept for the clients.")
    lengths = [len(table.rows) for table in tables]
    columns = {name: _stacked([table.columns[name] for table in tables]) for name in names}
    columns[_FILE] = np.repeat([file.stem for file in files], lengths).tolist()
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


def _load(settings: Settings, seed: int) -> Table | Examples:
    del seed  # the rows are what they are
    columns = {key: settings.get(key) for key in ("target", "client", "features", "task")}
    return load_own(settings["path"], **columns)


def _is_table_file(settings: Settings) -> bool:
    """Tell a table, whose target and clients are columns, from an npz file or a folder."""
    return Path(settings.get("path") or "").suffix.lower() in {*_TABLES, ".txt"}


def _default_partition(settings: Settings) -> str:
    return "iid" if _is_table_file(settings) and "client" not in settings else "natural"


def _check(settings: Settings) -> None:
    if "path" not in settings:
        raise SpecError("data.path is needed for a table; name the file.")
    if _is_table_file(settings):
        if "target" not in settings:
            raise SpecError("data.target is needed for a table; name the column to predict.")
        if settings["partition"] == "natural" and "client" not in settings:
            raise SpecError("data.partition = 'natural' needs data.client, the clients' column.")


TABLE = Dataset(
    name="table",
    title="a table, arrays or a folder of your own",
    federation="by its column of clients, by its files, or dealt by a partition",
    licence="yours",
    load=_load,
    model="logistic",
    clients="either",
    options=("path", "client", "target", "features", "task"),
    released={"local_split": "tail"},
    # About ten updates mostly have a common direction; a hundred mostly have none.
    most_per_round=10,
    batch_size=32,
    client_lr="auto",
    # Updates of small models are short, and a step of length 1 leaps over what they point at.
    schedule="median-norm",
    default_partition=_default_partition,
    check=_check,
)
