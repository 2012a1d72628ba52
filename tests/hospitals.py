"""Hospitals with files of their own, alike in columns and unlike in patients."""

from __future__ import annotations

import numpy as np

from fedmgda.experiments import Spec, parse, resolve
from tables import write_rows

HEAD = ["record", "age", "dose", "lab", "ward", "town", "note", "ill", "days"]
SITES = {"bergen": 150, "oslo": 90, "tromso": 60}
COLUMNS = [
    {"name": "age", "kind": "number"},
    {"name": "dose", "kind": "number"},
    {"name": "ward", "kind": "category", "categories": ["A", "B", "C"]},
]
LAB = {"name": "lab", "kind": "number"}  # known of four patients in each file
PATIENTS_DOSE = 77123.4375  # of one patient; a float64 and a float32
PATIENT = "Fridtjof Nansen"


def write_sites(folder, **sizes):
    """Write a table for each site; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for site, rows in (sizes or SITES).items():
        write_rows(folder / f"{site}.csv", HEAD, _rows(rows))
    return folder


def split_by_town(sites):
    """Give every file towns of its own, so that no two nodes have the same client."""
    for file in sites.glob("*.csv"):
        text = file.read_text()
        file.write_text(text.replace("east", f"{file.stem} e").replace("west", f"{file.stem} w"))
    lines = [file.read_text().splitlines() for file in sorted(sites.glob("*.csv"))]
    pool = sites.parent / "pool.csv"
    pool.write_text("\n".join([lines[0][0], *(row for rows in lines for row in rows[1:])]) + "\n")
    return pool


def _rows(count):
    rng = np.random.default_rng(count)
    rows = []
    for i in range(count):
        age, ward = rng.normal(60 + count / 20, 10), rng.choice(["A", "B", "C"])
        score = age + 6 * (ward == "A") + rng.normal(0, 6)
        days, dose = score / 10, "" if rng.random() < 0.1 else rng.integers(100, 9000)
        lab = "" if i > 3 else 5 + i  # so few that their sum would tell
        town = ("east", "west")[i % 2]
        ill = "yes" if score > 62 + count / 20 else "no"
        rows.append([9000 + i, f"{age:.1f}", dose, lab, ward, town, "", ill, f"{days:.2f}"])
    rows[0][2], rows[0][6] = PATIENTS_DOSE, PATIENT
    rows[1][4] = PATIENT  # a category that the schema does not list
    return rows


def hospital_spec(table=None, **data):
    """Return a resolved spec with a schema."""
    schema = {"columns": COLUMNS, "classes": ["no", "yes"]}
    base = {
        "rounds": 4,
        "evaluation": {"every": 2},
        "engine": {"checkpoint_seconds": 0.0, "client_timeout": 60.0},
        "data": {"target": "ill", "schema": schema} | data,
    }
    return resolve(parse(Spec, base | (table or {})))
