"""From the spec of a run to what its rounds are held against; code that it names never runs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, final

from fedmgda._entry import is_entry
from fedmgda._errors import SpecError
from fedmgda.experiments._build import build_attack, build_rule, build_sampler, build_schedule
from fedmgda.experiments._client_names import known_ids
from fedmgda.experiments._verify_rounds import RunFacts
from fedmgda.federation import Constant, UniformSampler
from fedmgda.rules import AFL, FedAvg, FedMGDA, QFedAvg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fedmgda._types import Indices
    from fedmgda.attacks import Attack
    from fedmgda.experiments._rows import Gram, RoundRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._verify_step import Precision
    from fedmgda.rules import Rule

__all__ = ["attackers", "round_facts"]

_OURS: dict[str, Any] = {
    f"{kind.__module__}:{kind.__qualname__}": kind for kind in (AFL, FedAvg, FedMGDA, QFedAvg)
}
"""How a spec calls a rule of ours that was handed over in Python."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Federation:
    num_clients: int
    client_names: tuple[str, ...] | None


def attackers(spec: Spec) -> tuple[int, ...] | None:
    """Return who attacks; None where the spec has names that nobody could turn into numbers."""
    try:
        return known_ids(spec.attack.clients)
    except SpecError:
        return None


def round_facts(
    spec: Spec,
    train_sizes: Indices,
    names: tuple[str, ...] | None,
    precision: Precision,
    gram: Callable[[RoundRow], tuple[Gram | None, Gram | None]],
) -> RunFacts:
    """Return what the rounds of a run are held against.

    Args:
        spec: The spec as it is carried out, its clients by number as far as they are known.
        train_sizes: How many training examples each client has.
        names: What they are called, where they have names.
        precision: How exact the numbers are.
        gram: From a round to what was kept of its Gram matrices.
    """
    malicious, num_clients = attackers(spec), len(train_sizes)
    rule, no_rule = _rule(spec, _Federation(num_clients=num_clients, client_names=names))
    sampler, no_sampler = _sampler(spec, num_clients, malicious)
    return RunFacts(
        spec=spec,
        num_clients=num_clients,
        train_sizes=None if spec.baseline else train_sizes,
        malicious=malicious,
        rule=rule,
        no_rule=no_rule,
        sampler=sampler,
        no_sampler=no_sampler,
        schedule=Constant() if spec.baseline else build_schedule(spec),
        precision=precision,
        gram=gram,
        attack=_attack(spec),
    )


def _rule(spec: Spec, clients: _Federation) -> tuple[Rule | None, str]:
    """Return the rule, or why it cannot be built."""
    if spec.baseline is not None:
        return FedAvg(), ""
    name, unknown = spec.rule.name, spec.clients.client_lr in {None, "auto"}
    try:
        if is_entry(name) and name not in _OURS:
            return None, "the rule is code of its own"
        if is_entry(name):
            return _handed_over(_OURS[name], spec.rule.options or {}), ""
        rule = build_rule(spec, clients)
    except (SpecError, ValueError, TypeError) as error:
        return None, f"the rule cannot be built ({str(error).rstrip('.')})"
    if isinstance(rule, QFedAvg) and rule.lipschitz == "1/eta" and unknown:
        return None, "clients.client_lr was told by the data"
    return rule, ""


def _handed_over(kind: Any, options: Mapping[str, Any]) -> Rule:
    """Make a rule of ours again of the options that a spec could write down as they are."""
    # What is no plain value was written as Python shows it; a default is known again by that.
    shown = {about.name: repr(about.default) for about in fields(kind)}
    given = {name: value for name, value in options.items() if value != shown.get(name)}
    rule: Rule = kind(**given)
    return rule


def _sampler(
    spec: Spec, num_clients: int, malicious: tuple[int, ...] | None
) -> tuple[UniformSampler | None, str]:
    """Return who takes part, or why that cannot be told."""
    if spec.baseline is not None:
        return UniformSampler(num_clients=num_clients, per_round=1, always_on=(0,)), ""
    clients = spec.clients
    if clients.per_round is None and clients.participation is None and clients.only is None:
        return None, "how many take part was told by the data"
    if malicious is None or (is_entry(spec.attack.name) and spec.attack.always_on):
        return None, "who attacks, and always takes part, is not known here"
    try:
        return build_sampler(spec, num_clients, malicious), ""
    except (SpecError, ValueError) as error:
        return None, str(error).rstrip(".")


def _attack(spec: Spec) -> Attack | None:
    """Return what attackers do; None where nobody attacks, or that is code of its own."""
    if is_entry(spec.attack.name) or attackers(spec) is None:
        return None
    return build_attack(spec.attack)
