"""What clients said of a model before they were asked, so that nobody is asked for it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from fedmgda.flower.server._gather import cohort_of, evaluation_of, read_rows
from fedmgda.flower.server._worth import gradient_worth, score_worth, sorted_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.flower.server._gather import Asked, Columns
    from fedmgda.flower.server._grid_exchanges import Heard
    from fedmgda.flower.server._worth import Worth
    from fedmgda.values import ClientFacts, Cohort, Evaluation

__all__ = ["Foretold", "Shapes", "scores"]

_ONE = ((), np.float64)


@final
@dataclass(frozen=True, slots=True)
class Shapes:
    """How large what a client sends must be: that of a model with d parameters and its buffers."""

    num_params: int
    num_buffers: int

    def trained(self, *, gradients: bool) -> Columns:
        """Return the columns of a cohort that has trained."""
        columns = {**self.differentiated(), "local_losses": _ONE}
        if self.num_buffers:
            columns["buffers"] = ((self.num_buffers,), np.float32)
        if gradients:
            columns |= {"gradients": ((self.num_params,), np.float32), "before": _ONE}
        return columns

    def differentiated(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Return the columns of a cohort whose updates are gradients."""
        updates = ((self.num_params,), np.float32)
        return {"updates": updates, "num_examples": _ONE, "losses": _ONE}


def scores(num_models: int | None) -> Columns:
    """Return the columns of an evaluation of k models; None is one that was given by itself."""
    shape = () if num_models is None else (num_models,)
    return {"losses": (shape, np.float64), "accuracies": (shape, np.float64)}


@final
class Foretold:
    """What came along with other answers: evaluations by their split, and "gradients"."""

    def __init__(self, shapes: Shapes, facts: ClientFacts) -> None:
        self._shapes, self._facts = shapes, facts
        self._known: dict[str, _Told] = {}

    def clear(self) -> None:
        """Forget everything: another round begins."""
        self._known = {}

    def keep(
        self,
        names: Sequence[str],
        params: Vector,
        client_ids: Sequence[int],
        heard: Heard,
        asked: Asked,
    ) -> None:
        """Keep what came along, where it came from everybody and can be; or it is asked again.

        Args:
            names: What was asked for: splits, and "gradients".
            params: Of which model.
            client_ids: The clients.
            heard: What their nodes answered.
            asked: What their nodes were asked.
        """
        worth: Worth
        for name in names:
            columns: Columns = scores(None)
            if name == "gradients":
                columns, worth = self._shapes.differentiated(), gradient_worth
            else:
                worth = score_worth(self._facts, cast("Split", name))
            rows, reasons = read_rows(heard, asked, columns, f"also.{name}.")
            rows, _ = sorted_out(rows, reasons, worth)
            if rows.keys() >= set(client_ids):
                self._known[name] = _Told(params.copy(), rows)

    def evaluation(
        self, split: Split, params: Vector | Matrix, client_ids: Sequence[int]
    ) -> Evaluation | None:
        """Return how a model does on a split, if that is known of all these clients."""
        rows = self._rows(split, params, client_ids)
        if rows is None:
            return None
        sizes = self._facts.sizes[split][list(client_ids)].astype(np.float64)
        return evaluation_of(rows, {}, client_ids, sizes, None)

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Cohort | None:
        """Return the gradients at a model, if those of all these clients are known."""
        rows = self._rows("gradients", params, client_ids)
        columns = self._shapes.differentiated()
        return None if rows is None else cohort_of(rows, {}, client_ids, columns)

    def _rows(
        self, name: str, params: Vector | Matrix, client_ids: Sequence[int]
    ) -> Mapping[int, Mapping[str, NDArray[Any]]] | None:
        told = self._known.get(name)
        if told is None or not np.array_equal(told.params, params):
            return None
        return told.rows if told.rows.keys() >= set(client_ids) else None


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    params: Vector
    rows: Mapping[int, Mapping[str, NDArray[Any]]]
