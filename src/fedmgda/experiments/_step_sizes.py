"""Step sizes by default, as far as they can be told before the data is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedmgda._errors import SpecError
from fedmgda.data import find_dataset
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.models import MODELS
from fedmgda.rules import PRESETS

if TYPE_CHECKING:
    from fedmgda.experiments._spec import ClientsSpec, DataSpec, ModelSpec, ServerSpec

__all__ = ["resolve_server", "resolve_steps"]


def resolve_steps(clients: ClientsSpec, data: DataSpec, model: ModelSpec) -> ClientsSpec:
    """Fill in the step of the clients; refuse weights and steps that nothing can follow.

    `client_lr` stays "auto" until the data is read. By default it is that only where model, loss
    and optimiser are ours, so that their curvature is known.
    """
    _check_class_weights(clients)
    unknown = _unknown_curvature(clients, model)
    if clients.client_lr == "auto" and unknown is not None:
        raise SpecError(
            f"clients.client_lr = 'auto' needs a loss whose curvature is known, and {unknown} may "
            "have any; give a number."
        )
    default = 0.1 if unknown is not None else find_dataset(data.name or "").client_lr
    return clients if clients.client_lr is not None else replace(clients, client_lr=default)


def resolve_server(server: ServerSpec, rule: str, data: DataSpec) -> ServerSpec:
    """Fill in the schedule, that of the data where a rule leaves the length of its step open.

    What protection means is written out too; a step that is not protected says nothing about it.
    """
    if isinstance(server.protect, bool):
        server = replace(server, protect=ProtectSpec() if server.protect else None)
    if server.schedule is not None:
        return server
    normalizes = rule in PRESETS and PRESETS[rule].server == "schedule"
    own = find_dataset(data.name or "").schedule
    return replace(server, schedule=own if normalizes and server.curvature is None else "decay")


def _unknown_curvature(clients: ClientsSpec, model: ModelSpec) -> str | None:
    """Return which part of the spec hides how curved the loss is."""
    for name in ("loss", "optimizer"):
        if (own := getattr(clients, name)) is not None:
            return f"clients.{name} = {own!r}"
    record = MODELS.get(model.name or "")
    known = record is not None and record.auto_lr
    return None if known else f"model.name = {model.name!r}"


def _check_class_weights(clients: ClientsSpec) -> None:
    if clients.class_weights is None:
        return
    if clients.loss is not None:
        raise SpecError(
            f"clients.class_weights does not reach clients.loss = {clients.loss!r}; weigh the "
            "classes there, and leave clients.class_weights out."
        )
    if clients.path == "compiled":
        raise SpecError(
            "clients.class_weights needs torch, and clients.path = 'compiled' rules it out; use "
            "'auto' or 'torch'."
        )
