"""The spec that a site has agreed to, beside the one that a server sends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fedmgda.experiments import resolve, to_table

if TYPE_CHECKING:
    from fedmgda.experiments import Spec

__all__ = ["first_difference"]

_FREE = ("rounds", "rule", "server", "attack", "engine")
_FREE_OF_CLIENTS = ("participation", "per_round", "only", "path")


def first_difference(asked: Spec, agreed: Spec) -> str | None:
    """Return the first key in which a spec is not the one agreed to; None where it is that one.

    The server is free in what it does itself: how many rounds, who takes part, rule, step, attack
    and engine; and it puts in the step of the clients where that was left to the data. All else is
    agreed: what is read and learned, what is recorded, and the seed, by which a row is one to train
    or to test on.

    Args:
        asked: What a server sent, resolved.
        agreed: What the site has, as it was read from a file.

    Raises:
        SpecError: If what the server is free in does not go with the rest.
    """
    clients: dict[str, Any] = {key: getattr(asked.clients, key) for key in _FREE_OF_CLIENTS}
    if resolve(agreed).clients.client_lr == "auto":
        clients["client_lr"] = asked.clients.client_lr
    meant = resolve(
        replace(
            agreed,
            clients=replace(agreed.clients, **clients),
            **{key: getattr(asked, key) for key in _FREE},
        )
    )
    theirs, ours = _by_key(asked), _by_key(meant)
    return next((key for key in {**ours, **theirs} if theirs.get(key) != ours.get(key)), None)


def _by_key(spec: Spec) -> dict[str, Any]:
    """Return the values of a spec by their keys, those that are not set left out."""
    found: dict[str, Any] = {}
    for section, value in to_table(spec).items():
        if isinstance(value, dict):
            found |= {f"{section}.{key}": one for key, one in value.items()}
        else:
            found[section] = value
    return found
