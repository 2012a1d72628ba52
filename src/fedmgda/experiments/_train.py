"""From Python: a model and arrays of one's own in, the trained model and its history out."""

from __future__ import annotations

import copy
import hashlib
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.data import FederatedData, check_federation
from fedmgda.experiments._build import check_fit, fresh_module
from fedmgda.experiments._decay import refuse_inert_decay
from fedmgda.experiments._own_arrays import federate_arrays
from fedmgda.experiments._parse import parse
from fedmgda.experiments._reader import open_run
from fedmgda.experiments._resolve import resolve
from fedmgda.experiments._run import execute
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._store import RunFolder
from fedmgda.experiments._trained_model import with_arrays
from fedmgda.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import nn

    from fedmgda._types import Flags, Matrix, Vector
    from fedmgda.clients import LocalTraining
    from fedmgda.experiments._own_arrays import ClientArrays
    from fedmgda.experiments._reader import Run
    from fedmgda.federation import Measure

__all__ = ["History", "Training", "data_in_python", "model_in_python", "rule_table", "train"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """What happened, as arrays: T rounds, E evaluations, n clients.

    Attributes:
        norm: Of shape `(T,)`: ‖d‖; NaN, as what follows, for a round that failed.
        gap: Of shape `(T,)`: the duality gap of the problem λ solves.
        min_inner: Of shape `(T,)`: the least ⟨g_i, d⟩ of the participants.
        lam: Of shape `(T, n)`: λ; NaN for who did not take part.
        improved: Of shape `(T,)`: participants whose training loss did not rise, in percent.
        held: Of shape `(T,)`: whether protection left the model where it was.
        evaluated: Of shape `(E,)`: after which rounds all clients were evaluated; 0 is the start.
        accuracies: Of shape `(E, n)`: on the clients' test splits; NaN for a regression.
        losses: Of shape `(E, n)`: likewise.
    """

    norm: Vector
    gap: Vector
    min_inner: Vector
    lam: Matrix
    improved: Vector
    held: Flags
    evaluated: Vector
    accuracies: Matrix
    losses: Matrix


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Training:
    """What `train` returns.

    Attributes:
        model: The trained module, a new one.
        data: The federation it was trained on, with the split of every client.
        history: What happened.
        run: The run folder, read with `open_run`; None if none was asked for.
    """

    model: nn.Module
    data: FederatedData
    history: History
    run: Run | None


def train(  # noqa: PLR0913 (everything but model and data has a default)
    model: nn.Module | Callable[[], nn.Module],
    data: FederatedData | Mapping[str, ClientArrays] | Sequence[ClientArrays],
    *,
    rule: Rule | str = "fedmgda+",
    rounds: int = 100,
    per_round: int | None = None,
    training: LocalTraining | None = None,
    server_lr: float = 1.0,
    server_decay: float = 1.0,
    protect: bool | Mapping[str, float] = False,
    seed: int = 0,
    evaluate_every: int = 10,
    select: Measure | None = None,
    patience: int | None = None,
    workers: int = 1,
    out: Path | str | None = None,
) -> Training:
    """Train a model of one's own on arrays of one's own, as `fedmgda run` does from a file.

    Args:
        model: A torch module, whose weights are where training starts, or a function that makes
            one, whose weights then come from the seed.
        data: For each client its features, of shape `(n, ...)`, and targets, of shape `(n,)`, by
            name or in a list: each is split 80 / 10 / 10 into training, validation and test. Whole
            numbers are classes, others values to predict. Or a `FederatedData` as it is.
        rule: A rule, or the name of one.
        rounds: How many rounds.
        per_round: How many clients take part in a round; all if None.
        training: What a client does; `LocalTraining()` if None.
        server_lr: The server's step, which the schedule multiplies.
        server_decay: Its decay over all rounds, as in the paper; 1 is none.
        protect: Whether a round is held if anybody says that its training loss rose, as
            `server.protect` does; or the keys of that table, as in `{"allow": 1}`.
        seed: Every random choice is a function of it.
        evaluate_every: Rounds between evaluations of all clients.
        select: "loss" or "accuracy": return the model with the best mean score on the clients'
            validation splits instead of the last one.
        patience: With `select`, stop after so many evaluations in a row without a better score.
        workers: Processes, or for small networks threads, that train; changes no result.
        out: A run folder to write. The same call goes on with it after a crash.

    Raises:
        SpecError: If an argument cannot be meant.
        FedmgdaError: Whatever may end a run.
    """
    from fedmgda.clients import ClientPool, LocalTraining  # noqa: PLC0415 (needs torch)
    from fedmgda.models import initial_vector  # noqa: PLC0415

    if not isinstance(seed, int) or seed < 0:
        raise SpecError(f"seed must be a whole number, zero or positive, got {seed!r}.")
    federation = data if isinstance(data, FederatedData) else federate_arrays(data, seed)
    check_federation(federation)
    build = _factory(model)
    training = training or LocalTraining()
    check_fit(build, federation, training, "model")
    start = initial_vector(build, seed)
    table = {
        "seed": seed, "rounds": rounds,
        "data": {"name": f"{__name__}:data_in_python"},
        # Weights other than these are another run, as is other data.
        "model": {
            "name": f"{__name__}:model_in_python",
            "options": {"start": hashlib.sha256(start.tobytes()).hexdigest()},
        },
        "clients": _clients_table(training)
        | ({"participation": 1.0} if per_round is None else {"per_round": per_round}),
        "rule": rule_table(rule),
        "server": {"lr": server_lr, "decay": server_decay} | _protect_table(protect),
        "evaluation": {"every": evaluate_every}
        | {k: v for k, v in (("select", select), ("patience", patience)) if v is not None},
        "engine": {"workers": workers},
    }  # fmt: skip
    spec = resolve(parse(Spec, table))
    refuse_inert_decay(spec)
    with ExitStack() as stack:
        place = Path(out) if out else Path(stack.enter_context(TemporaryDirectory())) / "run"
        pool = stack.enter_context(
            ClientPool(
                data=federation,
                build_model=build,
                training=training,
                seed=seed,
                workers=workers,
                reported_loss=spec.clients.reported_loss or "before",
            )
        )
        folder = RunFolder.create(place, spec)
        if folder.done:
            open_run(place).check_data(federation)
        for _ in execute(folder, pool, rule if isinstance(rule, Rule) else None):
            pass
        run = open_run(place)
        trained = with_arrays(build(), run.model_arrays())
        return Training(
            model=trained,
            data=federation,
            history=_history(run, federation.num_clients),
            run=run if out else None,
        )


def data_in_python(**_: Any) -> NoReturn:
    """Stand for arrays that were handed over: a spec names this, and nothing can load it."""
    raise SpecError("the data were arrays in Python; go on with the same fedmgda.train call")


def model_in_python(**_: Any) -> NoReturn:
    """Stand for a module that was handed over: a spec names this, and nothing can build it."""
    raise SpecError("the model was a module in Python; go on with the same fedmgda.train call")


def _factory(model: nn.Module | Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    from torch import nn  # noqa: PLC0415

    if isinstance(model, nn.Module):
        return partial(copy.deepcopy, model)
    if not callable(model):
        raise SpecError(
            "model must be a torch module or a function that makes one, got an object of type "
            f"{type(model).__name__}."
        )
    return partial(fresh_module, model)


def _clients_table(training: LocalTraining) -> dict[str, Any]:
    """Write down what the clients do, functions by where they come from."""
    table = {f.name: getattr(training, f.name) for f in fields(training)}
    table["batch_size"] = table["batch_size"] or "full"
    for name in ("loss", "optimizer"):
        own = table.pop(name)
        if own is not None:
            table[name] = _whereabouts(own)
    return {name: _plain(value) for name, value in table.items()}


def rule_table(rule: Rule | str) -> dict[str, Any]:
    """Return how a spec writes a rule that was handed over: where it comes from, and its options.

    What is no plain value is written as Python shows it.
    """
    if isinstance(rule, str):
        return {"name": rule}
    made: Any = rule  # any object below Rule; those with fields are dataclasses
    options = {f.name: getattr(made, f.name) for f in fields(made)} if is_dataclass(made) else {}
    plain = str | bool | int | float
    known = {name: v if isinstance(v, plain) else repr(v) for name, v in options.items()}
    return {"name": _whereabouts(type(rule)), "options": known}


def _protect_table(protect: bool | Mapping[str, float]) -> dict[str, Any]:
    """Write down how steps are protected; nothing where they are not, as in a spec without it."""
    return {"protect": protect if isinstance(protect, bool) else dict(protect)} if protect else {}


def _whereabouts(thing: Any) -> str:
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}:{kind.__qualname__}"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return value


def _history(run: Run, num_clients: int) -> History:
    rounds, evaluations = run.rounds, run.evaluations
    lam = np.full((len(rounds), num_clients), np.nan)
    for place, row in enumerate(rounds):
        if row.lam is not None:
            lam[place, list(row.client_ids)] = row.lam
    columns = {
        name: np.array([getattr(row, name) for row in rounds], dtype=np.float64)
        for name in ("norm", "gap", "min_inner", "improved")
    }
    return History(
        lam=lam,
        held=np.array([bool(row.held) for row in rounds]),
        evaluated=np.array([row.round_num for row in evaluations]),
        accuracies=np.array([row.accuracies for row in evaluations], dtype=np.float64),
        losses=np.array([row.losses for row in evaluations], dtype=np.float64),
        **columns,
    )
