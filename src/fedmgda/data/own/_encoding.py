"""A table in memory, and its features as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data.own._values import Column

__all__ = ["Table", "encode_table", "encode_targets"]

_MAX_BYTES = 2**33
_MANY_CATEGORIES = 50


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose features are not encoded yet, because that takes the training rows.

    Attributes:
        name: The name of the file.
        columns: The features.
        target: The name of the column to predict.
        targets: Of shape `(n,)`: int64 class numbers, or float32 values as they stand.
        class_names: The classes in the order of their numbers; None means regression.
        groups: Of shape `(n,)`, int64: the client of each row; None without such a column.
        group_names: What the clients are called.
    """

    name: str
    columns: tuple[Column, ...]
    target: str
    targets: NDArray[Any]
    class_names: tuple[str, ...] | None
    groups: Indices | None = None
    group_names: tuple[str, ...] | None = None

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None means regression."""
        return None if self.class_names is None else len(self.class_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the encoded features: a column, or column=category."""
        return tuple(
            name
            for column in self.columns
            for name in (
                [column.name]
                if column.categories is None
                else [f"{column.name}={category}" for category in column.categories]
            )
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know: one sentence for every column with missing values, and so on."""
        notes = [
            f"Column {column.name!r} of {self.name} lacks {column.num_missing} of "
            f"{len(self.targets)} values; "
            + (
                "the mean of the training rows stands in for them."
                if column.categories is None
                else "they form a category of their own, 'missing'."
            )
            for column in self.columns
            if column.num_missing
        ]
        notes += [
            f"Column {column.name!r} of {self.name} is encoded as {len(column.categories)} "
            f"categories, such as {column.categories[0]!r:.40}; leave it out of data.features if "
            "it is an id, a date or a number."
            for column in self.columns
            if column.categories is not None and self._has_many(column)
        ]
        if self.class_names is None:
            notes.append(
                f"The target {self.target!r} of {self.name} is standardised on the training rows: "
                "a loss of 1 is that of always predicting their mean."
            )
        return tuple(notes)

    def _has_many(self, column: Column) -> bool:
        count = len(column.categories or ()) - (column.num_missing > 0)
        return count > _MANY_CATEGORIES or 2 * count > len(self.targets)


def encode_table(table: Table, train_rows: Indices) -> NDArray[np.float32]:
    """Return the features as numbers, of shape `(n, d)`.

    A numeric column is standardised with the mean and the population standard deviation of the
    training rows, and its missing values become that mean, 0; a constant column becomes 0. A
    categorical column becomes one column of 0 and 1 per category; the categories are those of the
    whole table, as a data dictionary would list them.

    Here the statistics come from the pooled training rows of all clients. In a real federation no
    one holds these: the clients would send counts, sums and sums of squares, best through secure
    aggregation, and the result would be the same.

    Args:
        table: The table.
        train_rows: The training rows of all clients together.

    Raises:
        DataError: If the result would take more than 8 GiB.
    """
    size = 4 * len(table.targets) * len(table.feature_names)
    if size > _MAX_BYTES:
        raise DataError(
            f"{table.name} becomes {size} bytes when it is encoded, more than {_MAX_BYTES}; leave "
            "out columns with many categories."
        )
    encoded = np.empty((len(table.targets), len(table.feature_names)), dtype=np.float32)
    place = 0
    for column in table.columns:
        if column.categories is None:
            encoded[:, place] = _standardized(column.values, train_rows)
            place += 1
        else:
            for code in range(len(column.categories)):
                encoded[:, place] = column.values == code
                place += 1
    return encoded


def encode_targets(table: Table, train_rows: Indices) -> NDArray[Any]:
    """Return what the model predicts, of shape `(n,)`: class numbers, or standardised values.

    A normalised rule moves the model by at most the server's step in a round, so a target of mean
    1000 would take a thousand rounds to reach; with mean 0 and deviation 1 it takes a few.
    """
    if table.class_names is not None:
        return table.targets
    return _standardized(table.targets.astype(np.float64), train_rows).astype(np.float32)


def _standardized(values: NDArray[np.float64], train_rows: Indices) -> NDArray[np.float64]:
    known = values[train_rows][~np.isnan(values[train_rows])]
    mean, std = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
    # A constant column has no scale; rounding may leave its deviation a little above 0.
    scale = std if std > 1e-12 * abs(mean) else np.inf
    return np.nan_to_num((values - mean) / scale, nan=0.0)
