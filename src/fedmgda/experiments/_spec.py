"""A run as data: frozen dataclasses, one per table of the TOML file, every key with its default.

A default of None means "what the rule, the data or `compat` says"; `resolve` fills it in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from fedmgda.experiments._spec_data import DataSpec, ModelSpec
from fedmgda.experiments._spec_key import MOST_ROUNDS, key
from fedmgda.experiments._spec_rounds import ClientsSpec, ConstraintSpec, RuleSpec
from fedmgda.experiments._spec_server import AttackSpec, ProtectSpec, ServerSpec

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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSpec:
    """What is measured, and when; test rows are never selected by."""

    every: int = key(10, "Rounds between evaluations of all users.", low=1)
    offset: int | None = key(
        None,
        "Evaluate after rounds offset, offset + every, ...",
        unset="by `compat`: 0, or 1",
        low=0,
    )
    last: bool | None = key(
        None, "Evaluate after the last round too.", unset="by `compat`: true, or false"
    )
    improved: bool = key(
        True,
        "Measure each participant's loss before and after the round: two more passes over the "
        "training data of all participants.",
    )
    improved_every: int = key(1, "In every so many rounds.", low=1)
    pareto: bool = key(False, "Measure min ‖Jλ‖ over the full gradients of all users.")
    select: Literal["loss", "accuracy", "last"] | None = key(
        None,
        '`"loss"` or `"accuracy"`: keep the model with the best validation score instead of the '
        'last one, which `"last"` keeps.',
        unset='`"last"`; `"loss"` for tables',
        see="runs.md#the-model-that-is-kept",
    )
    patience: int | None = key(
        None,
        "End the run after so many evaluations in a row without a better validation score; needs "
        "`evaluation.select`.",
        low=1,
    )
    global_test: bool | None = key(
        None,
        "Evaluate the model also on the official test set of `fashion-mnist`, `mnist` or "
        "`cifar10`, 10,000 images that no client holds and nothing is trained on or selected by: "
        "`global_accuracy` and `global_loss` in `evaluations.jsonl` and `summary.json`.",
        unset="false",
    )
    metrics: Literal["auto"] | tuple[str, ...] | None = key(
        None,
        "What is measured of the trained model beside loss and accuracy: a list of names, of which "
        'the first is the one whose fairness over clients is told. `"auto"` is those that go with '
        "the task; with `data.schema` there are none by default, for they take what the model says "
        "of single rows.",
        unset='`"auto"` for tables',
        see="compare.md#metrics",
    )

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

    What an old spec does not say is kept, as it was.
    """

    gram: bool | None = key(
        None,
        "Keep the Gram matrices of the rounds; they tell how alike clients are.",
        unset="true, with `data.schema` false",
    )
    predictions: bool | None = key(
        None,
        "Keep what the trained model says of every test example.",
        unset="true, with `data.schema` false",
    )

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

    workers: int = key(
        1,
        "Processes (or, for small networks, threads) that train; changes no result.",
        low=1,
        high=1024,
    )
    client_timeout: float = key(
        600.0,
        "Seconds before a client is given up, with `workers` >= 2; a single worker is this process "
        "and cannot be ended. On Flower: seconds an exchange may take.",
        above=0.0,
        high=1e7,
    )
    checkpoint_seconds: float = key(
        1.0, "At most this much work, or one round, is lost to a crash.", low=0.0
    )
    max_failed_rounds: int = key(
        5, "Rounds in a row without a usable update that end the run, with code 6.", low=1
    )
    device: Literal["cpu", "cuda"] = key("cpu", '`"cuda"` may round differently.')


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A whole run."""

    seed: int = key(0, "Every random choice is a function of it.", low=0)
    rounds: int = key(150, "How many rounds.", low=1, high=MOST_ROUNDS)
    compat: Literal["paper", "released-code"] = key(
        "paper",
        '`"released-code"` switches on what the authors\' code does differently: momentum 0.5, '
        "proximal term without ½, unshuffled local splits, 3 shards of 200 for Fashion-MNIST, the "
        "index shift of Adult, random windows for Shakespeare, AFL's loss while training, "
        "evaluation after rounds 1, 11, ... with the last of those as the result.",
        see="specification.md#9-what-was-decided",
    )
    baseline: Literal["alone", "pooled"] | None = key(
        None,
        '`"alone"`: every client trains by itself; `"pooled"`: one client that holds all training '
        "rows trains. What the federation is held against, with its budget. The rule, the server's "
        "step and the attack do not apply then, and are set to plain averaging with step 1.",
        see="compare.md#baselines",
    )
    data: DataSpec = field(default_factory=DataSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    clients: ClientsSpec = field(default_factory=ClientsSpec)
    rule: RuleSpec = field(default_factory=RuleSpec)
    server: ServerSpec = field(default_factory=ServerSpec)
    attack: AttackSpec = field(default_factory=AttackSpec)
    evaluation: EvaluationSpec = field(default_factory=EvaluationSpec)
    engine: EngineSpec = field(default_factory=EngineSpec)
    records: RecordsSpec = field(default_factory=RecordsSpec)
