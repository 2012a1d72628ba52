"""An encoder from a schema, which is public, and statistics, which are sums over training rows.

Every statistic is a sum that a remote client could send, best through secure aggregation: who adds
up those of all clients gets the encoder of the pooled table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.data.own._encoder import EncodedColumn, Encoder
from fedmgda.data.own._sums import Sums, add_sums, sums_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data.own._values import Column

__all__ = [
    "CLIP",
    "ColumnSchema",
    "Schema",
    "Statistics",
    "add_statistics",
    "make_encoder",
    "statistics_of",
]

CLIP = 5.0
"""At most one row in 25 of any column lies further from the mean, in deviations (Chebyshev).

So a clipped value is one of a heavy tail or a typing error. With it, no row is longer than
5 √d, and no single number can throw a model out of bounds.
"""

_RARE = 5
_RARE_SHARE = 100


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSchema:
    """What everybody knows about a column: its name and its categories; None means numbers."""

    name: str
    categories: tuple[str, ...] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What everybody knows about a table: the features, the target and its classes.

    Attributes:
        columns: The features.
        target: The name of the column to predict.
        class_names: Its classes; None for a regression.
        given: Whether it was agreed on before a row was read; then every category is a feature,
            and nobody is asked how many rows have it.
    """

    columns: tuple[ColumnSchema, ...]
    target: str
    class_names: tuple[str, ...] | None = None
    given: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What the training rows of a client add up to.

    Attributes:
        num_rows: How many there are.
        sums: For each column of numbers its sums; None for categories.
        counts: For each column of categories how many rows have each; None for numbers, and where
            the schema was given.
        target: The sums of the target of a regression; None for classes.
    """

    num_rows: int
    sums: tuple[Sums | None, ...]
    counts: tuple[tuple[int, ...] | None, ...]
    target: Sums | None = None


def statistics_of(
    schema: Schema, columns: Sequence[Column], targets: NDArray[Any], rows: Indices
) -> Statistics:
    """Return what some rows add up to.

    Args:
        schema: What the columns are.
        columns: Those of the schema, in its order, with its categories.
        targets: Of shape `(n,)`.
        rows: The training rows, and no others.
    """
    return Statistics(
        num_rows=len(rows),
        sums=tuple(sums_of(c.values[rows]) if c.categories is None else None for c in columns),
        counts=tuple(
            None
            if c.categories is None or schema.given
            else _counts(c.values[rows], len(c.categories))
            for c in columns
        ),
        target=sums_of(targets[rows]) if schema.class_names is None else None,
    )


def _counts(codes: Indices, size: int) -> tuple[int, ...]:
    return tuple(np.bincount(codes[codes >= 0], minlength=size).tolist())


def add_statistics(parts: Sequence[Statistics]) -> Statistics:
    """Return the statistics of the rows of several clients together."""
    first = parts[0]
    places = range(len(first.sums))
    return Statistics(
        num_rows=sum(part.num_rows for part in parts),
        sums=tuple(_added([part.sums[place] for part in parts]) for place in places),
        counts=tuple(_counted([part.counts[place] for part in parts]) for place in places),
        target=_added([part.target for part in parts]),
    )


def _added(parts: Sequence[Sums | None]) -> Sums | None:
    known = [part for part in parts if part is not None]
    return add_sums(known) if known else None


def _counted(parts: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    known = [part for part in parts if part is not None]
    return tuple(map(sum, zip(*known, strict=True))) if known else None


def make_encoder(schema: Schema, statistics: Statistics) -> Encoder:
    """Return the guarded encoding: standardised and clipped numbers, categories that are not rare.

    A category is rare, and shares the zeros of those never seen, if fewer than 5 training rows have
    it, or in a table of fewer than 500, fewer than one in a hundred. Of a schema that was given
    none is.
    """
    least = min(_RARE, max(1, statistics.num_rows // _RARE_SHARE))
    columns = []
    for about, sums, counts in zip(schema.columns, statistics.sums, statistics.counts, strict=True):
        if about.categories is None:
            mean, scale = _mean_and_scale(sums)
            columns.append(EncodedColumn(name=about.name, mean=mean, scale=scale))
        else:
            kept = about.categories
            if counts is not None:
                counted = zip(about.categories, counts, strict=True)
                kept = tuple(category for category, count in counted if count >= least)
            columns.append(EncodedColumn(name=about.name, categories=kept))
    mean, scale = (0.0, 1.0) if schema.class_names else _mean_and_scale(statistics.target)
    return Encoder(
        columns=tuple(columns),
        clip=CLIP,
        target=schema.target,
        class_names=schema.class_names,
        target_mean=mean,
        target_scale=scale,
    )


def _mean_and_scale(sums: Sums | None) -> tuple[float, float]:
    mean, deviation = (0.0, 0.0) if sums is None else (sums.mean, sums.deviation)
    # A constant column has no scale; rounding may leave its deviation a little above 0.
    return mean, deviation if deviation > 1e-12 * abs(mean) else 0.0
