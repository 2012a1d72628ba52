"""How many clients take part in a round, and whether that can be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedmgda._errors import SpecError
from fedmgda.experiments._client_names import known_ids, with_client_ids
from fedmgda.experiments._defaults import default_clients
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.federation import cohort_size

if TYPE_CHECKING:
    from fedmgda.experiments._spec import ClientsSpec, DataSpec, Spec

__all__ = ["clients_per_round", "resolve_participation"]


def resolve_participation(clients: ClientsSpec, data: DataSpec) -> ClientsSpec:
    """Say by number who takes part, or by share where the number of clients is not known yet."""
    if clients.only is not None:
        _check_only(clients)
        return clients
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


def clients_per_round(spec: Spec, num_clients: int) -> int:
    """Return how many clients take part in a round, or say why they cannot."""
    spec = with_client_ids(spec, None, num_clients)
    per_round = spec.clients.per_round
    if spec.clients.only is not None:
        per_round = _number_of_only(spec, num_clients)
    if per_round is None:
        per_round = cohort_size(spec.clients.participation or 1.0, num_clients)
    if per_round > num_clients:
        raise SpecError(
            f"clients.per_round = {per_round} is more than the number of clients, {num_clients}."
        )
    _check_allow(spec, per_round)
    attackers = set(known_ids(spec.attack.clients))
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


def _check_allow(spec: Spec, per_round: int) -> None:
    protect = spec.server.protect
    if isinstance(protect, ProtectSpec) and protect.allow >= per_round:
        raise SpecError(
            f"server.protect.allow = {protect.allow} protects nobody, as {per_round} take part in "
            "a round; allow fewer, or leave server.protect out."
        )


def _check_only(clients: ClientsSpec) -> None:
    only = clients.only or ()
    for key in ("participation", "per_round"):
        if getattr(clients, key) is not None:
            raise SpecError(f"clients.{key} does not go with clients.only; keep one of them.")
    if not only or len(set(only)) < len(only):
        raise SpecError(f"clients.only must name each client once, and at least one, got {only}.")


def _number_of_only(spec: Spec, num_clients: int) -> int:
    only = known_ids(spec.clients.only)
    for client in only:
        if not 0 <= client < num_clients:
            raise SpecError(
                f"clients.only names client {client}; ids go from 0 to {num_clients - 1}."
            )
    if spec.attack.always_on:
        raise SpecError("attack.always_on does not go with clients.only; set it to false.")
    return len(only)
