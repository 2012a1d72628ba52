"""The one place that turns names into objects."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fedmgda._errors import MissingDependencyError, SpecError
from fedmgda._random import Stream, generator
from fedmgda.attacks import Attack, BiasLoss, ScaleLoss, ScaleUpdate, under_attack
from fedmgda.data import FederatedData, iid_partition, load_digits, shard_partition, split_locally
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
    from fedmgda.experiments._spec import AttackSpec, DataSpec, ServerSpec, Spec

__all__ = ["build_attack", "build_data", "build_federation", "build_pool", "resolve"]


def resolve(spec: Spec) -> Spec:
    """Fill in what the rule and `compat` decide, and refuse what does not go together.

    Resolving a resolved spec changes nothing.
    """
    preset = PRESETS[spec.rule.name]
    released = spec.compat == "released-code"
    clients = replace(
        spec.clients,
        per_round=_per_round(spec),
        participation=None,
        momentum=_first(spec.clients.momentum, 0.5 if released else 0.0),
        mu=_first(spec.clients.mu, preset.mu),
        prox_convention=spec.clients.prox_convention or ("full" if released else "half"),
    )
    data = replace(
        spec.data, local_split=spec.data.local_split or ("tail" if released else "shuffled")
    )
    resolved = replace(spec, clients=clients, data=data, attack=_resolve_attack(spec.attack))
    _check(resolved)
    options: Any = build_rule(resolved)
    chosen = {f.name for f in fields(spec.rule)} & set(preset.options)
    rule = replace(spec.rule, **{name: getattr(options, name) for name in chosen})
    return replace(resolved, rule=rule)


def build_data(spec: Spec) -> FederatedData:
    """Load the data and deal it to the clients."""
    features, targets = load_digits()
    hands = _partition(spec.data, targets, generator(spec.seed, Stream.PARTITION))
    train, validation, test = split_locally(hands, spec.data.local_split or "shuffled", spec.seed)
    return FederatedData(
        name=spec.data.name,
        features=features,
        targets=targets,
        train=train,
        validation=validation,
        test=test,
        num_classes=10,
    )


def build_model(spec: Spec, data: FederatedData) -> Callable[[], nn.Module]:
    """Return a function that makes the module; worker processes call it too."""
    from fedmgda.models import mlp  # noqa: PLC0415 (needs torch)

    inputs, outputs = int(data.features[0].size), data.num_classes or 1
    match spec.model.name:
        case "mlp":
            return partial(mlp, (inputs, *spec.model.hidden, outputs))
        case "logistic":
            return partial(mlp, (inputs, outputs))


def build_pool(spec: Spec, data: FederatedData) -> ClientPool:
    """Return the pool that trains and evaluates the clients; close it after use."""
    try:
        from fedmgda.clients import ClientPool, LocalTraining  # noqa: PLC0415 (needs torch)
    except ImportError as error:
        raise MissingDependencyError(
            "Training needs torch; install it with: pip install 'fedmgda[sim]'."
        ) from error
    clients = spec.clients
    attack = build_attack(spec.attack)
    return ClientPool(
        data=data,
        build_model=build_model(spec, data),
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
    match spec.name:
        case "none":
            return None
        case "scale-loss":
            return ScaleLoss(clients=spec.clients, factor=_first(spec.factor, 10.0))
        case "scale-update":
            return ScaleUpdate(clients=spec.clients, factor=_first(spec.factor, 10.0))
        case "bias-loss":
            return BiasLoss(clients=spec.clients, bias=_first(spec.bias, 1.0))


def build_rule(spec: Spec) -> Rule:
    """Return the rule with the options the spec gives."""
    try:
        return make_rule(spec.rule.name, **_rule_options(spec))
    except ValueError as error:
        raise SpecError(f"rule.{error}") from error


def build_federation(spec: Spec, pool: ClientPool, num_clients: int) -> Federation:
    """Put a resolved spec together."""
    attack = build_attack(spec.attack)
    per_round = _first(spec.clients.per_round, num_clients)
    always_on = spec.attack.clients if attack and spec.attack.always_on else ()
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


def _partition(spec: DataSpec, targets: Any, rng: Any) -> Any:
    match spec.partition:
        case "shards":
            return shard_partition(targets, spec.num_clients, spec.shards_per_client, rng)
        case "iid":
            return iid_partition(len(targets), spec.num_clients, rng)


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
    used = {"scale-loss": "factor", "scale-update": "factor", "bias-loss": "bias"}.get(spec.name)
    for option in ("factor", "bias"):
        if option != used and getattr(spec, option) is not None and spec.name != "none":
            raise SpecError(f"attack.{option} does not apply to {spec.name!r}, which takes {used}.")
    attack = build_attack(spec)
    return replace(spec, **{used: getattr(attack, used)}) if used else spec


def _per_round(spec: Spec) -> int:
    clients, num_clients = spec.clients, spec.data.num_clients
    if clients.per_round is None:
        return cohort_size(_first(clients.participation, 0.5), num_clients)
    if clients.participation is not None:
        raise SpecError(
            f"clients.participation = {clients.participation} and clients.per_round = "
            f"{clients.per_round} say the same thing twice; keep one of them."
        )
    return clients.per_round


def _check(spec: Spec) -> None:
    num_clients, per_round = spec.data.num_clients, spec.clients.per_round or 0
    if per_round > num_clients:
        raise SpecError(
            f"clients.per_round = {per_round} is more than data.num_clients = {num_clients}."
        )
    if spec.attack.name != "none":
        for client in spec.attack.clients:
            if not 0 <= client < num_clients:
                raise SpecError(
                    f"attack.clients names client {client}; ids go from 0 to {num_clients - 1}."
                )
        if spec.attack.always_on and len(set(spec.attack.clients)) > per_round:
            raise SpecError(
                f"attack.clients has {len(spec.attack.clients)} always-on clients, more than "
                f"the {per_round} of a round (clients.per_round)."
            )
        if len(set(spec.attack.clients)) >= num_clients:
            raise SpecError("attack.clients leaves no honest client; name fewer.")
    if spec.server.schedule == "harmonic" and spec.server.curvature is None:
        raise SpecError("server.schedule = 'harmonic' needs server.curvature, the c of 2/(c(t+2)).")


def _first(value: Any, default: Any) -> Any:
    return default if value is None else value
