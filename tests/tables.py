"""A table of a stranger: four branches, few positives."""

from __future__ import annotations

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
