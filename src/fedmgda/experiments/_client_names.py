"""Clients that a spec calls by name, or by number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fedmgda.experiments._spec import Spec

__all__ = ["GivenClients", "find_clients", "known_ids", "with_client_ids"]

GivenClients: TypeAlias = "tuple[str, ...] | tuple[int, ...] | None"


def find_clients(
    given: Iterable[Any], names: Sequence[str] | None, num_clients: int, where: str
) -> list[int]:
    """Return the ids of clients given by name, or by number where nobody has such a name.

    Args:
        given: What the spec says.
        names: What the clients are called, where they have names.
        num_clients: How many there are.
        where: The key, for messages.

    Raises:
        SpecError: If there is no such client, or one is given twice.

    >>> find_clients(["south", "0"], ["north", "south"], 2, "clients.only")
    [1, 0]
    """
    places = {name: place for place, name in enumerate(names or ())}
    ids = []
    for client in given:
        text = str(client)
        found = places.get(text)
        if found is None and text.isascii() and text.isdecimal() and len(text) < 10:
            found = int(text) if int(text) < num_clients else None
        if found is None:
            near = did_you_mean(nearest_names(text, places), f"ids go from 0 to {num_clients - 1}.")
            raise SpecError(f"{where} names a client {text!r} that there is not; {near}")
        ids.append(found)
    if len(set(ids)) < len(ids):
        raise SpecError(f"{where} names a client twice; name each once.")
    return ids


def with_client_ids(spec: Spec, names: Sequence[str] | None, num_clients: int) -> Spec:
    """Return the spec with numbers for the names of clients, once it is known who there is.

    A number in a spec is a number, also where a client is called so.
    """

    def ids(given: GivenClients, where: str) -> GivenClients:
        if given and any(isinstance(client, str) for client in given):
            return tuple(find_clients(given, names, num_clients, where))
        return given

    return replace(
        spec,
        clients=replace(spec.clients, only=ids(spec.clients.only, "clients.only")),
        attack=replace(spec.attack, clients=ids(spec.attack.clients, "attack.clients")),
    )


def known_ids(given: GivenClients) -> tuple[int, ...]:
    """Return clients of a spec whose names have become numbers."""
    ids = tuple(client for client in given or () if isinstance(client, int))
    if len(ids) < len(given or ()):
        raise SpecError(f"The clients {given} have names, and it is not known here who they are.")
    return ids
