"""What a run writes down, line by line and at its end: the same types are written and read.

A field that format 1 did not have is None in what it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, final

from fedmgda._json import json_field
from fedmgda._types import Vector  # noqa: TC001 (read at run time, as are the others)
from fedmgda.experiments._protection import ProtectionSummary  # noqa: TC001
from fedmgda.experiments._verdict import Verdict  # noqa: TC001
from fedmgda.values import Failure  # noqa: TC001

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices, Matrix

__all__ = [
    "OF_A_LOSS",
    "ClassResult",
    "ClientResult",
    "EvaluationRow",
    "Gram",
    "GramPlace",
    "GroupSummary",
    "Measures",
    "MetricsSummary",
    "NamedClient",
    "ProtectionRow",
    "RoundRow",
    "RowPredictions",
    "Summary",
    "TimingRow",
]

Measures: TypeAlias = Mapping[str, float | None]
"""The fields of a `fedmgda.metrics.Fairness`, or some of them, by name."""

OF_A_LOSS = (
    "num_users", "average", "average_weighted", "std", "variance_unweighted", "variance_weighted",
    "percentile_5", "percentile_95", "min", "max",
)  # fmt: skip
"""Those that take a large value neither for good nor for bad."""

# What a row has for each client.
_TRAINED = (
    "num_examples", "norms", "local_losses", "losses_before", "losses_after", "lam", "inner",
)  # fmt: skip
_PROTECTED = (
    "gradient_norms", "omega_lam", "inner", "multipliers", "before", "after", "moved_inner",
)  # fmt: skip
_EVALUATED = ("accuracies", "losses", "num_examples")


def _check_lengths(row: object, clients: int, names: tuple[str, ...], where: str = "") -> None:
    for name in names:
        values = getattr(row, name)
        if values is not None and len(values) != clients:
            raise ValueError(f"{where}{name} has {len(values)} entries for {clients} clients")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GramPlace:
    """Where in `gram.bin` the matrix of a round lies.

    Attributes:
        offset: Its first byte.
        rows: m, the participants.
        columns: m again; fewer are the columns of the participants whose λ is not 0, in order.
        sha256: The digest of its `8 * rows * columns` bytes, in hexadecimal digits.
    """

    offset: int
    rows: int
    columns: int
    sha256: str


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProtectionRow:
    """What protection made of the step of a round, over its m participants.

    Attributes:
        gradient_norms: Of shape `(m,)`: ‖∇f_i(w_t)‖; u_i is the gradient divided by it.
        omega: ω, the length of the min-norm point of the u_i in the cone; None if nobody is in it.
        omega_lam: Of shape `(m,)`: λ of that point; 0 for who is not in the cone.
        omega_gap: Its duality gap.
        margin: min(κ ω, 0.3): how far inside the cone the step lies, over ‖z‖.
        inner: Of shape `(m,)`: ⟨u_i, z⟩ for the step z = η_t d that the rule proposed.
        multipliers: Of shape `(m,)`: v, so that z' = z + Σ v_i u_i; 0 for who is not in the cone.
        gap: The duality gap of v.
        violation: How far z' lies outside the cone.
        overridden: The clients that were left out of the cone, as far as the spec allows it.
        step_norm: ‖z‖.
        turned_norm: ‖z'‖.
        scale: s, the share of z' that was made; None where the round is held.
        opposed: For each s = 1, 1/2, ... that was tried, the clients whose loss rose.
        other_opposed: Likewise of attempts that came to nothing: with another cone, where `allow`
            gives one, or with running statistics that move or stay.
        buffers_stayed: Whether the step was made with running statistics that stay.
        before: Of shape `(m,)`: f_i(w_t) as the participants said it.
        after: Of shape `(m,)`: f_i(w_{t+1}) as they said it; None where the round is held.
        moved_norm: ‖Δ‖ for Δ = w_t - w_{t+1}, as it was really made.
        moved_inner: Of shape `(m,)`: ⟨u_i, Δ⟩.
        reason: Why the round is held: "stationary", "unmoved" or "opposed"; None where it is not.
        model: The sha256 that `model.safetensors` would have with w_{t+1}.
        gram: Where the Gram matrix of the u_i lies; None where it was not kept.
    """

    gradient_norms: Vector
    omega: float | None
    omega_lam: Vector
    omega_gap: float
    margin: float
    inner: Vector
    multipliers: Vector
    gap: float
    violation: float
    overridden: tuple[int, ...]
    step_norm: float
    turned_norm: float
    scale: float | None
    opposed: tuple[tuple[int, ...], ...]
    other_opposed: tuple[tuple[int, ...], ...] = json_field(default=(), omit=True)
    buffers_stayed: bool = json_field(default=False, omit=True)
    before: Vector
    after: Vector | None
    moved_norm: float
    moved_inner: Vector
    reason: str | None
    model: str
    gram: GramPlace | None = None

    def check(self, clients: int) -> None:
        """Refuse a row that has not one entry for each participant."""
        _check_lengths(self, clients, _PROTECTED, "protection.")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundRow:
    """One line of `rounds.jsonl`: what happened in a round, over its m participants.

    Attributes:
        round_num: The round, 1 for the first.
        client_ids: The m clients whose update counted.
        server_lr: The step of the server.
        num_examples: Of shape `(m,)`: how many training examples each claims.
        norms: Of shape `(m,)`: ‖g_i‖.
        local_losses: Of shape `(m,)`: the mean of the batch losses while training.
        losses_before: Of shape `(m,)`: f_i(w_t); None where it was not measured.
        losses_after: Of shape `(m,)`: f_i(w_{t+1}); None where it was not measured.
        improved: The share of honest participants whose loss did not rise, in percent.
        quarantined: The clients that do not count, with the reason.
        failed: Why the model did not move, or None.
        lam: Of shape `(m,)`, λ; None, as what follows, in a round that failed.
        norm: ‖d‖.
        gap: The duality gap of the problem λ solves.
        inner: Of shape `(m,)`: ⟨g_i, d⟩.
        min_inner: The least of them.
        sacrificed: The clients whose ⟨g_i, d⟩ is negative beyond rounding; nobody in a stall.
        dropped: The clients whose update was zero and that the rule left out.
        held: Whether protection left the model where it was.
        stalled: Whether the updates cancel, so that d points nowhere; None where nobody looked.
        gram: Where the Gram matrix of the updates lies; None where it was not kept.
        protection: What protection made of the step; None without it.
        previous: The sha256 of all bytes of the file before this line.
    """

    round_num: int = json_field("round")
    client_ids: tuple[int, ...] = json_field("clients")
    server_lr: float
    num_examples: Vector | None = None
    norms: Vector | None = None
    local_losses: Vector | None = None
    losses_before: Vector | None = None
    losses_after: Vector | None = None
    improved: float | None = None
    quarantined: tuple[Failure, ...]
    failed: str | None = None
    lam: Vector | None = None
    norm: float | None = None
    gap: float | None = None
    inner: Vector | None = None
    min_inner: float | None = None
    sacrificed: tuple[int, ...] | None = None
    dropped: tuple[int, ...] | None = None
    held: bool | None = None
    stalled: bool | None = None
    gram: GramPlace | None = None
    protection: ProtectionRow | None = json_field(default=None, omit=True)  # noqa: RUF009
    previous: str | None = None

    def __post_init__(self) -> None:
        """Refuse a row that has not one entry for each participant."""
        _check_lengths(self, len(self.client_ids), _TRAINED)
        if self.protection is not None:
            self.protection.check(len(self.client_ids))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    """How some users are served.

    Attributes:
        users: How many have test examples and could be evaluated.
        accuracy: The summary of their accuracies; None for a regression or a diverged model.
        loss: The summary of their losses; None where one is not finite.
    """

    users: int
    accuracy: Measures | None = None
    loss: Measures | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvaluationRow:
    """One line of `evaluations.jsonl`: how n users are served by the model after a round.

    Attributes:
        round_num: The round; 0 is the initial model.
        client_ids: The n users.
        accuracies: Of shape `(n,)`, on the test split, in [0, 1]; NaN where there is none.
        losses: Of shape `(n,)`, on the test split.
        num_examples: Of shape `(n,)`: the test examples.
        honest: The summary over the users that do not attack.
        all_users: The summary over everyone, where somebody attacks.
        pareto_residual: min ‖Jλ‖ over the full gradients, where it was asked for.
        validation_score: The mean loss or accuracy of honest users on their validation splits,
            where a model is selected by it; None where one of them is not finite.
        global_accuracy: On the official test set of the data, where that was asked for.
        global_loss: Likewise.
        failures: The users that could not be evaluated, with the reason.
        previous: The sha256 of all bytes of the file before this line.
    """

    round_num: int = json_field("round")
    client_ids: tuple[int, ...] = json_field("clients")
    accuracies: Vector
    losses: Vector
    num_examples: Vector
    honest: GroupSummary
    all_users: GroupSummary | None = json_field("all", default=None, omit=True)  # noqa: RUF009
    pareto_residual: float | None = json_field(default=None, omit=True)
    validation_score: float | None = json_field(default=None, omit=True)
    global_accuracy: float | None = json_field(default=None, omit=True)
    global_loss: float | None = json_field(default=None, omit=True)
    failures: tuple[Failure, ...] = json_field(default=(), omit=True)
    previous: str | None = None

    def __post_init__(self) -> None:
        """Refuse a row that has not one entry for each user."""
        _check_lengths(self, len(self.client_ids), _EVALUATED)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TimingRow:
    """One line of `timings.jsonl`: the seconds of a round, by phase."""

    round_num: int
    seconds: Mapping[str, float]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NamedClient:
    """A client that has a name, at the last evaluation."""

    name: str
    accuracy: float | None = None
    loss: float | None = None
    num_examples: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClassResult:
    """What became of the test rows of one class.

    Attributes:
        name: What the class is called, or its number.
        rows: How many test rows are of it.
        found: How many of them the model gives this class.
        predicted: How many rows of any class the model gives this class.
    """

    name: str
    rows: int
    found: int
    predicted: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSummary:
    """The metrics of the trained model on the test rows of the users that do not attack.

    Attributes:
        pooled: Each metric over all rows; None where it is not defined.
        over_clients: The metric whose values for single clients `fairness` is about.
        fairness: The summary of those values over the clients that have one.
        positive: Of two classes, the one that recall and F1 are about: the rarer in training.
        classes: Every class.
    """

    pooled: Mapping[str, float | None]
    over_clients: str
    fairness: Measures | None = None
    positive: str | None = json_field(default=None, omit=True)
    classes: tuple[ClassResult, ...] = json_field(default=(), omit=True)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a finished run is remembered by, `summary.json`.

    Attributes:
        round_num: The round of the model: of the last evaluation, or of the selected one.
        honest: The summary over the users that do not attack.
        all_users: The summary over everyone, where somebody attacks.
        pareto_residual: Of the last evaluation, where it was asked for.
        improved: The mean share of improved participants over the rounds that measured it.
        improved_last_50: The same over the last 50 rounds.
        rounds_that_sacrificed: In how many rounds some ⟨g_i, d⟩ was negative, beyond rounding.
        rounds_stalled: In how many rounds the updates cancelled; None where nobody looked.
        rounds_failed: In how many rounds the model did not move.
        quarantined: How many replies did not count.
        dropped: How many updates were zero and left out.
        global_accuracy: On the official test set of the data, where that was asked for.
        global_loss: Likewise.
        selected_round: The round with the best validation score, where a model is selected by it.
        validation_score: That score; None where the model has none.
        stopped_early: Whether the run ended before its last round, where a model is selected.
        protection: What protection made of its steps; None without it.
        metrics: What was measured beside loss and accuracy, where the spec asks for it.
        verdict: Whether it was worth it; None in what earlier versions wrote.
        clients: Every client, where clients have names.
    """

    round_num: int = json_field("round")
    honest: GroupSummary
    all_users: GroupSummary | None = json_field("all", default=None, omit=True)  # noqa: RUF009
    pareto_residual: float | None = json_field(default=None, omit=True)
    improved: float | None = None
    improved_last_50: float | None = None
    rounds_that_sacrificed: int
    rounds_failed: int
    quarantined: int
    dropped: int
    rounds_stalled: int | None = None
    global_accuracy: float | None = json_field(default=None, omit=True)
    global_loss: float | None = json_field(default=None, omit=True)
    selected_round: int | None = json_field(default=None, omit=True)
    validation_score: float | None = json_field(default=None, omit=True)
    stopped_early: bool | None = json_field(default=None, omit=True)
    protection: ProtectionSummary | None = json_field(default=None, omit=True)  # noqa: RUF009
    metrics: MetricsSummary | None = json_field(default=None, omit=True)  # noqa: RUF009
    verdict: Verdict | None = json_field(default=None, omit=True)  # noqa: RUF009
    clients: tuple[NamedClient, ...] = json_field(default=(), omit=True)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResult:
    """One line of `clients.csv`: what a client has, took part in and got.

    Attributes:
        client_id: Its id.
        name: What it is called, where clients have names.
        train_examples: How many examples it trains on.
        validation_examples: How many are kept for choosing hyper-parameters.
        test_examples: How many it is tested on.
        test_accuracy: At the last evaluation; NaN where there is none.
        test_loss: At the last evaluation; NaN where there is none.
        rounds: In how many rounds its update counted.
        rounds_sacrificed: In how many of them the step went against it, to first order.
        rounds_stalled: In how many of them the updates cancelled and nobody could be served.
            Like everything with a default, None in tables from before it was counted.
        rounds_overridden: In how many of them a protected step raised its loss, as it said it;
            None, as what follows, where steps are not protected.
        rounds_opposed: In how many of them its loss rose at a length that was tried.
        metrics: The metrics that the spec asks for, by name; NaN where one is not defined.
    """

    client_id: int
    name: str | None
    train_examples: int
    validation_examples: int
    test_examples: int
    test_accuracy: float
    test_loss: float
    rounds: int
    rounds_sacrificed: int | None = None
    rounds_stalled: int | None = None
    rounds_overridden: int | None = json_field(default=None, omit=True)
    rounds_opposed: int | None = json_field(default=None, omit=True)
    metrics: Mapping[str, float] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gram:
    """Inner products of the updates of a round.

    Attributes:
        matrix: Of shape `(m, s)`, float64: ⟨g_i, g_j⟩ for participants i and columns j.
        columns: Of shape `(s,)`: which participants, by their place in the row's `client_ids`.
    """

    matrix: Matrix
    columns: Indices


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowPredictions:
    """What the trained model says of every test example, `predictions.npz`.

    Attributes:
        rows: Of shape `(n,)`: which examples of the data they are, from 0. Rows of a table that
            were left out for lack of a target or a client are not counted.
        clients: Of shape `(n,)`: whose.
        targets: Of shape `(n,)`: what is true.
        predictions: Of shape `(n,)`: the class, or the value, the model gives.
        losses: Of shape `(n,)`: the cross-entropy, or the squared error, of each example.
        probabilities: Of shape `(n, k)` for k scores; None for many classes and for a regression.
    """

    rows: Indices
    clients: Indices
    targets: NDArray[Any]
    predictions: NDArray[Any]
    losses: Vector
    probabilities: Matrix | None = None
