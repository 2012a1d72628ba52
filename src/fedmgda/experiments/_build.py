"""The one place that turns names into objects."""

from __future__ import annotations

import copy
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._entry import check_options, is_entry, load_entry
from fedmgda._errors import MissingDependencyError, SpecError
from fedmgda.attacks import ATTACKS, Attack, ClientsUnderAttack, attack_options
from fedmgda.experiments._baselines import carried_out
from fedmgda.experiments._class_weights import class_weights
from fedmgda.experiments._client_names import known_ids, with_client_ids
from fedmgda.experiments._participants import clients_per_round
from fedmgda.experiments._rule_options import rule_options
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.federation import (
    Federation,
    Harmonic,
    MedianNorm,
    PaperDecay,
    Protection,
    Schedule,
    UniformSampler,
)
from fedmgda.models import MODELS
from fedmgda.rules import Rule, make_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn

    from fedmgda._types import Vector
    from fedmgda.clients import ClientPool, LocalTraining
    from fedmgda.data import FederatedData
    from fedmgda.experiments._rule_options import KnownClients
    from fedmgda.experiments._spec import AttackSpec, ClientsSpec, ServerSpec, Spec
    from fedmgda.values import Annealed, Clients

__all__ = [
    "build_attack",
    "build_clients",
    "build_federation",
    "build_model",
    "build_pool",
    "build_protection",
    "build_rule",
    "build_sampler",
    "build_schedule",
    "build_training",
    "check_fit",
    "fresh_module",
    "model_factory",
]


def build_model(spec: Spec, data: FederatedData) -> Callable[[], nn.Module]:
    """Return a function that makes the module; worker processes call it too."""
    return model_factory(spec, int(data.features[0].size), data.num_classes or 1)


def model_factory(spec: Spec, inputs: int, outputs: int) -> Callable[[], nn.Module]:
    """Return a function that makes the module of a spec.

    Args:
        spec: The spec.
        inputs: The number of entries of an example.
        outputs: The number of classes, or 1 for a regression.
    """
    model, name = spec.model, spec.model.name or ""
    if is_entry(name):
        entry: Callable[..., nn.Module] = load_entry(name, "model.name")
        check_options(entry, model.options or {}, name, "model.options")
        return partial(fresh_module, partial(entry, **model.options or {}))
    given = {"hidden": model.hidden, "dropout": model.dropout}
    return MODELS[name].factory(inputs, outputs, given)


def fresh_module(make: Callable[[], nn.Module]) -> nn.Module:
    """Return a module of its own, also where a function gives the same one every time."""
    return copy.deepcopy(make())


def check_fit(
    build: Callable[[], nn.Module], data: FederatedData, training: LocalTraining, where: str
) -> None:
    """Refuse a model, a loss or an optimiser that does not take the data, before round 1."""
    from fedmgda.clients import check_own_functions, gather  # noqa: PLC0415 (needs torch)
    from fedmgda.models import check_model  # noqa: PLC0415

    shown = gather(data, np.arange(min(2, len(data.targets))))
    any_output = training.loss is not None
    output = check_model(build, shown.features, data.num_classes, where, any_output=any_output)
    check_own_functions(training, output, shown.targets)


def build_pool(spec: Spec, data: FederatedData) -> ClientPool:
    """Return the pool that trains and evaluates the clients; close it after use."""
    try:
        from fedmgda.clients import ClientPool  # noqa: PLC0415 (torch)
    except ImportError as error:
        raise MissingDependencyError(
            "Training needs torch; install it with: pip install 'fedmgda[sim]'."
        ) from error
    build = build_model(spec, data)
    clients, training = spec.clients, build_training(spec, class_weights(spec, data))
    check_fit(build, data, training, f"model.name = {spec.model.name!r}")
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


def build_clients(spec: Spec, data: FederatedData) -> ClientPool:
    """Return the pool of a resolved spec that is carried out elsewhere; close it after use.

    As in `execute`, names of clients become numbers, and a baseline trains the rounds it has.
    """
    spec = with_client_ids(spec, data.client_names, data.num_clients)
    return build_pool(carried_out(spec, data.num_clients), data)


def build_training(spec: Spec, weights: Vector | None = None) -> LocalTraining:
    """Return what a client does with the model it receives.

    Args:
        spec: The spec.
        weights: Of shape `(num_classes,)`, by what the loss of each class is multiplied.
    """
    from fedmgda.clients import ClassWeights, LocalTraining  # noqa: PLC0415 (needs torch)

    clients = spec.clients
    own = {
        name: load_entry(entry, f"clients.{name}")
        for name in ("loss", "optimizer")
        if (entry := getattr(clients, name)) is not None
    }
    if weights is not None:
        own["loss"] = ClassWeights(tuple(weights.tolist()))
    return LocalTraining(
        local_epochs=clients.local_epochs,
        batch_size=None if clients.batch_size == "full" else clients.batch_size,
        client_lr=_client_lr(clients),
        momentum=clients.momentum or 0.0,
        mu=clients.mu or 0.0,
        prox_convention=clients.prox_convention or "half",
        **own,
    )


def _client_lr(clients: ClientsSpec) -> float | Annealed:
    if clients.client_lr is None or isinstance(clients.client_lr, str):
        raise SpecError(
            f"clients.client_lr = {clients.client_lr!r} is told by data, and there is none here; "
            "give a number."
        )
    return clients.client_lr


def build_attack(spec: AttackSpec) -> Attack | None:
    """Return what the malicious clients do, or None."""
    if spec.name == "none":
        return None
    clients = known_ids(spec.clients)
    if is_entry(spec.name):
        made = _own("attack", spec.name, {"clients": clients}, spec.options)
        if not isinstance(made, Attack):
            raise _other_kind("attack", spec.name, "Attack", made)
        return made
    kind: Callable[..., Attack] = ATTACKS[spec.name]
    options = {name: getattr(spec, name) for name in attack_options(ATTACKS[spec.name])}
    return kind(clients=clients, **{k: v for k, v in options.items() if v is not None})


def build_rule(spec: Spec, clients: KnownClients | None = None) -> Rule:
    """Return the rule with the options the spec gives.

    Args:
        spec: The spec.
        clients: Who there is, for options that go by client; None where that is not known yet.
    """
    if is_entry(spec.rule.name):
        made = _own("rule", spec.rule.name, {}, spec.rule.options)
        if not isinstance(made, Rule):
            raise _other_kind("rule", spec.rule.name, "Rule", made)
        return made
    try:
        return make_rule(spec.rule.name, **rule_options(spec, clients))
    except ValueError as error:
        raise SpecError(f"rule.{error}") from error


def _own(section: str, name: str, fixed: dict[str, Any], options: Any) -> object:
    """Make a rule or an attack of the user's own."""
    entry, given = load_entry(name, f"{section}.name"), fixed | dict(options or {})
    check_options(entry, given, name, f"{section}.options")
    try:
        return entry(**given)
    except (Exception, SystemExit) as error:  # whatever code of the user's own may do
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SpecError(f"{section}.name = {name!r} raised {reason}; correct it.") from error


def _other_kind(section: str, name: str, kind: str, made: object) -> SpecError:
    return SpecError(
        f"{section}.name = {name!r} must give a fedmgda.{kind}, got an object of type "
        f"{type(made).__name__}."
    )


def build_federation(spec: Spec, clients: Clients, rule: Rule | None = None) -> Federation:
    """Put a resolved spec together; a rule that is there already need not be built.

    The server meets what the clients say; what is true, only `clients` themselves know.
    """
    attack, num_clients = build_attack(spec.attack), clients.num_clients
    protection = build_protection(spec.server)
    met = ClientsUnderAttack(clients, attack, spec.seed) if attack else clients
    return Federation(
        train_cohort=partial(met.train_cohort, gradients=protection is not None),
        rule=rule or build_rule(spec, clients),
        sampler=build_sampler(spec, num_clients, attack.clients if attack else ()),
        num_clients=num_clients,
        schedule=build_schedule(spec),
        seed=spec.seed,
        num_buffers=clients.num_buffers,
        max_failed_rounds=spec.engine.max_failed_rounds,
        client_names=clients.client_names,
        protection=protection,
        losses=partial(met.evaluate, split="train"),
        trials_at_once=clients.models_at_once,
    )


def build_protection(spec: ServerSpec) -> Protection | None:
    """Return how the steps of a resolved spec are protected, or None."""
    if not isinstance(spec.protect, ProtectSpec):
        return None
    return Protection(**asdict(spec.protect))


def build_sampler(spec: Spec, num_clients: int, attackers: Sequence[int]) -> UniformSampler:
    """Return who takes part in a round, a function of the seed and the round."""
    per_round = clients_per_round(spec, num_clients)
    # As many always-on clients as take part: nobody else is ever drawn.
    always_on = known_ids(spec.clients.only) or (attackers if spec.attack.always_on else ())
    return UniformSampler(num_clients=num_clients, per_round=per_round, always_on=tuple(always_on))


def build_schedule(spec: Spec) -> Schedule:
    """Return the server's step, a function of the round and of what came back."""
    server = spec.server
    match server.schedule:
        case "decay" | None:
            return PaperDecay(server_lr=server.lr, decay=server.decay, num_rounds=spec.rounds)
        case "harmonic":
            return Harmonic(curvature=server.curvature or 1.0)
        case "median-norm":
            return MedianNorm(server_lr=server.lr)
