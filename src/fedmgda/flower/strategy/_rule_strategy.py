"""Any rule as a strategy of Flower, for people who have a Flower app."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flwr.app import ConfigRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

from fedmgda._errors import SpecError
from fedmgda.experiments import RunFolder, open_run
from fedmgda.flower.strategy._clients import StrategyClients
from fedmgda.flower.strategy._drawn_exchanges import DrawnExchanges, share_of
from fedmgda.flower.strategy._known_nodes import KnownNodes, wait_for_nodes
from fedmgda.flower.strategy._model_arrays import BATCH_NORM, ModelArrays
from fedmgda.flower.strategy._record import (
    known_facts,
    record_place,
    recorded_clients,
    strategy_spec,
)
from fedmgda.flower.strategy._reply_values import Keys
from fedmgda.flower.strategy._rounds import (
    Told,
    averages_of,
    final_arrays,
    log_failures,
    result_of,
    round_metrics,
    told_rounds,
)
from fedmgda.flower.strategy._settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Unpack

    from flwr.app import ArrayRecord, Message, MetricRecord
    from flwr.serverapp import Grid
    from flwr.serverapp.strategy import Result

    from fedmgda.federation import ServerState
    from fedmgda.flower.strategy._settings import FedAvgKeywords
    from fedmgda.rules import Rule

__all__ = ["RuleStrategy"]

_LOG = logging.getLogger("flwr")
_DAY = 86400.0


class RuleStrategy(FedAvg):
    """A strategy that aggregates by a rule of fedmgda, with the keywords of Flower's FedAvg.

    One round is one round of the engine: replies pass its gate (who raised, sent NaN, another
    shape or nothing is left out, with the reason), the rule weighs, and the certificate is taken.
    Which clients train is drawn from the seed over client ids: what a client says as "client-id"
    among its metrics, or in answer to a query (`tell_client_id`). A node that says nothing is
    numbered by its node id, which Flower draws anew for every run.

    With `record`, the whole history goes to a run folder that `open_run`, `fedmgda compare` and
    `fedmgda verify` read, and the same app started again goes on with it. To know how much data
    there is, everybody then trains once in the first round and evaluates before it.

    Attributes:
        rule: The rule.
    """

    def __init__(  # noqa: PLR0913 (flat keywords, as Flower's users know them)
        self,
        rule: Rule,
        *,
        seed: int = 0,
        server_lr: float = 1.0,
        schedule: Literal["constant", "median-norm"] | None = None,
        record: Path | str | None = None,
        gram: bool = False,
        buffers: Collection[str] = BATCH_NORM,
        num_clients: int | None = None,
        wait: float = 60.0,
        loss_key: str = "loss",
        test_loss_key: str | None = None,
        test_accuracy_key: str | None = None,
        **keywords: Unpack[FedAvgKeywords],
    ) -> None:
        """Take a rule and how it is used.

        Args:
            rule: How updates are combined.
            seed: Of the sampling.
            server_lr: The server's step.
            schedule: "constant" steps that long along d; "median-norm" so many times the median
                length of the updates, the default of rules that take updates at unit length.
            record: A run folder to write, on the machine of the ServerApp.
            gram: Whether the record keeps the products of the updates, which tell how alike
                clients are; without them λ is checked for all but its duality gap.
            buffers: Which float arrays of the model are buffers, by name or by what follows the
                last dot; they are averaged and no rule sees them. Whole numbers stay as they are.
            num_clients: How many clients there are; None counts the nodes that are connected at
                the start.
            wait: How long to wait for nodes, in seconds.
            loss_key: What a client calls the loss of the model it received, for rules that read it.
            test_loss_key: What it calls the loss of an evaluation; None finds it by its ending.
            test_accuracy_key: Likewise the accuracy.
            **keywords: Those of Flower's FedAvg.

        Raises:
            SpecError: If nobody would train.
        """
        super().__init__(**keywords)
        if not 0.0 < self.fraction_train <= 1.0:
            raise SpecError(f"fraction_train must lie in (0, 1], got {self.fraction_train}.")
        self.rule = rule
        normalizes = bool(getattr(rule, "normalize", False))
        self._settings = Settings(
            rule=rule,
            seed=seed,
            server_lr=server_lr,
            schedule=schedule or ("median-norm" if normalizes else "constant"),
            gram=gram,
            keys=Keys(
                examples=self.weighted_by_key,
                loss=loss_key,
                test_loss=test_loss_key,
                test_accuracy=test_accuracy_key,
            ),
        )
        self._record = None if record is None else Path(record)
        self._buffers, self._num_clients, self._wait = buffers, num_clients, wait
        self._averages = averages_of(self, keywords)
        self._exchanges: DrawnExchanges | None = None
        self._server: ServerState | None = None
        self._told: Told | None = None

    def summary(self) -> None:
        """Log what the strategy is."""
        super().summary()
        _LOG.info("\t└──> %r", self._settings)

    def start(  # noqa: PLR0913, PLR0917 (as Flower calls it)
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Carry out the rounds, those that are left where `record` holds some of them.

        Raises:
            FederationStalledError: If too few nodes come, or too many rounds in a row had no
                usable update.
            SpecError: If the rule reads losses and the clients say none.
            StoreError: If `record` holds another run.
        """
        self.summary()
        self._told = self._server = None
        with record_place(self._record) as place:
            known = recorded_clients(place)
            finished = known is not None and open_run(place).finished
            exchanges = self._begin(grid, initial_arrays, timeout, known, wait=not finished)
            clients = StrategyClients(
                self,
                exchanges,
                grid,
                configs=(train_config or ConfigRecord(), evaluate_config or ConfigRecord()),
                timeout=timeout,
                keys=self._settings.keys,
                reads_losses=self.rule.reads_losses,
                start=exchanges.arrays.vector(initial_arrays),
            )
            kept, settings = self._record is not None, self._settings
            spec = strategy_spec(settings, exchanges, rounds=num_rounds, timeout=timeout, kept=kept)
            folder = RunFolder.create(place, spec)
            if known is not None:
                clients.know(known_facts(place, exchanges.arrays))
            elif kept:
                clients.introduce()
            rounds = told_rounds(folder, clients, self.rule, self._averages[0])
            result = result_of(rounds, lambda told: self._tell(told, clients.replies), evaluate_fn)
            result.evaluate_metrics_clientapp.update(clients.evaluated)
            result.arrays = final_arrays(folder, exchanges.arrays)
            return result

    def _tell(self, told: Told, replies: Iterable[Message]) -> MetricRecord | None:
        """Let `aggregate_train` see the round, which may be that of a class below this one."""
        self._told = told
        arrays, metrics = self.aggregate_train(told.round_num, replies)
        if arrays is not None and arrays is not told.arrays and arrays != told.arrays:
            raise SpecError(
                f"aggregate_train of {type(self).__name__} returned another model than that of the "
                "rule; write a rule of your own (fedmgda.Rule) instead."
            )
        return metrics

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the messages for the clients that the seed draws."""
        if self._exchanges is None:
            if self._record is not None:
                raise SpecError(
                    "record needs this strategy to be started itself: what a wrapper makes of a "
                    "model is not written down; leave record out, or the wrapper."
                )
            self._begin(grid, arrays, _DAY, None, wait=True)
        exchanges = self._known()
        content = self._content(server_round, arrays, config)
        return exchanges.ask_to_train(server_round, arrays, content, grid)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the messages for the clients that evaluate."""
        if self.fraction_evaluate == 0.0:
            return []
        del grid
        exchanges = self._known()
        content = self._content(server_round, arrays, config)
        everyone = exchanges.nodes.num_clients
        count = share_of(everyone, self.fraction_evaluate, self.min_evaluate_nodes)
        return exchanges.ask_to_evaluate(server_round, count, arrays, content)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Make one round of the engine out of the replies; None where none of them is usable."""
        if self._told is not None and self._told.round_num == server_round:
            return self._told.arrays, self._told.metrics  # `start` made it
        exchanges = self._known()
        asked, received = exchanges.hear(replies)
        everyone = exchanges.nodes.num_clients
        self._server, record = self._settings.one_round(asked, received, self._server, everyone)
        log_failures(server_round, record.quarantined)
        if (step := record.aggregate) is None:
            return None, None
        averages = self._averages[0].of([received.contents[c] for c in step.client_ids])
        metrics = round_metrics(averages, step.client_ids, step.lam, step.norm, step.gap)
        return exchanges.arrays.record(self._server.params), metrics

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Average the metrics of the clients that evaluated; None where there are none."""
        _, received = self._known().hear(replies)
        log_failures(server_round, received.failures)
        return self._averages[1].of(list(received.contents.values()))

    def _begin(
        self, grid: Grid, arrays: ArrayRecord, timeout: float, known: int | None, *, wait: bool
    ) -> DrawnExchanges:
        """Find out who is there, and lay out the model."""
        layout = ModelArrays.of(arrays, self._buffers)
        wanted = max(self.min_available_nodes, self.min_train_nodes, self.min_evaluate_nodes, 1)
        nodes = wait_for_nodes(grid, wanted, self._wait) if wait else []
        everyone = known or self._num_clients or len(nodes)
        self._exchanges = DrawnExchanges(
            KnownNodes(everyone),
            layout,
            per_round=share_of(everyone, self.fraction_train, self.min_train_nodes),
            seed=self._settings.seed,
            timeout=timeout,
        )
        return self._exchanges

    def _content(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord) -> RecordDict:
        config["server-round"] = server_round
        return RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: config})

    def _known(self) -> DrawnExchanges:
        if self._exchanges is None:
            raise RuntimeError("Nobody was asked; a strategy configures before it aggregates.")
        return self._exchanges
