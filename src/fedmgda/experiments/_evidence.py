"""What a verdict is made of: the records of a run, as they lie in its folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda._text import listed
from fedmgda.experiments._results import read_predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fedmgda._types import Vector
    from fedmgda.experiments._reader import Run
    from fedmgda.experiments._rows import EvaluationRow, Gram, RoundRow, RowPredictions
    from fedmgda.experiments._spec import Spec
    from fedmgda.values import Clients

__all__ = ["Evidence", "average_accuracy", "average_loss", "evidence_of"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """All that a verdict is made of.

    Attributes:
        spec: The resolved spec.
        rounds: The rounds.
        evaluations: The evaluations, that of the initial model first.
        judged: The evaluation of the model that is kept.
        gram: Returns what was kept of the Gram matrix of a round.
        cone_gram: Returns what was kept of that of the unit gradients of a protected round.
        predictions: What that model says of every test example, where it was kept.
        target_sums: Sums of the training targets, where they are known.
        names: What the clients are called, where they have names.
        class_names: What the classes are called, where they have names.
        num_buffers: How many numbers of the model are running statistics.
    """

    spec: Spec
    rounds: Sequence[RoundRow]
    evaluations: Sequence[EvaluationRow]
    judged: EvaluationRow
    gram: Callable[[int], Gram | None]
    cone_gram: Callable[[int], Gram | None]
    predictions: RowPredictions | None = None
    target_sums: Vector | None = None
    names: Sequence[str] | None = None
    class_names: Sequence[str] | None = None
    num_buffers: int = 0

    def name(self, client: int) -> str:
        """Return what a client is called, so that a number is seen to be a name."""
        name = self.names[client] if self.names else str(client)
        return f"client {name}" if name.isdecimal() else name

    def listed(self, clients: Sequence[int]) -> str:
        """Return what some clients are called."""
        return listed([self.name(client) for client in clients], 5, last=" and ")


def evidence_of(
    run: Run, spec: Spec, clients: Clients, judged: EvaluationRow, predictions: bytes | None
) -> Evidence:
    """Return what a run that is about to end is judged by: the same that its folder will hold."""
    return Evidence(
        spec=spec,
        rounds=run.rounds,
        evaluations=run.evaluations,
        judged=judged,
        gram=run.gram,
        cone_gram=run.cone_gram,
        predictions=None if predictions is None else read_predictions(predictions),
        target_sums=clients.facts.target_sums,
        names=clients.client_names,
        class_names=clients.facts.class_names,
        num_buffers=clients.num_buffers,
    )


def average_loss(row: EvaluationRow) -> float | None:
    """Return the test loss averaged over honest clients; None where one is not finite."""
    return None if row.honest.loss is None else row.honest.loss["average"]


def average_accuracy(row: EvaluationRow) -> float:
    """Return the test accuracy averaged over honest clients; NaN where there is none."""
    value = (row.honest.accuracy or {}).get("average")
    return float("nan") if value is None else value
