"""The engine: one round, and the loop over rounds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._blas import blas_threads
from fedmgda._errors import FederationStalledError, FedmgdaError, SpecError
from fedmgda._random import Stream, generator
from fedmgda.federation._gate import admit
from fedmgda.federation._protect import Protection, TrainingLosses, protect
from fedmgda.federation._schedules import Constant, Schedule
from fedmgda.federation._state import RoundRecord, ServerState
from fedmgda.rules import center_weights
from fedmgda.values import DenseUpdates, Weighing, aggregate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedmgda._types import RuleState, Vector
    from fedmgda.federation._protect import Protected
    from fedmgda.federation._sampling import Sampler
    from fedmgda.rules import Rule
    from fedmgda.values import Aggregate, Cohort, TrainCohort

__all__ = ["Federation", "initial_state", "run_round", "simulate"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """Everything that stays the same from round to round.

    Attributes:
        train_cohort: The other side, be it threads, processes or a network: given the model, the
            clients and the round, it returns what they made of it.
        rule: How their updates are combined.
        sampler: Who takes part.
        num_clients: The number of clients, with ids from 0.
        schedule: The server's step.
        seed: The seed of the sampling.
        num_buffers: How many entries at the tail of a vector are float buffers (batch norm): they
            are averaged with λ0 and never enter a norm or a Gram matrix.
        max_failed_rounds: After so many rounds in a row without a usable update the run stops.
        client_names: What the clients are called where the user is told of them, by their ids.
        protection: How steps are protected; then `train_cohort` must also bring the gradients and
            losses at w_t, and `losses` must be there. None takes the rule's steps as they are.
        losses: Asks participants what their training losses are under other models.
        trials_at_once: How many lengths of a step they are asked about in one exchange.
    """

    train_cohort: TrainCohort
    rule: Rule
    sampler: Sampler
    num_clients: int
    schedule: Schedule = Constant()  # noqa: RUF009 (frozen: one shared value is safe)
    seed: int = 0
    num_buffers: int = 0
    max_failed_rounds: int = 5
    client_names: Sequence[str] | None = None
    protection: Protection | None = None
    losses: TrainingLosses | None = None
    trials_at_once: int = 1

    def __post_init__(self) -> None:
        if self.protection is None:
            return
        if self.losses is None:
            raise ValueError("protection needs losses, which asks the participants for theirs.")
        if self.rule.average_iterates:
            raise SpecError(
                "An average of models is not protected, only each step is; leave server.protect "
                "out, or set rule.average_iterates to false."
            )


def initial_state(federation: Federation, params: Vector) -> ServerState:
    """Return the server before its first round."""
    return ServerState(
        round_num=0,
        params=params,
        rule_state=federation.rule.init(federation.num_clients),
        average=np.zeros(len(params)) if federation.rule.average_iterates else None,
    )


def simulate(
    federation: Federation, server: ServerState
) -> Iterator[tuple[ServerState, RoundRecord]]:
    """Yield the server and the record after each round, for ever: the caller's loop decides.

    Raises:
        FederationStalledError: If too many rounds in a row had no usable update.
    """
    while True:
        server, record = run_round(federation, server)
        yield server, record
        if server.failed_rounds >= federation.max_failed_rounds:
            why = _why(record, federation.client_names)
            raise FederationStalledError(
                f"No usable update in {server.failed_rounds} rounds in a row, up to round "
                f"{server.round_num} ({why}); the model is that of round "
                f"{server.round_num - server.failed_rounds}. Look at the quarantined clients."
            )


def _why(record: RoundRecord, names: Sequence[str] | None) -> str:
    if not record.quarantined:
        return str(record.failed)
    first = record.quarantined[0]
    who = names[first.client_id] if names else first.client_id
    return f"client {who}: {first.reason}"


def run_round(federation: Federation, server: ServerState) -> tuple[ServerState, RoundRecord]:
    """Sample, train, gate, aggregate, protect where that is asked for, step."""
    round_num = server.round_num + 1
    sampled = federation.sampler(generator(federation.seed, Stream.SAMPLING, round_num))
    clock = _Clock()
    # A copy: whoever is out there, the server's model is its own.
    replies = federation.train_cohort(server.params.copy(), sampled, round_num)
    clock.lap("train")
    with blas_threads(len(sampled) ** 2 * len(server.params)):
        cohort, quarantined = admit(
            replies,
            server.params,
            sampled,
            federation.num_buffers,
            gradients=federation.protection is not None,
        )
        clock.lap("gate")
        proposal = _propose(federation, server, cohort)
        clock.lap("aggregate")
    server, protected, failed = _advance(federation, server, cohort, proposal)
    if federation.protection is not None:
        clock.lap("protect")
    return server, RoundRecord(
        round_num=round_num,
        sampled=sampled,
        cohort=cohort,
        quarantined=quarantined,
        aggregate=None if failed or proposal is None else proposal.aggregate,
        server_lr=proposal.server_lr if proposal else 0.0,
        protected=protected,
        failed=failed,
        seconds=clock.seconds,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Proposal:
    """What a rule proposes: z = η_t d for the parameters, and how the float buffers move."""

    aggregate: Aggregate
    rule_state: RuleState
    server_lr: float
    buffers: Vector | None

    def step(self, size: int) -> Vector:
        """Return z and the way of the buffers as one vector, of shape `(d + num_buffers,)`."""
        step = np.zeros(size)
        d = len(self.aggregate.direction)
        with np.errstate(over="ignore", invalid="ignore"):
            step[:d] = self.server_lr * self.aggregate.direction
        if self.buffers is not None:
            step[d:] = self.buffers
        return step

    def applied(self, params: Vector) -> Vector:
        """Return the model after the step as it was proposed."""
        params, d = params.copy(), len(self.aggregate.direction)
        with np.errstate(over="ignore", invalid="ignore"):
            params[:d] -= self.server_lr * self.aggregate.direction
            if self.buffers is not None:
                params[d:] -= self.buffers
        return params


def _propose(federation: Federation, server: ServerState, cohort: Cohort) -> _Proposal | None:
    if not cohort.client_ids:
        return None
    rule, round_num = federation.rule, server.round_num + 1
    if rule.needs_rows and not isinstance(cohort.updates, DenseUpdates):
        raise SpecError(
            f"{type(rule).__name__} needs the updates themselves, and here only their products are "
            "known; use a rule that weighs."
        )
    step, rule_state = _decide(rule, cohort, server.rule_state, round_num)
    buffers = None
    if cohort.buffers is not None:
        lam0 = center_weights("uniform", cohort.num_examples)
        buffers = lam0 @ cohort.buffers.astype(np.float64)
    return _Proposal(step, rule_state, federation.schedule(round_num, cohort), buffers)


def _advance(
    federation: Federation, server: ServerState, cohort: Cohort, proposal: _Proposal | None
) -> tuple[ServerState, Protected | None, str | None]:
    """Make the proposed step, protected where that is asked for; say why none could be made."""
    if proposal is None:
        return _stay(server), None, "no client returned a usable update"
    protection, losses, protected = federation.protection, federation.losses, None
    if protection is None or losses is None:
        params = proposal.applied(server.params)
        usable = bool(np.isfinite(params).all())
    else:
        step, params = proposal.step(len(server.params)), server.params
        usable = bool(np.isfinite(step).all())
        if usable:
            at_once = federation.trials_at_once
            params, protected = protect(protection, params, step, cohort, losses, at_once)
    if not usable:
        return _stay(server), None, "the step left the range of the model's numbers"
    if protected is not None and protected.held:
        return _hold(server, proposal.rule_state), protected, None
    return _move(server, params, proposal.rule_state), protected, None


def _decide(
    rule: Rule, cohort: Cohort, state: RuleState, round_num: int
) -> tuple[Aggregate, RuleState]:
    """Let the rule weigh and combine; a rule may be anybody's, so its answer is looked at."""
    name = type(rule).__name__
    try:
        match rule.weigh(cohort, state, round_num):
            case (Weighing() as weighing, Mapping() as after) if all(
                map(_is_numbers, after.items())
            ):
                return aggregate(cohort, weighing), after  # Alg. 1, line 7
    except FedmgdaError:
        raise
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SpecError(
            f"The rule {name} raised {reason} in round {round_num}; correct it."
        ) from error
    raise SpecError(
        f"weigh(cohort, state, round_num) of the rule {name} must return a Weighing and a state, a "
        "dict of arrays of numbers by name; correct it."
    )


def _is_numbers(item: tuple[object, object]) -> bool:
    key, array = item
    return isinstance(key, str) and isinstance(array, np.ndarray) and array.dtype.kind in "biuf"


def _stay(server: ServerState) -> ServerState:
    stayed = _move(server, server.params, server.rule_state)
    failed = server.failed_rounds + 1
    return replace(stayed, failed_rounds=failed, held_rounds=server.held_rounds)


def _hold(server: ServerState, rule_state: RuleState) -> ServerState:
    """Go to the next round with the same model; to hold is not to fail."""
    held, failed = server.held_rounds + 1, server.failed_rounds
    stayed = _move(server, server.params, rule_state)
    return replace(stayed, failed_rounds=failed, held_rounds=held)


def _move(server: ServerState, params: Vector, rule_state: RuleState) -> ServerState:
    round_num, average = server.round_num + 1, server.average
    if average is not None:
        average = average + (params.astype(np.float64) - average) / round_num
    return ServerState(
        round_num=round_num, params=params, rule_state=rule_state, average=average, failed_rounds=0
    )


class _Clock:
    """Wall time by phase, on the monotonic clock."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.seconds[phase] = now - self._last
        self._last = now
