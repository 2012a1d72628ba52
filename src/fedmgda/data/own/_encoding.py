"""A table in memory, and the encoder that its training rows give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np

from fedmgda._errors import DataError
from fedmgda._text import listed, shown
from fedmgda.data.own._encoder import EncodedColumn, Encoder
from fedmgda.data.own._statistics import ColumnSchema, Schema, make_encoder, statistics_of
from fedmgda.data.own._table_notes import guarded_notes, plain_notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data.own._inspect import ColumnFacts
    from fedmgda.data.own._values import Column

__all__ = ["Encoding", "Table", "encode_table", "encoder_of"]

Encoding: TypeAlias = Literal["plain", "guarded"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose features are not encoded yet, because that takes the training rows.

    Attributes:
        name: The name of the file.
        columns: The features.
        target: The name of the column to predict.
        targets: Of shape `(n,)`: int64 class numbers, or values as they stand (float32 in the plain
            encoding, float64 in the guarded one).
        class_names: The classes in the order of their numbers; None means regression.
        groups: Of shape `(n,)`, int64: the client of each row; None without such a column.
        group_names: What the clients are called.
        encoding: How columns become features: "plain" standardises numbers and gives every
            category of the table a feature; "guarded" also clips and leaves rare categories out.
        given: Whether a schema said what columns and classes there are.
        left_out: The columns that are no features: ids, dates, constants and empty ones.
        doubtful: Features that a user should look at.
        row_notes: Sentences about rows of the file that are not among the n.
    """

    name: str
    columns: tuple[Column, ...]
    target: str
    targets: NDArray[Any]
    class_names: tuple[str, ...] | None
    groups: Indices | None = None
    group_names: tuple[str, ...] | None = None
    encoding: Encoding = "plain"
    given: bool = False
    left_out: tuple[ColumnFacts, ...] = ()
    doubtful: tuple[ColumnFacts, ...] = ()
    row_notes: tuple[str, ...] = ()

    @property
    def num_classes(self) -> int | None:
        """The number of classes; None means regression."""
        return None if self.class_names is None else len(self.class_names)

    @property
    def schema(self) -> Schema:
        """What everybody may know about the table."""
        return Schema(
            columns=tuple(ColumnSchema(name=c.name, categories=c.categories) for c in self.columns),
            target=self.target,
            class_names=self.class_names,
            given=self.given,
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features before rare ones are left out: a column, or column=category."""
        return Encoder(
            columns=tuple(EncodedColumn(name=c.name, categories=c.categories) for c in self.columns)
        ).feature_names

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know: which columns have missing values, and so on."""
        return plain_notes(self) if self.encoding == "plain" else guarded_notes(self)


def encode_table(table: Table, train_rows: Indices) -> NDArray[np.float32]:
    """Return the features as numbers, of shape `(n, d)`.

    A numeric column is standardised with the mean and the population standard deviation of the
    training rows, and its missing values become that mean, 0; a constant column becomes 0. A
    categorical column becomes one column of 0 and 1 per category; the categories are those of the
    whole table, as a data dictionary would list them. The guarded encoding clips numbers to 5
    deviations, and gives no feature to a category that hardly any training row has.

    Here the statistics come from the pooled training rows of all clients. In a real federation no
    one holds these: the clients would send counts, sums and sums of squares, best through secure
    aggregation, and the result would be the same.

    Args:
        table: The table.
        train_rows: The training rows of all clients together.

    Raises:
        DataError: If the result would take more than 8 GiB.
    """
    return encoder_of(table, train_rows).encode(table.columns, table.name)


def encoder_of(table: Table, train_rows: Indices) -> Encoder:
    """Return how rows of a table become features, after what its training rows say.

    Raises:
        DataError: If these leave the guarded encoding no feature, or nothing to predict.
    """
    if table.encoding == "guarded":
        statistics = statistics_of(table.schema, table.columns, table.targets, train_rows)
        encoder = make_encoder(table.schema, statistics)
        _check_something_to_learn(table, encoder)
        return encoder
    columns = []
    for column in table.columns:
        numbers = column.categories is None
        mean, scale = _mean_and_scale(column.values, train_rows) if numbers else (0.0, 0.0)
        columns.append(
            EncodedColumn(name=column.name, categories=column.categories, mean=mean, scale=scale)
        )
    mean, scale = 0.0, 1.0
    if table.class_names is None:
        mean, scale = _mean_and_scale(table.targets.astype(np.float64), train_rows)
    return Encoder(
        columns=tuple(columns),
        target=table.target,
        class_names=table.class_names,
        target_mean=mean,
        target_scale=scale,
    )


def _check_something_to_learn(table: Table, encoder: Encoder) -> None:
    if not encoder.num_features:
        names = listed(repr(shown(column.name)) for column in table.columns)
        raise DataError(
            f"Nothing of {table.name} is left to predict {table.target!r} from: every category of "
            f"{names} is too rare among the training rows to be a feature; write fewer of them."
        )
    if table.class_names is None and not encoder.target_scale:
        raise DataError(
            f"The target {table.target!r} of {table.name} is {encoder.target_mean:g} in all "
            "training rows, or differs by less than can be told; there is nothing to learn."
        )


def _mean_and_scale(values: NDArray[np.float64], train_rows: Indices) -> tuple[float, float]:
    """Return mean and deviation as NumPy rounds them, which the plain encoding has always done."""
    known = values[train_rows][~np.isnan(values[train_rows])]
    mean, std = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
    # A constant column has no scale; rounding may leave its deviation a little above 0.
    return mean, std if std > 1e-12 * abs(mean) else 0.0
