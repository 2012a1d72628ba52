"""The fields of what a node says of itself, each read by what it must be."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._text import printable
from fedmgda.experiments import read_encoder
from fedmgda.flower.wire._messages import WireError
from fedmgda.values import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Vector

__all__ = [
    "LARGEST",
    "classes_of",
    "encoder_of",
    "is_name",
    "layout_of",
    "names_of",
    "numbers_of",
    "rows_of",
    "sizes_of",
    "vector_of",
    "whole_of",
]

LARGEST = 1e150
"""No number that a node may say is larger: beyond it, squares of sums would be infinite."""

_LONGEST_NAME = 200
_MOST_ROWS = 1 << 40  # of a client; a million of them can still be counted
_MOST_CLASSES = 1_000_000
_MOST_DIMENSIONS = 32
_MOST_TIED = 64  # tensors that lie at one place


def is_name(value: object) -> bool:
    r"""Tell whether a value can be what a client is called: short, and every character is seen.

    >>> is_name("north"), is_name("a\u202eb"), is_name("a\nb"), is_name("n" * 201), is_name(3)
    (True, False, False, False, False)
    """
    return (
        isinstance(value, str)
        and 0 < len(value) <= _LONGEST_NAME
        and bool(value.strip())
        and not {"\n", "\t"} & set(value)
        and printable(value) == value
    )


def whole_of(table: Mapping[str, Any], key: str, most: int) -> int:
    """Return a whole number from 0 to `most`."""
    value = table.get(key)
    if type(value) is not int or value < 0:
        raise WireError(f"{key} is missing or no whole number")
    if value > most:
        raise WireError(f"{key} is above {most}")
    return value


def numbers_of(table: Mapping[str, Any], key: str, end: int) -> tuple[int, ...]:
    """Return a list of different whole numbers below `end`."""
    values = table.get(key)
    if not isinstance(values, list) or any(type(value) is not int for value in values):
        raise WireError(f"{key} is missing or no list of whole numbers")
    if any(not 0 <= value < end for value in values) or len(set(values)) < len(values):
        raise WireError(f"{key} are not ids of this federation, each once")
    return tuple(values)


def names_of(table: Mapping[str, Any], key: str, number: int) -> tuple[str, ...] | None:
    """Return so many different names; None where there are none."""
    values = table.get(key)
    if values is None:
        return None
    if not isinstance(values, list) or not all(map(is_name, values)):
        raise WireError(f"{key} is no list of names of up to {_LONGEST_NAME} visible characters")
    if len(values) != number:
        raise WireError(f"{key} are {len(values)}, not {number}")
    if len(set(values)) < number:
        raise WireError(f"{key} has a name twice")
    return tuple(values)


def sizes_of(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> Indices:
    """Return numbers of rows."""
    sizes = arrays.get(name)
    if sizes is None or sizes.shape != shape or sizes.dtype != np.int64:
        raise WireError(f"{name} is missing or no list of {shape[0]} sizes")
    if sizes.size and not 0 <= sizes.min() <= sizes.max() <= _MOST_ROWS:
        raise WireError(f"{name} has one that is no number of rows")
    return sizes


def rows_of(arrays: Mapping[str, NDArray[Any]], name: str, number: int) -> Indices:
    """Return which rows of the data so many are."""
    rows = arrays[name]
    if rows.shape != (number,) or rows.dtype != np.int64 or rows.min(initial=0) < 0:
        raise WireError(f"{name} is no list of {number} rows")
    return rows


def vector_of(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: type, size: int | None
) -> Vector | None:
    """Return finite numbers, so many where that is known; None where there are none."""
    vector = arrays.get(name)
    if vector is None:
        return None
    if vector.ndim != 1 or vector.dtype != dtype or (size is not None and len(vector) != size):
        raise WireError(f"{name} is {vector.dtype} of shape {vector.shape}")
    if not float(np.abs(vector).max(initial=0.0)) <= LARGEST:
        raise WireError(f"{name} holds what is no finite number")
    return vector


def layout_of(
    table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], size: int
) -> tuple[Tensor, ...]:
    """Return the tensors of a model with so many entries; tied ones are at one place."""
    told = table.get("layout")
    if not isinstance(told, list):
        raise WireError("layout is no list of tensors")
    layout = tuple(_tensor(item, arrays.get(f"value.{i}"), size) for i, item in enumerate(told))
    if len({tensor.name for tensor in layout}) < len(layout):
        raise WireError("layout has a tensor twice")
    if sum(math.prod(t.shape) for t in layout if t.start is not None) > _MOST_TIED * size:
        raise WireError("the tensors of layout are larger than the model")
    return layout


def _tensor(told: Any, value: NDArray[Any] | None, size: int) -> Tensor:
    match told:
        case [str() as name, [*shape], int() | None as start] if name and printable(name) == name:
            sides = [side for side in shape if type(side) is int and 0 <= side <= _MOST_ROWS]
            if len(sides) != len(shape) or len(shape) > _MOST_DIMENSIONS:
                raise WireError(f"the tensor {name!r:.60} of layout has no shape")
            length, fits = math.prod(sides), type(start) is int
            if start is None:
                fits = value is not None and value.size == length
            elif fits:
                fits = 0 <= start <= start + length <= size
            if not fits:
                raise WireError(f"the tensor {name!r:.60} of layout has no place and no value")
            kept = value if start is None else None
            return Tensor(name=name, shape=tuple(sides), start=start, value=kept)
    raise WireError("layout is no list of names, shapes and places")


def classes_of(table: Mapping[str, Any]) -> tuple[int | None, tuple[str, ...] | None]:
    """Return the number of classes and their names; None where there are none."""
    number, names = table.get("num_classes"), table.get("class_names")
    if number is not None:
        number = whole_of(table, "num_classes", _MOST_CLASSES)
    if names is None:
        return number, None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WireError("class_names is no list of texts")
    if len(names) != number or not "".join(names).isprintable():
        raise WireError(f"class_names are not those of {number} classes")
    return number, tuple(names)


def encoder_of(table: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return how rows become features, as plain JSON; None where that is not said."""
    encoder = table.get("encoder")
    if encoder is None:
        return None
    try:
        read_encoder(json.dumps(encoder).encode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"encoder is none ({error})") from error
    told: Mapping[str, Any] = encoder
    return told
