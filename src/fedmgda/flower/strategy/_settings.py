"""What a strategy is told: Flower's keywords and ours, and the engine that they stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypedDict, final

from fedmgda.federation import Constant, Federation, MedianNorm, initial_state, run_round
from fedmgda.flower.strategy._reply_values import Keys, cohort_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from flwr.app import MetricRecord, RecordDict

    from fedmgda.federation import RoundRecord, ServerState
    from fedmgda.flower.strategy._received import Asked, Received
    from fedmgda.rules import Rule

__all__ = ["FedAvgKeywords", "Settings", "StrategyKeywords"]


class FedAvgKeywords(TypedDict, total=False):
    """The keywords of Flower's own FedAvg, which mean here what they mean there."""

    fraction_train: float
    fraction_evaluate: float
    min_train_nodes: int
    min_evaluate_nodes: int
    min_available_nodes: int
    weighted_by_key: str
    arrayrecord_key: str
    configrecord_key: str
    train_metrics_aggr_fn: Callable[[list[RecordDict], str], MetricRecord] | None
    evaluate_metrics_aggr_fn: Callable[[list[RecordDict], str], MetricRecord] | None


class StrategyKeywords(FedAvgKeywords, total=False):
    """All keywords of a `RuleStrategy` but its rule."""

    seed: int
    server_lr: float
    schedule: Literal["constant", "median-norm"] | None
    record: Path | str | None
    gram: bool
    buffers: Collection[str]
    num_clients: int | None
    wait: float
    loss_key: str
    test_loss_key: str | None
    test_accuracy_key: str | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a strategy does beside choosing whom to ask.

    Attributes:
        rule: How updates are combined.
        seed: Of the sampling.
        server_lr: The server's step.
        schedule: Whether it is that long, or so many times the median length of the updates.
        gram: Whether a record keeps the products of the updates.
        keys: What clients call their numbers.
    """

    rule: Rule
    seed: int
    server_lr: float
    schedule: Literal["constant", "median-norm"]
    gram: bool
    keys: Keys

    def one_round(
        self, asked: Asked, received: Received, server: ServerState | None, num_clients: int
    ) -> tuple[ServerState, RoundRecord]:
        """Make one round of the engine out of an exchange.

        Args:
            asked: What was sent; its model is the one that is moved.
            received: What came back.
            server: What the round before left; None before the first.
            num_clients: How many clients there are.
        """
        cohort = cohort_of(asked, received, self.keys, reads_losses=self.rule.reads_losses)
        step = Constant if self.schedule == "constant" else MedianNorm
        federation = Federation(
            train_cohort=lambda *_: cohort,
            rule=self.rule,
            sampler=lambda _: asked.clients,
            num_clients=num_clients,
            schedule=step(server_lr=self.server_lr),
            num_buffers=asked.arrays.num_buffers,
        )
        before = server or initial_state(federation, asked.params)
        before = replace(before, round_num=asked.round_num - 1, params=asked.params)
        return run_round(federation, before)
