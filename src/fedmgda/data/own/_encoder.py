"""How rows of a table become what a model sees, and what it says becomes classes and units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import DataError
from fedmgda._text import shown
from fedmgda.data.own._new_rows import lacking_columns, notes_on_new_rows
from fedmgda.data.own._values import Column, missing_rows, numbers_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Vector
    from fedmgda.data.own._columns import RawTable

__all__ = ["MISSING", "EncodedColumn", "Encoder"]

MISSING = "missing"
"""The category of what is missing, and the text that says so."""

_MAX_BYTES = 2**33


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedColumn:
    """How one column becomes features.

    Attributes:
        name: Its name in the table.
        categories: For each feature the category it stands for; None for numbers, which are one
            feature. What is none of them is zero in all.
        mean: Of numbers: what is subtracted, and what stands in for missing ones.
        scale: Of numbers: what they are divided by then; 0 for a column without a scale, whose
            feature is 0.
    """

    name: str
    categories: tuple[str, ...] | None = None
    mean: float = 0.0
    scale: float = 0.0

    @property
    def num_features(self) -> int:
        """How many features it becomes."""
        return 1 if self.categories is None else len(self.categories)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of its features, safe to print: its own, or column=category."""
        if self.categories is None:
            return (shown(self.name),)
        return tuple(shown(f"{self.name}={category}") for category in self.categories)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """How raw rows become features, and how outputs become answers: all one needs to use a model.

    Attributes:
        columns: The columns that are read, in the order of their features; None where features are
            taken as they are.
        clip: Standardised numbers beyond it become it, with their sign; None leaves them.
        target: The column that is predicted.
        class_names: The classes in the order of their numbers; None for a regression.
        target_mean: Of a regression: the value an output of 0 stands for.
        target_scale: Of a regression: by how much the value rises where the output rises by 1.

    >>> age = EncodedColumn(name="age", mean=50.0, scale=10.0)
    >>> ward = EncodedColumn(name="ward", categories=("A", "B"))
    >>> Encoder(columns=(age, ward)).feature_names
    ('age', 'ward=A', 'ward=B')
    """

    columns: tuple[EncodedColumn, ...] | None = None
    clip: float | None = None
    target: str | None = None
    class_names: tuple[str, ...] | None = None
    target_mean: float = 0.0
    target_scale: float = 1.0

    @property
    def num_features(self) -> int:
        """How many features a row becomes."""
        return sum(column.num_features for column in self.columns or ())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, safe to print."""
        return tuple(name for column in self.columns or () for name in column.feature_names)

    def encode(self, columns: Sequence[Column], name: str) -> NDArray[np.float32]:
        """Return columns as features, of shape `(n, num_features)`.

        Args:
            columns: Those of the encoder, in its order.
            name: What the table is called, for messages.

        Raises:
            DataError: If the features would take more than 8 GiB.
        """
        known = self.columns or ()
        num_rows = len(columns[0].values) if columns else 0
        size = 4 * num_rows * self.num_features
        if size > _MAX_BYTES:
            raise DataError(
                f"{name} becomes {size} bytes when it is encoded, more than {_MAX_BYTES}; leave "
                "out columns with many categories."
            )
        encoded = np.zeros((num_rows, self.num_features), dtype=np.float32)
        place = 0
        for about, column in zip(known, columns, strict=True):
            if about.categories is None:
                encoded[:, place] = self._standardized(about, column.values)
            else:
                codes = _codes_in(about.categories, column)
                rows = np.flatnonzero(codes >= 0)
                encoded[rows, place + codes[rows]] = 1
            place += about.num_features
        return encoded

    def encode_targets(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return what the model predicts, of shape `(n,)`: class numbers, or standardised values.

        A normalised rule moves the model by at most the server's step in a round, so a target of
        mean 1000 would take a thousand rounds to reach; with mean 0 and deviation 1 it takes a few.
        Targets are not clipped: an error is an error.
        """
        if self.class_names is not None:
            return targets
        scale = self.target_scale or np.inf
        return ((targets.astype(np.float64) - self.target_mean) / scale).astype(np.float32)

    def values(self, outputs: Vector) -> Vector:
        """Return the outputs of a regression, of shape `(n,)`, in the units of the target."""
        return outputs.astype(np.float64) * self.target_scale + self.target_mean

    def read(self, table: RawTable) -> tuple[tuple[Column, ...], tuple[str, ...]]:
        """Return the columns of the encoder from a table with others, and what should be known.

        Raises:
            DataError: If one is missing, or has texts where numbers belong.
        """
        lacking = [about.name for about in self.columns or () if about.name not in table.columns]
        if lacking:
            raise DataError(lacking_columns(table, lacking))
        columns = tuple(_read(table, about) for about in self.columns or ())
        return columns, notes_on_new_rows(self, table, columns)

    def _standardized(self, about: EncodedColumn, values: NDArray[Any]) -> NDArray[np.float64]:
        scaled = np.nan_to_num((values - about.mean) / (about.scale or np.inf), nan=0.0)
        return scaled if self.clip is None else np.clip(scaled, -self.clip, self.clip)


def _codes_in(categories: tuple[str, ...], column: Column) -> Indices:
    """Return for each row the number of its category among those that count; -1 for none."""
    places = {category: place for place, category in enumerate(categories)}
    own = column.categories or ()
    # One more at the end, for rows whose category was none of the column's either.
    table = np.array([*(places.get(category, -1) for category in own), -1], dtype=np.int64)
    return table[column.values]


def _read(table: RawTable, about: EncodedColumn) -> Column:
    raw = table.columns[about.name]
    missing = missing_rows(raw)
    count = int(missing.sum())
    if about.categories is None:
        numbers = numbers_of(table, about.name)
        if numbers is None:
            raise DataError(
                f"Column {about.name!r} of {table.name} holds texts, and the model was trained "
                "with numbers."
            )
        return Column(name=about.name, values=numbers, categories=None, num_missing=count)
    places = {category: place for place, category in enumerate(about.categories)}
    texts = [MISSING if gone else text for text, gone in zip(texts_of(raw), missing, strict=True)]
    codes = np.array([places.get(text, -1) for text in texts], dtype=np.int64)
    return Column(name=about.name, values=codes, categories=about.categories, num_missing=count)
