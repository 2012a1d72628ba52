"""Single test rows, as nodes tell of them: those of a node are taken or left as a whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.flower.server._grid_exchanges import checked
from fedmgda.flower.wire._messages import WireError
from fedmgda.values import Predictions

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.flower.server._gather import Asked
    from fedmgda.flower.server._grid_exchanges import Heard
    from fedmgda.flower.wire._messages import Answer

__all__ = ["Expected", "predictions_of"]

_NAMES = ("rows", "clients", "targets", "outputs")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expected:
    """Which rows clients have.

    Attributes:
        sizes: Of shape `(num_clients,)`: how many.
        rows: Which of the data, one client behind the other; None where that is not known.
        numbered: Whether each client numbers its own from 0.
        num_classes: None for a regression.
    """

    sizes: Indices
    rows: Indices | None
    numbered: bool
    num_classes: int | None

    def are_of(self, client: int, rows: Indices) -> bool:
        """Tell whether rows are those of a client, in their order."""
        size = int(self.sizes[client])
        if self.numbered:
            return np.array_equal(rows, np.arange(size))
        if self.rows is None:
            return len(rows) == size == len(np.unique(rows)) and rows.min(initial=0) >= 0
        start = int(self.sizes[:client].sum())
        return np.array_equal(rows, self.rows[start : start + size])

    def is_plain(self, outputs: tuple[int, ...]) -> bool:
        """Tell whether outputs of this shape are a score for each class, or a value."""
        return outputs == (self.num_classes or 1,)


def predictions_of(
    heard: Heard,
    asked: Asked,
    client_ids: Sequence[int],
    evaluated: Collection[int],
    expected: Expected,
) -> tuple[Predictions | None, dict[int, str]]:
    """Return single rows, client behind client, and why those of some nodes are not among them.

    Args:
        heard: What the nodes answered.
        asked: What they were asked.
        client_ids: The clients, in the order that is wanted.
        evaluated: Those whose losses can be.
        expected: Which rows they have.
    """
    parts: dict[int, dict[str, NDArray[Any]]] = {}
    reasons: dict[int, str] = {}
    for node, clients in asked.items():
        try:
            answer = checked(node, heard[node], strict=False)
            parts[node] = _part(answer, clients, evaluated, expected)
        except WireError as error:
            reasons[node] = f"its predictions do not count: {error}"
    usual = _usual(parts, expected)
    for node in [node for node, part in parts.items() if part["outputs"].shape[1:] != usual]:
        del parts[node]
        reasons[node] = (
            "its predictions do not count: its outputs are not as many as those of others"
        )
    if not parts:
        return None, reasons
    whole = {name: np.concatenate([part[name] for part in parts.values()]) for name in _NAMES}
    place = {client: order for order, client in enumerate(client_ids)}
    order = np.argsort([place[client] for client in whole["clients"].tolist()], kind="stable")
    return Predictions(**{name: array[order] for name, array in whole.items()}), reasons


def _part(
    answer: Answer, clients: Sequence[int], evaluated: Collection[int], expected: Expected
) -> dict[str, NDArray[Any]]:
    """Return what a node tells of the rows of its clients, all of those that were evaluated."""
    if any(f"predictions.{name}" not in answer.arrays for name in _NAMES):
        raise WireError("some arrays are missing")
    part = {name: answer.arrays[f"predictions.{name}"] for name in _NAMES}
    owners, rows = part["clients"], part["rows"]
    if any(array.dtype != np.int64 or array.ndim != 1 for array in (owners, rows)):
        raise WireError("rows and clients are no whole numbers")
    if part["targets"].ndim != 1 or part["outputs"].ndim < 1:
        raise WireError("targets or outputs have another shape")
    if any(len(array) != len(owners) for array in part.values()):
        raise WireError("the arrays are not equally long")
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], clients)
    ends = np.searchsorted(owners[order], clients, side="right")
    if int((ends - starts).sum()) != len(owners):
        raise WireError("they are of clients that were not asked of it")
    for client, start, end in zip(clients, starts, ends, strict=True):
        if client in evaluated and not expected.are_of(client, rows[order[start:end]]):
            raise WireError(f"they are not the rows of client {client}")
    _check_values(part, expected)
    kept = np.isin(owners, [client for client in clients if client in evaluated])
    return {name: array[kept] for name, array in part.items()}


def _check_values(part: Mapping[str, NDArray[Any]], expected: Expected) -> None:
    targets, outputs = part["targets"], part["outputs"]
    if outputs.dtype != np.float32 or not np.isfinite(outputs).all():
        raise WireError("outputs are no finite numbers")
    if expected.num_classes is None:
        if targets.dtype != np.float32 or not np.isfinite(targets).all():
            raise WireError("targets are no finite numbers")
    elif targets.dtype != np.int64 or (
        len(targets) and not 0 <= targets.min() <= targets.max() < expected.num_classes
    ):
        raise WireError(f"targets are none of {expected.num_classes} classes")


def _usual(
    parts: Mapping[int, Mapping[str, NDArray[Any]]], expected: Expected
) -> tuple[int, ...] | None:
    """Return what most outputs of a row are; what a network of one's own gives is not known."""
    counted = Counter(part["outputs"].shape[1:] for part in parts.values())
    plain = [shape for shape in counted if expected.is_plain(shape)]
    return max(plain or counted, key=lambda shape: counted[shape], default=None)
