"""The tensors of a model file, read by nothing but NumPy: whoever checks a model needs no torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._json import read_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_tensors"]

_HEAD = 8  # bytes that say how long the header is
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1", "BOOL": "?",
}  # fmt: skip


def read_tensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a safetensors file by name; they cannot be written to.

    Raises:
        ValueError: If it is no such file, or has bytes that belong to no tensor.

    >>> header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    >>> head = len(header).to_bytes(8, "little") + header
    >>> read_tensors(head + np.array([1.0, 2.0], "<f4").tobytes())["w"].tolist()
    [1.0, 2.0]
    """
    start = _HEAD + int.from_bytes(content[:_HEAD], "little")
    if not _HEAD < start <= len(content):
        raise ValueError("it is too short for its header")
    header = read_json(content[_HEAD:start])
    if not isinstance(header, dict):
        raise ValueError("its header is no table")  # noqa: TRY004 (a value, not a type)
    body, spans, tensors = memoryview(content)[start:], [], {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        tensors[name], span = _tensor(name, about, body)
        spans.append(span)
    spans.sort()
    ends = [0, *(end for _, end in spans)]
    if ends != [*(begin for begin, _ in spans), len(body)]:
        raise ValueError("it has bytes that belong to no tensor, or to two")
    return tensors


def _tensor(name: str, about: Any, body: memoryview) -> tuple[NDArray[Any], tuple[int, int]]:
    try:
        dtype = np.dtype(_DTYPES[about["dtype"]])
        shape = tuple(_size(entry) for entry in about["shape"])
        begin, end = (_size(entry) for entry in about["data_offsets"])
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"the tensor {name!r} has no type, shape or place that is known"
        ) from error
    if not begin <= end <= len(body) or end - begin != dtype.itemsize * math.prod(shape):
        raise ValueError(f"the tensor {name!r} is not as long as its header says")
    return np.frombuffer(body[begin:end], dtype).reshape(shape), (begin, end)


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value
