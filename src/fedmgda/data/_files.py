"""The user's own arrays (npz), and folders with one file per client."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda.data._columns import RawTable, read_columns
from fedmgda.data._examples import Examples
from fedmgda.data._federated import Pixels
from fedmgda.data._tables import load_table, make_table
from fedmgda.data._values import texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda.data._columns import RawColumn
    from fedmgda.data._table import Table
    from fedmgda.data._tables import Task

__all__ = ["load_folder", "load_npz", "load_own"]

_MAX_BYTES = 2**33
_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_FILE = "file name"


def load_own(
    path: Path | str,
    *,
    target: str | None = None,
    client: str | None = None,
    features: Sequence[str] | None = None,
    task: Task | None = None,
) -> Table | Examples:
    """Read the user's data, whatever it is: a table, an npz file, or a folder of either.

    The columns are those of `load_table`; an npz file has none.
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
        return load_npz(path)
    if target is None:
        raise SpecError(f"data.target must name the column of {path.name} to predict.")
    return load_table(path, target=target, client=client, features=features, task=task)


def load_npz(path: Path | str) -> Examples:
    """Read an npz file with arrays `features`, `targets` and, if examples have owners, `client`.

    Features are numbers of shape `(n, ...)` and are taken as they are; bytes (uint8) of shape
    `(n, height, width)` or more are images, and become numbers in [0, 1]. Whole-number or text
    targets are classes, in their own order; floating-point targets are regressed on.

    Raises:
        DataError: If the file is missing or damaged, holds pickled objects or more than 8 GiB, or
            its arrays do not fit together.
    """
    path = Path(path)
    arrays = _read_npz(path)
    return _examples(path.name, arrays["features"], arrays["targets"], arrays.get("client"))


def load_folder(
    path: Path | str,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    task: Task | None = None,
) -> Table | Examples:
    """Read a folder with one CSV, Parquet or npz file per client; file names are client names.

    Tables must have the same columns; the options are those of `load_table`.
    """
    path = Path(path)
    if not path.is_dir():
        raise DataError(f"There is no folder {path}; check data.path.")
    files = sorted(f for f in path.iterdir() if f.suffix.lower() in (*_TABLES, ".npz"))
    suffixes = sorted({file.suffix.lower() for file in files})
    if len(suffixes) != 1:
        raise DataError(
            f"The folder {path} must hold files of one kind, .csv, .parquet or .npz, one for each "
            f"client; it has {' and '.join(suffixes) or 'none'}."
        )
    if suffixes == [".npz"]:
        return _join_npz(path, files)
    if target is None:
        raise SpecError(f"data.target must name the column of the tables in {path.name}.")
    raw = _join_tables(path, files)
    return make_table(raw, target=target, client=_FILE, features=features, task=task)


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


def _join_npz(path: Path, files: list[Path]) -> Examples:
    arrays = [_read_npz(file) for file in files]
    shape = arrays[0]["features"].shape[1:]
    for file, content in zip(files, arrays, strict=True):
        if content["features"].shape[1:] != shape:
            raise DataError(
                f"The features of {file.name} have the shape {content['features'].shape[1:]} per "
                f"example, those of {files[0].name} {shape}."
            )
    owners = np.repeat([file.stem for file in files], [len(a["targets"]) for a in arrays])
    features = np.concatenate([content["features"] for content in arrays])
    targets = np.concatenate([content["targets"] for content in arrays])
    return _examples(path.name, features, targets, owners)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MAX_BYTES:
            raise DataError(f"{path.name} unpacks to {size} bytes, more than {_MAX_BYTES}.")
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except FileNotFoundError as error:
        raise DataError(f"There is no file {path}; check data.path.") from error
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        raise DataError(
            f"{path.name} is not an npz file of plain arrays: {str(error).rstrip('.')}."
        ) from error
    for key in ("features", "targets"):
        if key not in arrays:
            raise DataError(f"{path.name} has no array {key!r}; it has {', '.join(arrays)}.")
    for key in ("targets", "client"):
        if key in arrays and arrays[key].shape != arrays["features"].shape[:1]:
            raise DataError(
                f"{key!r} of {path.name} has the shape {arrays[key].shape}; it must have one value "
                f"for each of the {len(np.atleast_1d(arrays['features']))} examples."
            )
    return arrays


def _examples(
    name: str, features: NDArray[Any], targets: NDArray[Any], client: NDArray[Any] | None
) -> Examples:
    if features.dtype.kind not in "fiub" or features.ndim < 2 or len(features) == 0:
        raise DataError(
            f"'features' of {name} must be numbers of shape (n, ...), got {features.dtype} of "
            f"shape {features.shape}."
        )
    for key, array in (("features", features), ("targets", targets)):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(axis=1))[0])
            raise DataError(f"{key!r} of {name} is not finite in example {row}; remove it.")
    num_classes = None
    if targets.dtype.kind == "f":
        targets = targets.astype(np.float32)
    else:
        classes, targets = np.unique(targets, return_inverse=True)
        num_classes = len(classes)
        if num_classes == 1:
            raise DataError(f"Every target of {name} is {classes[0]}; there is nothing to learn.")
    owners, groups = (None, None) if client is None else np.unique(client, return_inverse=True)
    images = features.dtype == np.uint8 and features.ndim > 2
    return Examples(
        name=name,
        features=features if images else features.astype(np.float32),
        targets=targets,
        num_classes=num_classes,
        pixels=Pixels(mean=0.0, std=1.0) if images else None,
        groups=groups,
        group_names=None if owners is None else tuple(str(owner) for owner in owners),
    )
