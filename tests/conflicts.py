"""A table whose clients disagree, written as a CSV file."""

from __future__ import annotations

import csv

import numpy as np


def table_of(path, *, clients=90, rows=14, agreement=0.0, seed=0):
    """Write a regression over three columns; return the path.

    Args:
        path: The file.
        clients: Branches, each with slopes of its own.
        rows: Of each branch.
        agreement: How much of the slopes all branches share; none leaves no common direction.
        seed: Of the numbers.
    """
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["branch", "age", "weight", "height", "value"])
        for client in range(clients):
            slopes = agreement + rng.normal(size=3)
            features = rng.normal(size=(rows, 3))
            values = features @ slopes + 0.1 * rng.normal(size=rows)
            for row, value in zip(features, values, strict=True):
                writer.writerow([f"branch {client}", *row.round(6), round(float(value), 6)])
    return path
