"""From what a user wrote to everything a run means."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

from fedmgda._entry import is_entry
from fedmgda._errors import SpecError
from fedmgda.attacks import ATTACKS, attack_options
from fedmgda.data import find_dataset
from fedmgda.experiments._baselines import as_baseline
from fedmgda.experiments._build import build_rule
from fedmgda.experiments._defaults import resolve_data, resolve_model
from fedmgda.experiments._official import check_official
from fedmgda.experiments._participants import clients_per_round, resolve_participation
from fedmgda.experiments._rule_options import resolve_rule
from fedmgda.experiments._scores import check_metrics
from fedmgda.experiments._step_sizes import resolve_server, resolve_steps
from fedmgda.experiments._validation import check_patience
from fedmgda.rules import PRESETS

if TYPE_CHECKING:
    from fedmgda.experiments._spec import AttackSpec, ClientsSpec, Spec
    from fedmgda.rules import Preset

__all__ = ["resolve"]


def resolve(spec: Spec) -> Spec:
    """Fill in what the rule and `compat` decide, and refuse what does not go together.

    Resolving a resolved spec changes nothing.
    """
    spec = as_baseline(spec)
    preset = PRESETS.get(spec.rule.name)
    released = spec.compat == "released-code"
    data = resolve_data(spec)
    model = resolve_model(spec.model, data)
    clients = replace(
        resolve_steps(resolve_participation(spec.clients, data), data, model),
        # An optimiser of the user's own brings its momentum with it.
        momentum=_first(
            spec.clients.momentum, 0.5 if released and spec.clients.optimizer is None else 0.0
        ),
        mu=_first(spec.clients.mu, preset.mu if preset else 0.0),
        prox_convention=spec.clients.prox_convention or ("full" if released else "half"),
        reported_loss=spec.clients.reported_loss or _reported_loss(spec, preset),
    )
    evaluation = replace(
        spec.evaluation,
        # The released code evaluates after rounds 1, 11, ..., and reports the last of those.
        offset=_first(spec.evaluation.offset, 1 if released else 0),
        last=_first(spec.evaluation.last, not released),
        global_test=spec.evaluation.global_test or None,
        select=_first(spec.evaluation.select, find_dataset(data.name or "").select),
        # They take what the model says of single examples, which stays where a schema is.
        metrics=_first(
            spec.evaluation.metrics, "auto" if data.name == "table" and not data.schema else None
        ),
    )
    records = replace(
        spec.records,
        gram=_first(spec.records.gram, data.schema is None),
        predictions=_first(spec.records.predictions, data.schema is None),
    )
    resolved = replace(
        spec,
        data=data,
        model=model,
        clients=clients,
        rule=resolve_rule(spec.rule),
        attack=_resolve_attack(spec.attack),
        evaluation=evaluation,
        server=resolve_server(spec.server, spec.rule.name, data),
        records=records,
    )
    _check(resolved)
    if preset is not None:
        build_rule(resolved)  # whose own checks say what does not go together
    return resolved


def _reported_loss(spec: Spec, preset: Preset | None) -> Literal["before", "during"]:
    """Return which loss clients report: the costlier f_i(w_t) only where something may read it."""
    if spec.rule.name == "afl" and spec.compat == "released-code":
        return "during"  # SPEC 9.10
    always = spec.evaluation.improved and spec.evaluation.improved_every == 1
    return "before" if always or preset is None or preset.rule.reads_losses else "during"


def _resolve_attack(spec: AttackSpec) -> AttackSpec:
    """Fill in who attacks and how hard; refuse options that would be ignored."""
    own, kind = is_entry(spec.name), ATTACKS.get(spec.name)
    options = {} if kind is None else attack_options(kind)
    applicable = {"name", *options, *(("clients", "always_on") if own or kind else ())}
    applicable |= {"options"} if own else set()
    for f in fields(spec):
        if f.name not in applicable and getattr(spec, f.name) is not None:
            raise SpecError(f"attack.{f.name} does not apply to {spec.name!r}; leave it out.")
    if not own and kind is None:
        return spec
    if spec.clients is not None and not spec.clients:
        raise SpecError(
            f"attack.clients is empty; say who attacks, or use 'none' for {spec.name!r}."
        )
    defaults = options | {"clients": (0,), "always_on": True}
    return replace(spec, **{k: v for k, v in defaults.items() if getattr(spec, k) is None})


def _check(spec: Spec) -> None:
    """Refuse what does not go together, as far as it is known before the data is read."""
    if spec.data.num_clients is not None:
        clients_per_round(spec, spec.data.num_clients)
    _check_own_functions(spec.clients)
    check_patience(spec.evaluation)
    check_official(spec)
    check_metrics(spec.evaluation)
    if spec.server.schedule == "harmonic" and spec.server.curvature is None:
        raise SpecError("server.schedule = 'harmonic' needs server.curvature, the c of 2/(c(t+2)).")
    if spec.server.curvature is not None and spec.server.schedule != "harmonic":
        raise SpecError("server.curvature applies to server.schedule = 'harmonic' only.")
    if spec.server.protect is not None and spec.rule.average_iterates:
        raise SpecError(
            "server.protect does not go with rule.average_iterates: an average of models is not "
            "protected, only each step is; leave server.protect out, or set rule.average_iterates "
            "to false."
        )
    if not spec.evaluation.last and spec.rounds < (spec.evaluation.offset or 0):
        raise SpecError("evaluation.offset lies after the last round; nothing would be evaluated.")


def _check_own_functions(clients: ClientsSpec) -> None:
    for name in ("loss", "optimizer"):
        entry = getattr(clients, name)
        if entry is not None and not is_entry(entry):
            raise SpecError(
                f"clients.{name} must have the form 'package.module:function', got {entry!r}."
            )
    if clients.optimizer is not None and clients.momentum:
        raise SpecError(
            f"clients.momentum = {clients.momentum} does not reach clients.optimizer; give it to"
            " the optimizer itself, and leave clients.momentum out."
        )


def _first(value: Any, default: Any) -> Any:
    return default if value is None else value
