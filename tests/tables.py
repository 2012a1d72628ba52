"""Tables of a stranger: branches with few positives, and houses by quarter."""

from __future__ import annotations

import csv

import numpy as np

BRANCHES = ("north", "south", "east", "west")


def write_table(path, rows=240, positives=0.05, task="classes"):
    """Write a table of four clients whose positives are few."""
    rng = np.random.default_rng(0)
    head = "branch,age,income,left"
    lines = [
        f"{BRANCHES[i % 4]},{rng.normal():.3f},{rng.normal():.3f},"
        + (("yes" if rng.random() < positives else "no") if task == "classes" else f"{i * 1.5}")
        for i in range(rows)
    ]
    path.write_text("\n".join([head, *lines]) + "\n")
    return {"path": str(path), "client": "branch", "target": "left"}


def write_rows(path, header, rows):
    """Write a CSV file; return where it is."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_houses(path):
    """Write houses as Ames has them: many categories, skewed areas, one quarter unlike all."""
    rng = np.random.default_rng(3)
    worth, rows = rng.normal(size=(40, 4)) * 0.2, []
    for quarter in range(12):
        for _ in range(int(rng.integers(20, 80))):
            size = rng.normal(1.0 if quarter == 0 else 0.0)
            areas = np.exp(size + 0.6 * rng.normal(size=20))  # they go together, and some are huge
            pools = np.exp(rng.normal(size=40)) * (rng.random(40) < 0.02)  # most houses have none
            kinds = rng.integers(4, size=40)
            price = size + worth[np.arange(40), kinds].sum() + 0.3 * rng.normal()
            shown = [*areas.round(3), *pools.round(3), *("abcd"[kind] for kind in kinds)]
            rows.append([f"Q{quarter}", *shown, round(1e5 + 2e4 * price)])
    header = ["quarter", *(f"number{i}" for i in range(60)), *(f"kind{i}" for i in range(40))]
    return write_rows(path, [*header, "price"], rows)
