"""The clients of somebody's Flower app, as the engine knows clients."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Protocol, final

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.flower.strategy._received import Received
from fedmgda.flower.strategy._record import new_facts
from fedmgda.flower.strategy._reply_values import cohort_of, evaluation_of, sizes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
    from flwr.serverapp import Grid

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.flower.strategy._drawn_exchanges import DrawnExchanges
    from fedmgda.flower.strategy._received import Asked
    from fedmgda.flower.strategy._reply_values import Keys
    from fedmgda.values import ClientFacts, Clients, Cohort, Evaluation

__all__ = ["StrategyClients"]


_NO_NAMES: tuple[str, ...] | None = None


class Asking(Protocol):
    """The part of a strategy that says whom to ask, and what becomes of evaluations."""

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the messages of a round."""

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the messages of an evaluation."""

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Return what is told of an evaluation."""


@final
class StrategyClients:
    """Whoever answers a strategy's messages: they train, evaluate, and are asked nothing else.

    Attributes:
        arrays: Where the arrays of the model lie.
        model: Of shape `(d + num_buffers,)`: the model after the last round.
        replies: What came in the last training exchange.
        trained: The same by client, as far as it counts.
        evaluated: What the strategy made of evaluations, by round.
    """

    def __init__(  # noqa: PLR0913 (who asks, how, and what is known)
        self,
        strategy: Asking,
        exchanges: DrawnExchanges,
        grid: Grid,
        *,
        configs: tuple[ConfigRecord, ConfigRecord],
        timeout: float,
        keys: Keys,
        reads_losses: bool,
        start: Vector,
    ) -> None:
        self.path, self.client_names, self.models_at_once = "flower", _NO_NAMES, 1
        self.num_clients = exchanges.nodes.num_clients
        self.arrays = exchanges.arrays
        self.num_params, self.num_buffers = self.arrays.num_params, self.arrays.num_buffers
        self.model: Vector = start
        self.replies: list[Message] = []
        self.trained: Mapping[int, RecordDict] = {}
        self.evaluated: dict[int, MetricRecord] = {}
        self._strategy, self._exchanges, self._grid = strategy, exchanges, grid
        self._configs, self._timeout = configs, timeout
        self._keys, self._reads_losses = keys, reads_losses
        self._start, self._round = start, 0
        self._first_round: tuple[Asked, Received] | None = None
        self._first_evaluation: Received | None = None
        nothing = np.zeros(self.num_clients)
        self.facts = new_facts(nothing, nothing, exchanges.arrays, {})
        self._sizes_known = False

    def know(self, facts: ClientFacts) -> None:
        """Take what a run that goes on knows of its clients."""
        self.facts, self._sizes_known = facts, True

    def introduce(self) -> None:
        """Let everyone train and evaluate the initial model, to learn how much data there is.

        What comes is the first round's and the first evaluation's, and nobody is asked twice.
        """
        self._exchanges.everyone = True
        self._first_round = self._train(self._start, 1)
        self._first_evaluation = self._evaluate(self._start, 0)
        self._exchanges.everyone = False
        train = sizes_of(self._first_round[1], self._keys, self.num_clients)
        test = sizes_of(self._first_evaluation, self._keys, self.num_clients)
        numbered = self._exchanges.nodes.numbered
        self.know(new_facts(train, test, self.arrays, numbered))

    def initial_params(self) -> Vector:
        """Return the model that the app starts from."""
        return self._start

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let the clients of a round train."""
        del gradients, known
        asked, received = self._first_round or self._train(params, round_num)
        self._round, self._first_round = round_num, None
        received = received.of(client_ids)
        self.trained = received.contents
        asked = replace(asked, clients=tuple(client_ids))
        return cohort_of(asked, received, self._keys, reads_losses=self._reads_losses)

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Return how a model does on the test examples of those that are asked."""
        del client_ids, predictions
        if split != "test":
            raise _not_asked(f"losses on {split} examples")
        self.model = np.array(params)
        received = self._first_evaluation or self._evaluate(self.model, self._round)
        self._first_evaluation = None
        sizes: Vector = self.facts.sizes["test"].astype(np.float64)
        if not self._sizes_known:
            sizes = sizes_of(received, self._keys, self.num_clients)
        return evaluation_of(received, self._keys, sizes)

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> NoReturn:
        """Refuse: nobody's own app tells gradients."""
        del params, client_ids
        raise _not_asked("gradients")

    def close(self) -> None:
        """Leave the nodes as they are."""

    def _train(self, params: Vector, round_num: int) -> tuple[Asked, Received]:
        model = self.arrays.record(params)
        messages = self._strategy.configure_train(round_num, model, self._configs[0], self._grid)
        self.replies = self._send(messages)
        return self._exchanges.hear(self.replies)

    def _evaluate(self, params: Vector, round_num: int) -> Received:
        unasked = Received(contents={}, failures=())
        if not (round_num or self._sizes_known or self._exchanges.everyone):
            return unasked  # as Flower does, where nothing is written down
        model, ask = self.arrays.record(params), self._strategy.configure_evaluate
        messages = list(ask(round_num, model, self._configs[1], self._grid))
        if not messages:
            return unasked
        replies = self._send(messages)
        metrics = self._strategy.aggregate_evaluate(round_num, replies)
        if metrics is not None:
            self.evaluated[round_num] = metrics
        return self._exchanges.hear(replies)[1]

    def _send(self, messages: Iterable[Message]) -> list[Message]:
        pending = list(messages)
        return list(self._grid.send_and_receive(pending, timeout=self._timeout)) if pending else []


def _not_asked(what: str) -> SpecError:
    return SpecError(f"The clients of a Flower app are not asked for {what}; run a spec instead.")


if TYPE_CHECKING:

    def _is_a_kind_of_clients(clients: StrategyClients) -> Clients:
        return clients
