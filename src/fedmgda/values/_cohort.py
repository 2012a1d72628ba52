"""What came back from the clients of one round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda._types import Vector
from fedmgda.values._updates import DenseUpdates, Updates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from fedmgda._types import Matrix

__all__ = ["Cohort", "Failure", "TrainCohort"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A client whose work does not count this round, and why (one short clause)."""

    client_id: int
    reason: str


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, init=False)
class Cohort:
    """What came back from the clients of one round: m rows of everything, checked when it is made.

    Whatever is not finite, not asked for or sent twice is still in it: that is the gate's business.

    Attributes:
        client_ids: The m clients, in the order of the rows.
        updates: g_i = w_t - w_i, so that it points like a gradient: the server subtracts it. An
            array of shape `(m, d)`, nested lists or a tensor become `DenseUpdates`.
        num_examples: Of shape `(m,)`, the number of training examples of each client.
        losses: Of shape `(m,)`, what the clients report as their loss: f_i(w_t), the mean training
            loss of the model they received, unless they were told to report the local loss.
        failures: Clients that were asked and returned nothing usable.
        local_losses: Of shape `(m,)`, the mean of the batch losses each client saw while it trained
            (train mode, weights moving); None where nobody measured it. No rule reads it.
        buffers: Of shape `(m, num_buffers)`: how the float buffers of the model (batch norm) moved,
            with the sign of an update; None where it has none. They enter no norm and no rule.
        gradients: ∇f_i(w_t) over the whole training split, in eval mode, where it was asked for.
        before: Of shape `(m,)`: f_i(w_t) over the whole training split, in eval mode, beside the
            gradients.

    Raises:
        ValueError: If the parts do not fit together, or are not numbers.
    """

    client_ids: tuple[int, ...]
    updates: Updates
    num_examples: Vector
    losses: Vector
    failures: tuple[Failure, ...]
    local_losses: Vector | None
    buffers: Matrix | None
    gradients: Updates | None
    before: Vector | None

    def __init__(  # noqa: PLR0913 (one for each part)
        self,
        *,
        client_ids: Iterable[int],
        updates: Updates | ArrayLike,
        num_examples: ArrayLike,
        losses: ArrayLike,
        failures: Iterable[Failure] = (),
        local_losses: ArrayLike | None = None,
        buffers: ArrayLike | None = None,
        gradients: Updates | ArrayLike | None = None,
        before: ArrayLike | None = None,
    ) -> None:
        ids = _client_ids(client_ids)
        m = len(ids)
        parts = {
            "client_ids": ids,
            "updates": _updates("updates", updates, m),
            "num_examples": _column("num_examples", num_examples, m),
            "losses": _column("losses", losses, m),
            "failures": _failures(failures),
            "local_losses": local_losses
            if local_losses is None
            else _column("local_losses", local_losses, m),
            "buffers": None if buffers is None else _matrix("buffers", buffers, m),
            "gradients": None if gradients is None else _updates("gradients", gradients, m),
            "before": None if before is None else _column("before", before, m),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    def select(self, rows: NDArray[Any]) -> Cohort:
        """Return the cohort of the given rows, a boolean mask or indices; failures are kept."""
        kept = np.arange(len(self.client_ids))[rows]
        if len(kept) == len(self.client_ids) and np.array_equal(kept, np.arange(len(kept))):
            return self  # never copy the (m, d) matrix for nothing
        parts = {"local_losses": self.local_losses, "buffers": self.buffers, "before": self.before}
        return Cohort(
            client_ids=tuple(self.client_ids[i] for i in kept),
            updates=self.updates.select(kept),
            num_examples=self.num_examples[kept],
            losses=self.losses[kept],
            failures=self.failures,
            gradients=None if self.gradients is None else self.gradients.select(kept),
            **{name: None if part is None else part[kept] for name, part in parts.items()},
        )


TrainCohort: TypeAlias = Callable[[Vector, tuple[int, ...], int], Cohort]
"""Given the model, the clients and the round, return what they made of it, in memory of its own."""


def _client_ids(values: Iterable[int]) -> tuple[int, ...]:
    ids = tuple(values)
    for value in ids:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            kind = type(value).__name__
            raise ValueError(f"client_ids must be whole numbers, got {value!r} of type {kind}.")  # noqa: TRY004
    return tuple(map(int, ids))


def _updates(name: str, value: Updates | ArrayLike, num_rows: int) -> Updates:
    if not isinstance(value, Updates):
        return DenseUpdates(_matrix(name, value, num_rows))
    if value.num_rows != num_rows:
        raise ValueError(
            f"{name} must have a row for each of the {num_rows} client_ids, got {value.num_rows}."
        )
    return value


def _matrix(name: str, value: ArrayLike, num_rows: int) -> Matrix:
    array = _numbers(name, value)
    if not num_rows and array.shape == (0,):
        return array.reshape(0, 0)  # no client, and so no width either
    if array.ndim != 2 or len(array) != num_rows:
        raise ValueError(
            f"{name} must have a row for each of the {num_rows} client_ids, got an array of shape "
            f"{array.shape}."
        )
    return array


def _failures(values: Iterable[Failure]) -> tuple[Failure, ...]:
    failures = tuple(values)
    for value in failures:
        if not isinstance(value, Failure):
            raise ValueError(f"failures must be Failure values, got {value!r}.")  # noqa: TRY004
    return failures


def _column(name: str, value: ArrayLike, num_rows: int) -> Vector:
    array = _numbers(name, value)
    if array.shape == (num_rows,):
        return array
    raise ValueError(
        f"{name} must have an entry for each of the {num_rows} client_ids, got an array of shape "
        f"{array.shape}."
    )


def _numbers(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return an array of real numbers, or say what came instead."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; fill it in, or leave those clients out.")  # noqa: TRY004
    try:
        array = np.asarray(value)
    except Exception as error:  # whatever a foreign array says for "not here" and "not so"
        raise ValueError(
            f"{name} of type {type(value).__name__} cannot be read as an array "
            f"({' '.join(str(error).split())}); give a NumPy array."
        ) from error
    if array.dtype.kind not in "iuf" and array.size:
        raise ValueError(f"{name} must be real numbers, got an array of {array.dtype}.")
    return array
