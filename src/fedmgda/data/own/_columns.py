"""The columns of a CSV or Parquet table as they stand in the file, with the place of every row."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda._errors import DataError, MissingDependencyError
from fedmgda._paths import kind_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fedmgda._types import Indices

__all__ = ["RawColumn", "RawTable", "check_header", "read_columns"]

RawColumn: TypeAlias = "list[str] | NDArray[np.float64]"
"""Texts of a file without types, or of integers beyond float64; else numbers. NaN and "" miss."""

_MAX_BYTES = 2**31


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """Columns of equal length.

    Attributes:
        name: The name of the file, or of the folder, for messages.
        columns: The values of every column, by name, in the order of the file.
        rows: Of shape `(n,)`: where each row stands, as a spreadsheet counts (the header is row 1;
            a Parquet file has no header, and its first row is row 1).
        files: Of shape `(n,)`: the file of each row, where there are several.
    """

    name: str
    columns: dict[str, RawColumn]
    rows: NDArray[np.int64]
    files: NDArray[np.str_] | None = None

    def place(self, index: int) -> str:
        """Return where a row stands, for messages."""
        return f"row {self.rows[index]} of {self.name if self.files is None else self.files[index]}"

    def kept(self, rows: Indices) -> RawTable:
        """Return some rows of the table, which know where they stand in the whole."""
        columns = {
            name: column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows]
            for name, column in self.columns.items()
        }
        files = None if self.files is None else self.files[rows]
        return replace(self, columns=columns, rows=self.rows[rows], files=files)


def read_columns(path: Path) -> RawTable:
    """Read a table of at most 2 GiB; the suffix says whether it is CSV or Parquet.

    Raises:
        DataError: If the file is missing, too large, empty, ragged, not UTF-8, or its header has a
            name twice or none.
    """
    if kind_of(path) != "file":
        raise DataError(f"There is no table {path}; check data.path.")
    if path.stat().st_size > _MAX_BYTES:
        raise DataError(f"{path} has {path.stat().st_size} bytes, more than the {_MAX_BYTES} read.")
    try:
        match path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                return _read_csv(path)
            case ".parquet" | ".pq":
                return _read_parquet(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    raise DataError(f"{path} ends in {path.suffix!r}; a table is a .csv or a .parquet file.")


def _read_csv(path: Path) -> RawTable:
    records: list[tuple[int, list[str]]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = max(",;\t", key=file.readline().count)
            file.seek(0)
            records.extend(enumerate(csv.reader(file, delimiter=separator, strict=True), start=1))
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8."
        ) from error
    except csv.Error as error:
        raise DataError(
            f"{path.name} is not a CSV table: {error} in row {len(records) + 1}; check its quotes."
        ) from error
    records = [(row, values) for row, values in records if values]
    if len(records) < 2:
        raise DataError(f"{path.name} is empty: it needs a header and at least one row.")
    header = [name.strip() for name in records[0][1]]
    check_header(path.name, header)
    for row, values in records[1:]:
        if len(values) != len(header):
            raise DataError(
                f"Row {row} of {path.name} has {len(values)} values and the header has "
                f"{len(header)}; check its quotes and separators."
            )
    columns = zip(*(values for _, values in records[1:]), strict=True)
    return RawTable(
        name=path.name,
        columns={
            name: [value.strip() for value in column]
            for name, column in zip(header, columns, strict=True)
        },
        rows=np.array([row for row, _ in records[1:]], dtype=np.int64),
    )


def check_header(file: str, header: list[str]) -> None:
    """Refuse a column without a name, and two of one name.

    Raises:
        DataError: If there is one.
    """
    for place, name in enumerate(header, start=1):
        if not name:
            raise DataError(
                f"Column {place} of {file} has no name; name it, or write the file without it."
            )
        if header.index(name) != place - 1:
            raise DataError(f"{file} has two columns called {name!r}; rename one of them.")


def _read_parquet(path: Path) -> RawTable:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415 (optional)
    except ImportError as error:
        raise MissingDependencyError(
            f"Reading {path.name} needs pyarrow; install it with: pip install pyarrow."
        ) from error
    try:
        table = parquet.read_table(path)
        names = table.column_names
        if table.num_rows == 0:
            raise DataError(f"{path.name} is empty: it needs at least one row.")
        check_header(path.name, names)
        columns = {
            name: _parquet_column(path.name, name, column)
            for name, column in zip(names, table.columns, strict=True)
        }
    # A text that is no UTF-8 is found when it is asked for, be it a value or the name of a column.
    except (ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise DataError(f"{path.name} is not a Parquet table: {reason}.") from error
    return RawTable(name=path.name, columns=columns, rows=np.arange(1, table.num_rows + 1))


def _parquet_column(file: str, name: str, column: Any) -> RawColumn:
    from pyarrow import types  # noqa: PLC0415 (optional)

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind):
        # As texts: Python has no type for some of them, such as nanoseconds.
        return [value or "" for value in column.cast("string").to_pylist()]
    values = column.to_pylist()
    if any(is_kind(kind) for is_kind in (types.is_integer, types.is_floating, types.is_decimal)):
        if not types.is_floating(kind) and not all(map(_fits, values)):
            return ["" if v is None else str(int(v) if v == int(v) else v) for v in values]
        return np.array([np.nan if v is None else float(v) for v in values])
    if types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind):
        return ["" if value is None else str(value).strip() for value in values]
    raise DataError(
        f"Column {name!r} of {file} has the type {kind}; turn it into a number or a text, or leave "
        "it out of data.features."
    )


def _fits(value: Any) -> bool:
    """Say whether float64 keeps a value: it would merge the ids 2**53 and 2**53 + 1."""
    return value is None or value != int(value) or value == float(value)
