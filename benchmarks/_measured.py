"""Small records of what was measured, from which the pages in docs are held to their numbers."""

from __future__ import annotations

import csv
import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmgda.experiments._environment import environment

if TYPE_CHECKING:
    from collections.abc import Iterable

CHANCE = Path(__file__).resolve().parents[1] / "results" / "chance"


@dataclass(frozen=True)
class Measured:
    """One number.

    Attributes:
        study: What was asked.
        case: For which setting, as in "rows=10".
        measure: What the number is.
        value: The number.
        repeats: How many simulated cases, runs or clients it is over.
    """

    study: str
    case: str
    measure: str
    value: float
    repeats: int


def write_measured(name: str, rows: Iterable[Measured], seed: int, **facts: Any) -> None:
    """Write numbers as `results/chance/<name>.csv`, and the environment beside them."""
    CHANCE.mkdir(parents=True, exist_ok=True)
    columns = [field.name for field in dataclasses.fields(Measured)]
    with (CHANCE / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([row.study, row.case, row.measure, f"{row.value:.6g}", row.repeats])
    known = dataclasses.asdict(environment(seed)) | facts
    found = {key: value for key, value in known.items() if value is not None and key != "format"}
    text = json.dumps(found, indent=2) + "\n"
    (CHANCE / f"{name}-environment.json").write_text(text, encoding="utf-8")


def read_measured(name: str) -> dict[tuple[str, str, str], Measured]:
    """Return the numbers of a file by study, case and measure."""
    with (CHANCE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            Measured(**row | {"value": float(row["value"]), "repeats": int(row["repeats"])})
            for row in csv.DictReader(file)
        ]
    return {(row.study, row.case, row.measure): row for row in rows}
