"""The model of somebody's Flower app: named arrays there, one flat vector here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from flwr.app import Array, ArrayRecord

from fedmgda._errors import SpecError
from fedmgda._npy import read_npy_header
from fedmgda.values import Tensor

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from fedmgda._types import Vector

__all__ = ["BATCH_NORM", "ModelArrays"]

BATCH_NORM = ("running_mean", "running_var")
"""What torch calls the float buffers of batch normalisation."""

_HEADER = 4096  # bytes that an array may take on the wire beside its numbers


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelArrays:
    """Where the arrays of a model lie in the vector of a server.

    Parameters come first, float buffers behind them; whole numbers (counters of batches) are no
    part of the vector and stay what they are. The vector is float32, whatever the arrays are, and
    each array leaves in the dtype it came in.

    Attributes:
        layout: The arrays in the order of the record.
        dtypes: Their dtypes, in the same order.
        num_params: d.
        num_buffers: How many entries follow the parameters.
    """

    layout: tuple[Tensor, ...]
    dtypes: tuple[np.dtype[Any], ...]
    num_params: int
    num_buffers: int

    @classmethod
    def of(cls, arrays: ArrayRecord, buffers: Collection[str]) -> Self:
        """Lay out the arrays of a model.

        Args:
            arrays: The model.
            buffers: Which are buffers: whole names, or the part behind the last dot.

        Raises:
            SpecError: If they are no model.
        """
        values = {name: array.numpy() for name, array in arrays.items()}
        floats = [name for name, value in values.items() if value.dtype.kind == "f"]
        kept = {n: v for n, v in values.items() if v.dtype.kind in "iub"}
        if not floats or len(floats) + len(kept) < len(values):
            raise SpecError(
                "initial_arrays must hold the numbers of a model, real or whole, and at least one "
                f"real array; it holds {', '.join(f'{n} ({v.dtype})' for n, v in values.items())}."
            )
        tail = {n for n in floats if n in buffers or n.rpartition(".")[2] in buffers}
        starts, end = {}, 0
        for name in sorted(floats, key=lambda name: name in tail):  # which keeps the order else
            starts[name], end = end, end + values[name].size
        return cls(
            layout=tuple(
                Tensor(name=n, shape=v.shape, start=starts.get(n), value=kept.get(n))
                for n, v in values.items()
            ),
            dtypes=tuple(value.dtype for value in values.values()),
            num_params=end - sum(values[name].size for name in tail),
            num_buffers=sum(values[name].size for name in tail),
        )

    def vector(self, arrays: ArrayRecord) -> Vector:
        """Return a model as a vector, of shape `(d + num_buffers,)`, float32.

        Raises:
            ValueError: If an array is missing, cannot be read or is another (one short clause).
        """
        vector = np.empty(self.num_params + self.num_buffers, np.float32)
        for tensor, dtype in zip(self.layout, self.dtypes, strict=True):
            if tensor.name not in arrays:
                raise ValueError(f"the array {tensor.name!r} is missing")
            if tensor.start is not None:
                value = _read(tensor, dtype, arrays[tensor.name])
                with np.errstate(over="ignore"):  # what does not fit is infinite, and the gate's
                    vector[tensor.start : tensor.start + value.size] = value.reshape(-1)
        strangers = sorted(set(arrays) - {tensor.name for tensor in self.layout})
        if strangers:
            raise ValueError(f"the array {strangers[0]!r} is not in the model")
        return vector

    def record(self, vector: Vector) -> ArrayRecord:
        """Return the model of a vector, as it travels."""
        arrays = {}
        for tensor, dtype in zip(self.layout, self.dtypes, strict=True):
            start, size = tensor.start, math.prod(tensor.shape)
            value = tensor.value if start is None else vector[start : start + size]
            arrays[tensor.name] = Array(np.asarray(value, dtype).reshape(tensor.shape))
        return ArrayRecord(arrays)


def _read(tensor: Tensor, dtype: np.dtype[Any], array: Array) -> NDArray[Any]:
    """Return the numbers of an array from the wire, which may hold anything."""
    name, most = repr(tensor.name), math.prod(tensor.shape) * max(dtype.itemsize, 8) + _HEADER
    if len(array.data) > most:
        raise ValueError(f"the array {name} has {len(array.data)} bytes, more than its {most}")
    try:
        read_npy_header(BytesIO(array.data))
        value = array.numpy()
    except Exception as error:  # whatever the bytes of a stranger are
        reason = " ".join(str(error).split())[:120]
        raise ValueError(f"the array {name} cannot be read ({reason})") from error
    if value.shape != tensor.shape:
        raise ValueError(f"the array {name} has shape {value.shape}, not {tensor.shape}")
    if value.dtype.kind != "f":
        raise ValueError(f"the array {name} is of {value.dtype}, not of real numbers")
    return value
