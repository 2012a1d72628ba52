"""The partition in which every client knows only a few classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError, SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Flags, Indices

__all__ = ["label_quantity_partition"]


def label_quantity_partition(
    labels: NDArray[Any], num_clients: int, classes_per_client: int, rng: np.random.Generator
) -> list[Indices]:
    """Give each client some classes, and deal every class evenly among the clients that own it.

    Args:
        labels: Of shape `(n,)`.
        num_clients: The number of clients.
        classes_per_client: How many classes a client owns; it sees no other.
        rng: The generator of all choices.

    Returns:
        For each client its examples, in random order.

    Raises:
        SpecError: If a client cannot own so many classes, or a class would have no owner.
        DataError: If the examples do not reach every client.

    >>> labels = np.repeat([0, 1, 2], 6)
    >>> portions = label_quantity_partition(labels, 3, 2, np.random.default_rng(0))
    >>> [sorted(labels[portion].tolist()) for portion in portions]
    [[1, 1, 1, 2, 2, 2], [0, 0, 0, 2, 2, 2], [0, 0, 0, 1, 1, 1]]
    """
    classes, codes = np.unique(labels, return_inverse=True)
    _check(len(classes), num_clients, classes_per_client)
    if num_clients > len(labels):
        raise DataError(f"{len(labels)} examples do not reach all {num_clients} clients.")
    members = [rng.permutation(np.flatnonzero(codes == code)) for code in range(len(classes))]
    counts = np.array([len(rows) for rows in members])
    owned = _owned(counts, num_clients, classes_per_client, rng)
    sizes = np.zeros(num_clients, dtype=np.int64)
    pieces: list[list[Indices]] = [[] for _ in range(num_clients)]
    # Rare classes first: what they leave uneven, the frequent ones make up for.
    for code in np.argsort(counts, kind="stable"):
        owners = np.flatnonzero(owned[:, code])
        owners = owners[np.argsort(sizes[owners], kind="stable")]
        for client, piece in zip(owners, np.array_split(members[code], len(owners)), strict=True):
            pieces[client].append(piece)
            sizes[client] += len(piece)
    if sizes.min() == 0:
        raise DataError(
            f"{len(labels)} examples do not reach all {num_clients} clients with "
            f"{classes_per_client} classes each; use fewer clients."
        )
    return [rng.permutation(np.concatenate(piece)) for piece in pieces]


def _check(num_classes: int, num_clients: int, classes_per_client: int) -> None:
    if not 1 <= classes_per_client <= num_classes:
        raise SpecError(
            f"classes_per_client must lie between 1 and the {num_classes} classes of the data, "
            f"got {classes_per_client}."
        )
    if num_clients * classes_per_client < num_classes:
        raise SpecError(
            f"{num_clients} clients with {classes_per_client} classes each leave some of the "
            f"{num_classes} classes without an owner; use more clients or more classes for each."
        )


def _owned(
    counts: NDArray[np.int64], num_clients: int, classes_per_client: int, rng: np.random.Generator
) -> Flags:
    """Choose the classes of each client, of shape `(num_clients, num_classes)`.

    Each takes those without an owner first, then those with most examples per owner; ties are
    broken at random.
    """
    owned = np.zeros((num_clients, len(counts)), dtype=np.bool_)
    owners = np.zeros(len(counts), dtype=np.int64)
    for client in range(num_clients):
        wish = np.where(owners == 0, np.inf, counts / (owners + 1))
        order = np.lexsort((rng.random(len(counts)), -wish))[:classes_per_client]
        owned[client, order] = True
        owners[order] += 1
    return owned
