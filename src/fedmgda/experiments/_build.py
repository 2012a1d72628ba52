"""The one place that turns names into objects."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._entry import load_entry
from fedmgda._errors import MissingDependencyError, SpecError
from fedmgda.attacks import Attack, BiasLoss, ScaleLoss, ScaleUpdate, under_attack
from fedmgda.experiments._defaults import default_clients, resolve_data, resolve_model
from fedmgda.federation import (
    Federation,
    Harmonic,
    MedianNorm,
    PaperDecay,
    Schedule,
    UniformSampler,
    cohort_size,
)
from fedmgda.rules import PRESETS, Rule, make_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from fedmgda.clients import ClientPool
    from fedmgda.data import FederatedData
    from fedmgda.experiments._spec import AttackSpec, ClientsSpec, DataSpec, ServerSpec, Spec

__all__ = ["build_attack", "build_federation", "build_model", "build_pool", "resolve"]


def resolve(spec: Spec) -> Spec:
    """Fill in what the rule and `compat` decide, and refuse what does not go together.

    Resolving a resolved spec changes nothing.
    """
    preset = PRESETS[spec.rule.name]
    released = spec.compat == "released-code"
    data = resolve_data(spec)
    clients = replace(
        _participation(spec.clients, data),
        momentum=_first(spec.clients.momentum, 0.5 if released else 0.0),
        mu=_first(spec.clients.mu, preset.mu),
        prox_convention=spec.clients.prox_convention or ("full" if released else "half"),
    )
    evaluation = replace(
        spec.evaluation,
        # The released code evaluates after rounds 1, 11, ..., and reports the last of those.
        offset=_first(spec.evaluation.offset, 1 if released else 0),
        last=_first(spec.evaluation.last, not released),
    )
    resolved = replace(
        spec,
        data=data,
        model=resolve_model(spec.model, data),
        clients=clients,
        attack=_resolve_attack(spec.attack),
        evaluation=evaluation,
    )
    _check(resolved)
    options: Any = build_rule(resolved)
    chosen = {f.name for f in fields(spec.rule)} & set(preset.options)
    rule = replace(spec.rule, **{name: getattr(options, name) for name in chosen})
    return replace(resolved, rule=rule)


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
            return partial(models.fmnist_cnn, outputs)
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
        from fedmgda.clients import ClientPool, LocalTraining, gather  # noqa: PLC0415 (torch)
        from fedmgda.models import check_model  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Training needs torch; install it with: pip install 'fedmgda[sim]'."
        ) from error
    build = build_model(spec, data)
    shown = gather(data, np.arange(min(2, len(data.targets)))).features
    check_model(build, shown, data.num_classes, f"model.name = {spec.model.name!r}")
    clients = spec.clients
    attack = build_attack(spec.attack)
    return ClientPool(
        data=data,
        build_model=build,
        training=LocalTraining(
            local_epochs=clients.local_epochs,
            batch_size=None if clients.batch_size == "full" else clients.batch_size,
            client_lr=clients.client_lr,
            momentum=clients.momentum or 0.0,
            mu=clients.mu or 0.0,
            prox_convention=clients.prox_convention or "half",
        ),
        seed=spec.seed,
        workers=spec.engine.workers,
        loss_factors=attack.loss_factors if attack else {},
        client_timeout=spec.engine.client_timeout,
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


def build_federation(spec: Spec, pool: ClientPool, num_clients: int) -> Federation:
    """Put a resolved spec together."""
    attack = build_attack(spec.attack)
    per_round = _check_clients(spec, num_clients)
    always_on = attack.clients if attack and spec.attack.always_on else ()
    return Federation(
        train_cohort=under_attack(pool.train_cohort, attack) if attack else pool.train_cohort,
        rule=build_rule(spec),
        sampler=UniformSampler(
            num_clients=num_clients, per_round=per_round, always_on=tuple(always_on)
        ),
        num_clients=num_clients,
        schedule=_schedule(spec.server, spec.rounds),
        seed=spec.seed,
        num_buffers=pool.num_buffers,
        max_failed_rounds=spec.engine.max_failed_rounds,
        average_iterates=bool(spec.rule.average_iterates),
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


def _resolve_attack(spec: AttackSpec) -> AttackSpec:
    """Fill in who attacks and how hard; refuse options that would be ignored."""
    used = {"scale-loss": "factor", "scale-update": "factor", "bias-loss": "bias"}.get(spec.name)
    applicable = {"name"} if used is None else {"name", "clients", "always_on", used}
    for f in fields(spec):
        if f.name not in applicable and getattr(spec, f.name) is not None:
            raise SpecError(f"attack.{f.name} does not apply to {spec.name!r}; leave it out.")
    if used is None:
        return spec
    clients = (0,) if spec.clients is None else spec.clients
    if not clients:
        raise SpecError(
            f"attack.clients is empty; say who attacks, or use 'none' for {spec.name!r}."
        )
    spec = replace(spec, clients=clients, always_on=_first(spec.always_on, True))
    return replace(spec, **{used: getattr(build_attack(spec), used)})


def _participation(clients: ClientsSpec, data: DataSpec) -> ClientsSpec:
    """Say by number who takes part, or by share where the number of clients is not known yet."""
    if clients.per_round is not None and clients.participation is not None:
        raise SpecError(
            f"clients.participation = {clients.participation} and clients.per_round = "
            f"{clients.per_round} say the same thing twice; keep one of them."
        )
    if clients.per_round is None and clients.participation is None:
        clients = replace(clients, **default_clients(data))
    if clients.participation is None or data.num_clients is None:
        return clients
    per_round = cohort_size(clients.participation, data.num_clients)
    return replace(clients, participation=None, per_round=per_round)


def _check(spec: Spec) -> None:
    """Refuse what does not go together, as far as it is known before the data is read."""
    if spec.data.num_clients is not None:
        _check_clients(spec, spec.data.num_clients)
    if spec.server.schedule == "harmonic" and spec.server.curvature is None:
        raise SpecError("server.schedule = 'harmonic' needs server.curvature, the c of 2/(c(t+2)).")
    if spec.server.curvature is not None and spec.server.schedule != "harmonic":
        raise SpecError("server.curvature applies to server.schedule = 'harmonic' only.")
    if not spec.evaluation.last and spec.rounds < (spec.evaluation.offset or 0):
        raise SpecError("evaluation.offset lies after the last round; nothing would be evaluated.")


def _check_clients(spec: Spec, num_clients: int) -> int:
    """Return how many clients take part in a round, or say why they cannot."""
    per_round = spec.clients.per_round
    if per_round is None:
        per_round = cohort_size(_first(spec.clients.participation, 1.0), num_clients)
    if per_round > num_clients:
        raise SpecError(
            f"clients.per_round = {per_round} is more than the number of clients, {num_clients}."
        )
    attackers = set(spec.attack.clients or ())
    for client in sorted(attackers):
        if not 0 <= client < num_clients:
            raise SpecError(
                f"attack.clients names client {client}; ids go from 0 to {num_clients - 1}."
            )
    if spec.attack.always_on and len(attackers) > per_round:
        raise SpecError(
            f"attack.clients has {len(attackers)} always-on clients, more than the {per_round} of "
            "a round (clients.per_round)."
        )
    if len(attackers) >= num_clients:
        raise SpecError("attack.clients leaves no honest client; name fewer.")
    return per_round


def _first(value: Any, default: Any) -> Any:
    return default if value is None else value
