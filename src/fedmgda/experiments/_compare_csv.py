"""A comparison as a table: one line per client, the runs and the gains beside each other."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fedmgda.experiments._comparison import Comparison

__all__ = ["comparison_csv", "is_comparison_csv"]

_FIRST = ("client", "test_rows")  # the columns that every comparison begins with


def comparison_csv(found: Comparison) -> str:
    """Return every client of a comparison; what is not defined is an empty cell."""
    columns = list(_columns(found))
    text = io.StringIO()
    # Texts are quoted, so that no name can look like the end of a line.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    for place in range(len(found.clients)):
        cells = [values[place] for _, values in columns]
        writer.writerow(["" if cell is None or cell != cell else cell for cell in cells])  # noqa: PLR0124 (NaN)
    return text.getvalue()


def is_comparison_csv(path: Path) -> bool:
    """Tell whether a file is a table that `comparison_csv` made, by how it begins."""
    head = ",".join(f'"{name}"' for name in _FIRST).encode()
    try:
        with path.open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def _columns(found: Comparison) -> Iterator[tuple[str, list[Any]]]:
    """Yield name and values of every column."""
    yield from zip(_FIRST, (list(found.clients), list(found.rows)), strict=True)
    for run in found.runs:
        yield run.name, list(run.clients)
        yield f"{run.name} low", list(run.low)
        yield f"{run.name} high", list(run.high)
    for other in found.against:
        head = f"gain over {other.name}"
        yield head, [client.gain for client in other.clients]
        yield f"{head} low", [client.low for client in other.clients]
        yield f"{head} high", [client.high for client in other.clients]
        yield f"{head} p_worse", [client.p_worse for client in other.clients]
        yield f"{head} p_better", [client.p_better for client in other.clients]
        yield f"{head} beyond_chance", [client.beyond_chance for client in other.clients]
        for place, seed in enumerate(other.seeds if len(other.seeds) > 1 else ()):
            yield f"{head} seed={seed}", [client.by_seed[place] for client in other.clients]
