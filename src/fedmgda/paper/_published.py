"""The numbers the paper prints."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.paper._study import Study

__all__ = ["Number", "published_number", "published_row", "spread_of_twins"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A printed value in percent, and what stands behind its ±: the std over the paper's runs.

    Attributes:
        mean: Of the runs.
        pm: Their population standard deviation.
        runs: How many there were.
    """

    mean: float
    pm: float
    runs: int


def published_row(study: Study, variant: str) -> Mapping[str, str] | None:
    """Return the row of the paper's table that a variant stands for, as texts; None for none."""
    number = study.rows.get(variant)
    return None if number is None else _table(study.published)[number]


def published_number(study: Study, variant: str, metric: str) -> Number | None:
    """Return what the paper prints for a metric of a variant, or None.

    >>> from fedmgda.paper import load_study
    >>> published_number(load_study("cifar-user-1"), "FedMGDA+ (1.5, 1/10)", "average")
    Number(mean=71.15, pm=0.62, runs=4)
    """
    row = published_row(study, variant)
    if row is None or f"{metric}_mean" not in row:
        return None
    return Number(
        mean=float(row[f"{metric}_mean"]), pm=float(row[f"{metric}_pm"]), runs=int(row["runs"])
    )


def spread_of_twins(metric: str) -> float | None:
    """Return how far the paper's own numbers for one and the same algorithm lie apart.

    With one step on the full batch FedProx is FedAvg whatever its mu (SPEC 0.5). The tables
    cifar-user-3 and cifar-user-4 list both as four rows: their differences are noise.

    >>> round(spread_of_twins("average"), 2)
    2.61
    """
    spreads = []
    for file in ("cifar_user_3.csv", "cifar_user_4.csv"):
        twins = [r for r in _table(file).values() if r["algorithm"] in {"FedAvg", "FedProx"}]
        if f"{metric}_mean" not in twins[0]:
            return None
        values = [float(row[f"{metric}_mean"]) for row in twins]
        spreads.append(max(values) - min(values))
    return max(spreads)


@cache
def _table(file: str) -> dict[int, dict[str, str]]:
    text = (files("fedmgda.paper") / "published" / file).read_text(encoding="utf-8")
    return {int(row["row"]): row for row in csv.DictReader(text.splitlines())}
