"""What nodes with files of their own say of them, read by the server: checked, then added up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final, get_args

import numpy as np

from fedmgda._errors import DataError
from fedmgda._types import Split
from fedmgda.data import Statistics, Sums, add_statistics
from fedmgda.flower.server._fields import LARGEST, names_of, sizes_of
from fedmgda.flower.wire._messages import WireError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Vector
    from fedmgda.data import Encoder, Schema
    from fedmgda.flower.wire._messages import Answer

__all__ = ["Introduction", "Totals", "add_totals", "check_something_to_learn", "read_curvatures"]

_SPLITS = get_args(Split)
_ROUNDING = 1e-9
_STEEPEST = 1e12  # features are clipped: a million of them are far below


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Introduction:
    """Whose rows a node has, and how many.

    Attributes:
        schema: The digest of the schema by which it read its file.
        client_names: What its k clients are called.
        sizes: Of shape `(k, 3)`: how many rows each trains, validates and tests on.
    """

    schema: str
    client_names: tuple[str, ...]
    sizes: Indices

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Read an answer; raises a `WireError` where it cannot be one."""
        told = answer.header.get("client_names")
        names = names_of(answer.header, "client_names", len(told) if isinstance(told, list) else 0)
        if names is None:
            raise WireError("client_names is missing")
        sizes = sizes_of(answer.arrays, "sizes", (len(names), len(_SPLITS)))
        if len(names) and sizes.min() < 1:
            raise WireError("sizes has one below 1")
        return cls(schema=str(answer.header.get("schema")), client_names=names, sizes=sizes)

    @property
    def rows(self) -> dict[str, tuple[int, ...]]:
        """How many rows each client trains, validates and tests on."""
        return dict(zip(self.client_names, map(tuple, self.sizes.tolist()), strict=True))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Totals:
    """What training rows add up to.

    Attributes:
        statistics: Of the columns, and of the target of a regression.
        classes: Of shape `(num_classes,)`: the rows of each class, without those of nodes that have
            too few to tell; None for a regression.
    """

    statistics: Statistics
    classes: Vector | None

    @classmethod
    def of(cls, answer: Answer, schema: Schema, num_rows: int) -> Self:
        """Read the answer of a node that has so many training rows.

        Raises:
            WireError: If it cannot be one.
        """
        numeric = [column.categories is None for column in schema.columns]
        table = _finite(answer.arrays, "sums", (sum(numeric), 5))
        rows = iter([_sums(row, num_rows) for row in table])
        classes = target = None
        if schema.class_names is None:
            target = _sums(_finite(answer.arrays, "target", (5,)), num_rows)
        else:
            classes = _finite(answer.arrays, "classes", (len(schema.class_names),))
            if (classes < 0).any() or (classes % 1).any() or classes.sum() > num_rows:
                raise WireError(f"classes are not those of {num_rows} rows")
        statistics = Statistics(
            num_rows=num_rows,
            sums=tuple(next(rows) if number else None for number in numeric),
            counts=(None,) * len(numeric),
            target=target,
        )
        return cls(statistics=statistics, classes=classes)

    @property
    def are_whole(self) -> bool:
        """Whether every row is counted to its class."""
        return self.classes is None or self.classes.sum() == self.statistics.num_rows

    @property
    def target_sums(self) -> Vector | None:
        """The same as `ClientFacts` has them; None where nodes kept the size of a class back."""
        if self.classes is not None:
            return self.classes if self.are_whole else None
        # Of standardised targets the mean is 0 and the deviation 1.
        count = float(self.statistics.num_rows)
        return np.array([count, 0.0, count])


def add_totals(parts: Sequence[Totals]) -> Totals:
    """Return what the rows of several nodes add up to together."""
    classes = [part.classes for part in parts if part.classes is not None]
    return Totals(
        statistics=add_statistics([part.statistics for part in parts]),
        classes=np.sum(classes, axis=0) if classes else None,
    )


def check_something_to_learn(encoder: Encoder, totals: Totals) -> None:
    """Refuse a target that is the same in all training rows of all nodes; raises a DataError."""
    if totals.classes is None and not encoder.target_scale:
        raise DataError(
            f"The target {encoder.target!r} is {encoder.target_mean:g} in all training rows of all "
            "nodes; there is nothing to learn."
        )
    if totals.classes is None or not totals.are_whole:
        return  # of more classes than one, or nobody knows
    if np.count_nonzero(totals.classes) == 1:
        only = (encoder.class_names or ())[int(np.argmax(totals.classes))]
        raise DataError(
            f"Every training row of all nodes has the target {only!r}; there is nothing to learn."
        )


def read_curvatures(answer: Answer, client_ids: Sequence[int]) -> float:
    """Return the largest bound of the curvature of the losses of some clients.

    Raises:
        WireError: If a node did not send one for each.
    """
    ids = answer.arrays.get("client_ids")
    if ids is None or ids.dtype != np.int64 or sorted(ids.ravel().tolist()) != sorted(client_ids):
        raise WireError("curvatures are not those of its clients")
    bounds = _finite(answer.arrays, "curvatures", (len(client_ids),))
    if not ((bounds >= 1 / _STEEPEST) & (bounds <= _STEEPEST)).all():
        raise WireError(f"curvatures has one that is not between 1 / {_STEEPEST:g} and that")
    return float(bounds.max())


def _finite(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    array = arrays.get(name)
    if array is None or array.shape != shape or array.dtype != np.float64:
        raise WireError(f"{name} is missing, or no array of shape {shape}")
    if not (np.abs(array) <= LARGEST).all():
        raise WireError(f"{name} holds what is no finite number")
    return array


def _sums(row: NDArray[np.float64], num_rows: int) -> Sums:
    """Read the sums of one column: such as some numbers can have, few or none of them missing."""
    count, head, tail, squares, rest = row.tolist()
    if not 0 <= count <= num_rows or count != int(count):
        raise WireError(f"sums are not those of at most {num_rows} rows")
    if not count and row.any():
        raise WireError("sums are those of no rows, and not 0")
    if abs(tail) > math.ulp(head) or abs(rest) > math.ulp(squares):
        raise WireError("what the rounding of sums left out is larger than that")
    # No numbers have a mean square below the square of their mean, but for rounding.
    if squares < 0 or squares * count < head * head * (1 - _ROUNDING):
        raise WireError("sums of squares are smaller than those of any numbers with such sums")
    return Sums(count=int(count), total=(head, tail), squares=(squares, rest))
