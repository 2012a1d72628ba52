"""The one place that turns names into objects."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._entry import load_entry
from fedmgda._errors import MissingDependencyError, SpecError
from fedmgda.attacks import Attack, BiasLoss, ScaleLoss, ScaleUpdate, under_attack
from fedmgda.experiments._participants import clients_per_round
from fedmgda.federation import (
    Federation,
    Harmonic,
    MedianNorm,
    PaperDecay,
    Schedule,
    UniformSampler,
)
from fedmgda.rules import Rule, make_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from fedmgda.clients import ClientPool, LocalTraining
    from fedmgda.data import FederatedData
    from fedmgda.experiments._spec import AttackSpec, ServerSpec, Spec
    from fedmgda.values import Clients

__all__ = [
    "build_attack",
    "build_federation",
    "build_model",
    "build_pool",
    "build_rule",
    "build_training",
]


def build_model(  # noqa: PLR0911 (one case per name: the registry a reader can see)
    spec: Spec, data: FederatedData
) -> Callable[[], nn.Module]:
    """Return a function that makes the module; worker processes call it too."""
    from fedmgda import models  # noqa: PLC0415 (needs torch)

    inputs, outputs = int(data.features[0].size), data.num_classes or 1
    match spec.model.name:
        case "mlp":
            return partial(models.mlp, (inputs, *(spec.model.hidden or ()), outputs))
        case "logistic" | "linear":
            return partial(models.linear, inputs, outputs)
        case "cifar-cnn":
            return partial(models.cifar_cnn, outputs)
        case "fmnist-cnn":
            return partial(models.fmnist_cnn, outputs, dropout=spec.model.dropout is not False)
        case "femnist-cnn":
            return partial(models.femnist_cnn, outputs)
        case "char-lstm":
            return partial(models.char_lstm, outputs)
        case name:
            entry: Callable[[], nn.Module] = load_entry(str(name), "model.name")
            return entry


def build_pool(spec: Spec, data: FederatedData) -> ClientPool:
    """Return the pool that trains and evaluates the clients; close it after use."""
    try:
        from fedmgda.clients import ClientPool, check_own_functions, gather  # noqa: PLC0415 (torch)
        from fedmgda.models import check_model  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Training needs torch; install it with: pip install 'fedmgda[sim]'."
        ) from error
    build = build_model(spec, data)
    clients, training = spec.clients, build_training(spec)
    shown = gather(data, np.arange(min(2, len(data.targets))))
    output = check_model(
        build,
        shown.features,
        data.num_classes,
        f"model.name = {spec.model.name!r}",
        any_output=training.loss is not None,
    )
    check_own_functions(training, output, shown.targets)
    attack = build_attack(spec.attack)
    return ClientPool(
        data=data,
        build_model=build,
        training=training,
        seed=spec.seed,
        workers=spec.engine.workers,
        loss_factors=attack.loss_factors if attack else {},
        client_timeout=spec.engine.client_timeout,
        reported_loss=clients.reported_loss or "before",
        path=clients.path,
        device=spec.engine.device,
    )


def build_training(spec: Spec) -> LocalTraining:
    """Return what a client does with the model it receives."""
    from fedmgda.clients import LocalTraining  # noqa: PLC0415 (needs torch)

    clients = spec.clients
    own = {
        name: load_entry(entry, f"clients.{name}")
        for name in ("loss", "optimizer")
        if (entry := getattr(clients, name)) is not None
    }
    return LocalTraining(
        local_epochs=clients.local_epochs,
        batch_size=None if clients.batch_size == "full" else clients.batch_size,
        client_lr=clients.client_lr,
        momentum=clients.momentum or 0.0,
        mu=clients.mu or 0.0,
        prox_convention=clients.prox_convention or "half",
        **own,
    )


def build_attack(spec: AttackSpec) -> Attack | None:
    """Return what the malicious clients do, or None."""
    clients = spec.clients or ()
    match spec.name:
        case "none":
            return None
        case "scale-loss":
            return ScaleLoss(clients=clients, factor=_first(spec.factor, 10.0))
        case "scale-update":
            return ScaleUpdate(clients=clients, factor=_first(spec.factor, 10.0))
        case "bias-loss":
            return BiasLoss(clients=clients, bias=_first(spec.bias, 1.0))


def build_rule(spec: Spec) -> Rule:
    """Return the rule with the options the spec gives."""
    try:
        return make_rule(spec.rule.name, **_rule_options(spec))
    except ValueError as error:
        raise SpecError(f"rule.{error}") from error


def build_federation(spec: Spec, clients: Clients, num_clients: int) -> Federation:
    """Put a resolved spec together."""
    attack = build_attack(spec.attack)
    per_round = clients_per_round(spec, num_clients)
    # As many always-on clients as take part: nobody else is ever drawn.
    always_on = spec.clients.only or (attack.clients if attack and spec.attack.always_on else ())
    return Federation(
        train_cohort=under_attack(clients.train_cohort, attack, spec.seed)
        if attack
        else clients.train_cohort,
        rule=build_rule(spec),
        sampler=UniformSampler(
            num_clients=num_clients, per_round=per_round, always_on=tuple(always_on)
        ),
        num_clients=num_clients,
        schedule=_schedule(spec.server, spec.rounds),
        seed=spec.seed,
        num_buffers=clients.num_buffers,
        max_failed_rounds=spec.engine.max_failed_rounds,
    )


def _schedule(spec: ServerSpec, rounds: int) -> Schedule:
    match spec.schedule:
        case "decay":
            return PaperDecay(server_lr=spec.lr, decay=spec.decay, num_rounds=rounds)
        case "harmonic":
            return Harmonic(curvature=_first(spec.curvature, 1.0))
        case "median-norm":
            return MedianNorm(server_lr=spec.lr)


def _rule_options(spec: Spec) -> dict[str, Any]:
    given = {k: v for k, v in asdict(spec.rule).items() if k != "name" and v is not None}
    if spec.rule.name == "q-fedavg":
        given["client_lr"] = spec.clients.client_lr
        given["batch_size"] = None if spec.clients.batch_size == "full" else spec.clients.batch_size
    return given


def _first(value: Any, default: Any) -> Any:
    return default if value is None else value
