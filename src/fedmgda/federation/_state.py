"""What the server remembers between rounds, and what it says about one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda._types import RuleState, Vector
    from fedmgda.federation._protect import Protected
    from fedmgda.federation._selection import Selected
    from fedmgda.values import Aggregate, Cohort, Failure

__all__ = ["RoundRecord", "ServerState"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """Everything that goes from one round to the next: a checkpoint is exactly this.

    Attributes:
        round_num: The number of rounds done; 0 is the initial model.
        params: Of shape `(d + num_buffers,)`: the model, float buffers (batch norm) at the tail.
        rule_state: The memory of the rule, empty for most.
        average: The mean of the iterates so far, in float64, where the rule asks for it.
        failed_rounds: How many rounds in a row, up to now, had no usable update.
        selected: The best model so far, where the caller selects one; no round reads it.
        held_rounds: How many rounds in a row, up to now, were held; failed ones do not count.
        records: The digests of what the caller has written up to now, by file; no round reads it.
    """

    round_num: int
    params: Vector
    rule_state: RuleState
    average: Vector | None = None
    failed_rounds: int = 0
    selected: Selected | None = None
    held_rounds: int = 0
    records: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> Vector:
        """The model to evaluate and to keep: the average of the iterates, or the last one."""
        if self.average is None or self.round_num == 0:
            return self.params
        return self.average.astype(self.params.dtype)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRecord:
    """What happened in one round; no later round writes to what it holds.

    Attributes:
        round_num: The round, 1 for the first.
        sampled: The clients that were asked.
        cohort: What remained of their replies after the gate.
        quarantined: The clients whose reply was refused or never came, with the reason.
        aggregate: What became of it; None if the round failed.
        server_lr: The step of the server.
        protected: What protection made of the step; None without it, and if the round failed.
        failed: Why the model did not move, or None.
        seconds: Wall time by phase.
    """

    round_num: int
    sampled: tuple[int, ...]
    cohort: Cohort
    quarantined: tuple[Failure, ...]
    aggregate: Aggregate | None
    server_lr: float
    protected: Protected | None = None
    failed: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
