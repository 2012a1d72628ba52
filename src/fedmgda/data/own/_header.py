"""The names of a table's columns, without its rows."""

from __future__ import annotations

import csv
from pathlib import Path

from fedmgda._errors import DataError
from fedmgda._paths import is_folder, kind_of
from fedmgda.data.own._columns import check_header, read_columns
from fedmgda.data.own._files import table_files

__all__ = ["read_headers"]

_LONGEST = 1 << 20  # characters of a header


def read_headers(path: Path | str) -> dict[Path, list[str]]:
    """Return the names of the columns of a table, or of every table in a folder.

    Only the first line of a CSV table is read, so that this is quick for a large one too.

    Raises:
        DataError: If there is no table, or its header cannot be used.
    """
    path = Path(path)
    files = table_files(path) if is_folder(path) else [path]
    return {file: _header(file) for file in files}


def _header(path: Path) -> list[str]:
    if (kind := kind_of(path)) is None:
        raise DataError(f"{path} is not there; check the path.")
    if path.suffix.lower() not in {".csv", ".tsv", ".txt"} or kind != "file":
        return list(read_columns(path).columns)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            while (line := file.readline(_LONGEST)) and not line.strip():
                pass
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error.reason}); save it as UTF-8.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    separator = max(",;\t", key=line.count)
    names = [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
    if not names:
        raise DataError(f"{path} is empty: it needs a header and at least one row.")
    check_header(path.name, names)
    return names
