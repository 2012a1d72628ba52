"""A run as data: frozen dataclasses, one per table of the TOML file, every key with its default.

A default of None means "what the rule, the data or `compat` says"; `resolve` fills it in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

from fedmgda.attacks import ATTACKS
from fedmgda.data import DATASETS, PARTITIONS, GivenSchema
from fedmgda.models import MODELS
from fedmgda.rules import PRESETS
from fedmgda.values import Annealed

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AttackSpec",
    "ClientsSpec",
    "ConstraintSpec",
    "DataSpec",
    "EngineSpec",
    "EvaluationSpec",
    "ModelSpec",
    "ProtectSpec",
    "RecordsSpec",
    "RuleSpec",
    "ServerSpec",
    "Spec",
]


def _number(
    default: float | None,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """Declare a number and its range: [low or (above to high] or below)."""
    limits = {"low": low, "high": high, "above": above, "below": below}
    return field(default=default, metadata=limits)


def _one_of(names: Iterable[str], default: str | None = None, *, entry: bool = False) -> Any:
    """Declare a name of a table, or (if `entry`) something of the user's own by its module."""
    return field(default=default, metadata={"names": tuple(names), "entry": entry})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpec:
    """Which data, and who holds it; which keys apply depends on the name and the partition."""

    name: str | None = _one_of(DATASETS, entry=True)
    path: str | None = None
    client: str | None = None
    target: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    encoding: Literal["plain", "guarded"] | None = None
    min_rows: int | None = _number(None, low=3)
    task: Literal["classification", "regression"] | None = None
    partition: str | None = _one_of(PARTITIONS)
    num_clients: int | None = _number(None, low=1)
    shards_per_client: int | None = _number(None, low=1)
    classes_per_client: int | None = _number(None, low=1)
    alpha: float | None = _number(None, low=0.0)
    beta: float | None = _number(None, low=0.0)
    min_size: int | None = _number(None, low=3)
    index_shift: int | None = _number(None, low=0, high=1)
    local_split: Literal["shuffled", "tail", "temporal", "random"] | None = None
    options: dict[str, Any] | None = None
    schema: GivenSchema | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Which model; by default the one that belongs to the data."""

    name: str | None = _one_of(MODELS, entry=True)
    hidden: tuple[int, ...] | None = _number(None, low=1, high=1_000_000)
    dropout: bool | None = None
    options: dict[str, Any] | None = None
    init: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsSpec:
    """Who takes part, and what a client does with the model it receives."""

    participation: float | None = _number(None, above=0.0, high=1.0)
    per_round: int | None = _number(None, low=1)
    local_epochs: int = _number(1, low=1)
    batch_size: int | Literal["full"] = _number(10, low=1)
    client_lr: float | Literal["auto"] | Annealed | None = _number(None, above=0.0)
    momentum: float | None = _number(None, low=0.0, below=1.0)
    mu: float | None = _number(None, low=0.0)
    prox_convention: Literal["half", "full"] | None = None
    reported_loss: Literal["before", "during"] | None = None
    path: Literal["auto", "torch", "compiled"] = "auto"
    only: tuple[str, ...] | tuple[int, ...] | None = None
    class_weights: Literal["balanced"] | dict[str, Any] | None = None
    loss: str | None = _one_of((), entry=True)
    optimizer: str | None = _one_of((), entry=True)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSpec:
    """A preference over λ: the weights of some clients, with coefficients or without, bounded."""

    clients: tuple[str, ...] | tuple[int, ...] | dict[str, Any]
    at_most: float | None = None
    at_least: float | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSpec:
    """How updates are combined; the options beside the name belong to some rules only."""

    name: str = _one_of(PRESETS, "fedmgda+", entry=True)
    epsilon: float | Annealed | None = _number(None, low=0.0, high=1.0)
    center: Literal["uniform", "examples"] | tuple[float, ...] | dict[str, Any] | None = _number(
        None, above=0.0
    )
    zero_update: Literal["drop", "stall", "error"] | None = None
    q: float | None = _number(None, low=0.0)
    lipschitz: float | Literal["1/eta"] | None = _number(None, above=0.0)
    loss_scale: Literal["mean", "batch-sum", "sum"] | None = None
    gamma_w: float | None = _number(None, above=0.0)
    gamma_lambda: float | None = _number(None, low=0.0)
    average_iterates: bool | None = None
    constraints: tuple[ConstraintSpec, ...] | None = None
    options: dict[str, Any] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectSpec:
    """How steps are protected, so that no participant ends a round with a higher loss.

    `allow` participants may; κ is `margin`; a step is halved up to `trials` - 1 times; `patience`
    held rounds in a row end the run.
    """

    allow: int = _number(0, low=0)
    margin: float = _number(0.9, low=0.0, high=1.0)
    trials: int = _number(12, low=1, high=64)
    patience: int = _number(20, low=1)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """The server's step: lr decayed over the rounds, 2 / (c (t + 2)), or the median norm.

    `protect = true` is a table of protection's defaults, and false is none.
    """

    lr: float = _number(1.0, above=0.0)
    decay: float = _number(1.0, low=0.0)
    schedule: Literal["decay", "harmonic", "median-norm"] | None = None
    curvature: float | None = _number(None, above=0.0)
    protect: bool | ProtectSpec | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttackSpec:
    """Who is malicious, and how; always-on attackers take part in every round."""

    name: str = _one_of(("none", *ATTACKS), "none", entry=True)
    clients: tuple[str, ...] | tuple[int, ...] | None = None
    factor: float | None = _number(None)
    bias: float | None = _number(None)
    always_on: bool | None = None
    options: dict[str, Any] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSpec:
    """What is measured, and when: after rounds `offset`, `offset` + `every`, ..., and the last.

    Who improved is measured in every `improved_every`-th round: two more passes over the training
    data of all participants. Where `select` says so, the model that is kept is the one with the
    best validation score, and `patience` ends a run that finds no better one. What is measured of
    the trained model beside loss and accuracy is `metrics`: "auto" is what goes with the task, and
    the first is the one whose fairness is told.
    """

    every: int = _number(10, low=1)
    offset: int | None = _number(None, low=0)
    last: bool | None = None
    improved: bool = True
    improved_every: int = _number(1, low=1)
    pareto: bool = False
    select: Literal["loss", "accuracy", "last"] | None = None
    patience: int | None = _number(None, low=1)
    global_test: bool | None = None
    metrics: Literal["auto"] | tuple[str, ...] | None = None

    @property
    def measure(self) -> Literal["loss", "accuracy"] | None:
        """By what the model is selected that is kept; None keeps the last one."""
        return None if self.select == "last" else self.select

    def is_due(self, round_num: int, rounds: int) -> bool:
        """Tell whether all users are evaluated after a round of so many; 0 is the initial model."""
        due = (round_num - (self.offset or 0)) % self.every == 0
        return round_num == 0 or due or (bool(self.last) and round_num == rounds)

    def improved_is_due(self, round_num: int) -> bool:
        """Tell whether a round measures which of its participants improved."""
        return self.improved and round_num % self.improved_every == 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsSpec:
    """What is written down beside the results; no key here changes one.

    Gram matrices tell how alike clients are, and predictions what their examples are: both are
    written unless `data.schema` says that files stay where they are. What an old spec does not
    say is kept, as it was.
    """

    gram: bool | None = None
    predictions: bool | None = None

    @property
    def keeps_gram(self) -> bool:
        """Whether Gram matrices are written down."""
        return self.gram is not False

    @property
    def keeps_predictions(self) -> bool:
        """Whether it is written down what the model says of every test example."""
        return self.predictions is not False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """How the work is done; no key here changes a result, but for the rounding of a GPU."""

    workers: int = _number(1, low=1, high=1024)
    client_timeout: float = _number(600.0, above=0.0, high=1e7)
    checkpoint_seconds: float = _number(1.0, low=0.0)
    max_failed_rounds: int = _number(5, low=1)
    device: Literal["cpu", "cuda"] = "cpu"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A whole run."""

    seed: int = _number(0, low=0)
    rounds: int = _number(150, low=1)
    compat: Literal["paper", "released-code"] = "paper"
    baseline: Literal["alone", "pooled"] | None = None
    data: DataSpec = field(default_factory=DataSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    clients: ClientsSpec = field(default_factory=ClientsSpec)
    rule: RuleSpec = field(default_factory=RuleSpec)
    server: ServerSpec = field(default_factory=ServerSpec)
    attack: AttackSpec = field(default_factory=AttackSpec)
    evaluation: EvaluationSpec = field(default_factory=EvaluationSpec)
    engine: EngineSpec = field(default_factory=EngineSpec)
    records: RecordsSpec = field(default_factory=RecordsSpec)
