"""From the `rule` table of a spec to the options of a rule: defaults, clients by their names."""

from __future__ import annotations

import math
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from fedmgda._entry import is_entry
from fedmgda._errors import SpecError
from fedmgda.experiments._client_names import find_clients
from fedmgda.rules import PRESETS, Constraint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.experiments._spec import ConstraintSpec, RuleSpec, Spec

__all__ = ["KnownClients", "resolve_rule", "rule_options"]


class KnownClients(Protocol):
    """Who there is: how many, and what they are called, where they have names."""

    @property
    def num_clients(self) -> int:
        """n; ids go from 0 to n - 1."""

    @property
    def client_names(self) -> tuple[str, ...] | None:
        """By their ids."""


def resolve_rule(rule: RuleSpec) -> RuleSpec:
    """Fill in the defaults of the rule; refuse options that would be ignored."""
    given = {f.name for f in fields(rule) if getattr(rule, f.name) is not None} - {"name"}
    if is_entry(rule.name):
        for name in sorted(given - {"options"}):
            raise SpecError(
                f"rule.{name} does not apply to {rule.name!r}; give a rule of your own its options "
                "in rule.options."
            )
        return rule
    if "options" in given:
        raise SpecError(f"rule.options does not apply to {rule.name!r}; leave it out.")
    known = {f.name for f in fields(rule)}
    defaults = {
        name: default
        for name, default in PRESETS[rule.name].options.items()
        if name in known - given and default not in (None, ())
    }
    return replace(rule, **defaults)


def rule_options(spec: Spec, clients: KnownClients | None = None) -> dict[str, Any]:
    """Return the options of a rule of ours.

    Args:
        spec: The spec.
        clients: Who there is; None where that is not known yet, and what goes by client is checked
            as far as it can be.
    """
    rule = spec.rule
    options = {k: v for k, v in asdict(rule).items() if k != "name" and v is not None}
    if rule.epsilon is not None:
        options["epsilon"] = rule.epsilon
    if isinstance(rule.center, dict | tuple):
        options["center"] = _center(rule.center, clients)
    if rule.constraints is not None:
        options["constraints"] = tuple(_constraint(c, clients) for c in rule.constraints)
    if spec.rule.name == "q-fedavg":
        # Any step will do for the checks that come before the data has told it.
        known = spec.clients.client_lr not in {None, "auto"}
        options["client_lr"] = spec.clients.client_lr if known else 1.0
        options["batch_size"] = (
            None if spec.clients.batch_size == "full" else spec.clients.batch_size
        )
    return options


def _center(
    shares: Mapping[str, Any] | tuple[float, ...], clients: KnownClients | None
) -> tuple[float, ...]:
    if isinstance(shares, tuple):
        if clients is not None and len(shares) != clients.num_clients:
            raise SpecError(
                f"rule.center has {len(shares)} numbers for {clients.num_clients} clients; give "
                "one for each."
            )
        return shares
    numbers = [_number(value, f"rule.center.{key}") for key, value in shares.items()]
    if clients is None:
        return tuple(numbers)
    names = clients.client_names
    ids = find_clients(shares, names, clients.num_clients, "rule.center")
    by_id = dict(zip(ids, numbers, strict=True))
    missing = [client for client in range(clients.num_clients) if client not in by_id]
    if missing:
        who = repr(names[missing[0]]) if names else missing[0]
        raise SpecError(f"rule.center has no number for client {who}; give one for each.")
    return tuple(by_id[client] for client in range(clients.num_clients))


def _constraint(spec: ConstraintSpec, clients: KnownClients | None) -> Constraint:
    if (spec.at_most is None) == (spec.at_least is None):
        raise SpecError("Each of rule.constraints needs at_most or at_least, and not both.")
    shares: Mapping[Any, Any] = (
        spec.clients if isinstance(spec.clients, dict) else dict.fromkeys(spec.clients, 1.0)
    )
    numbers = [_number(value, "rule.constraints.clients") for value in shares.values()]
    ids: Sequence[int] = range(len(shares))
    if clients is not None:
        names = clients.client_names
        ids = find_clients(shares, names, clients.num_clients, "rule.constraints")
    sign = 1.0 if spec.at_least is None else -1.0
    bound = spec.at_most if spec.at_least is None else spec.at_least
    return Constraint(
        coefficients=tuple((i, sign * n) for i, n in zip(ids, numbers, strict=True)),
        at_most=sign * (bound or 0.0),
    )


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SpecError(f"{where} must be a finite number, got {value!r}.")
    return float(value)
