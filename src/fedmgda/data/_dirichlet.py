"""Partitions drawn from a Dirichlet distribution: skewed labels, and skewed sizes.

Neither draws again until it likes what it sees: a draw is repaired, so that every concentration
ends, at once, with a federation whose clients all have the minimum size.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError, SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices

__all__ = ["dirichlet_partition", "quantity_skew_partition"]


def dirichlet_partition(
    labels: NDArray[Any],
    num_clients: int,
    alpha: float,
    rng: np.random.Generator,
    min_size: int = 10,
) -> list[Indices]:
    """Deal every class in proportions drawn from Dirichlet(alpha, ..., alpha) over the clients.

    A small alpha gives a class to few clients, a large one deals it evenly. Clients that come out
    with fewer than `min_size` examples are filled up from the largest ones, as far as possible
    with examples of one class, so that the skew stays.

    Args:
        labels: Of shape `(n,)`.
        num_clients: The number of clients, at most `n / min_size`.
        alpha: The concentration.
        rng: The generator of all choices.
        min_size: No client holds fewer examples; 3 suffice for a local split, 1 without one.

    Returns:
        For each client its examples, in random order.

    Raises:
        DataError: If there are not `num_clients * min_size` examples.

    >>> labels = np.repeat([0, 1, 2], 100)
    >>> portions = dirichlet_partition(labels, 4, 0.1, np.random.default_rng(0))
    >>> [np.bincount(labels[portion], minlength=3).tolist() for portion in portions]
    [[15, 0, 0], [1, 6, 3], [0, 94, 12], [84, 0, 85]]
    """
    _check(len(labels), num_clients, alpha, min_size)
    pieces: list[list[Indices]] = [[] for _ in range(num_clients)]
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        shares = _shares(num_clients, alpha, rng)
        cuts = np.rint(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
        for client, piece in enumerate(np.split(members, cuts)):
            pieces[client].append(piece)
    portions = _filled([np.concatenate(piece) for piece in pieces], min_size)
    return [rng.permutation(portion) for portion in portions]


def quantity_skew_partition(
    num_examples: int, num_clients: int, alpha: float, rng: np.random.Generator, min_size: int = 10
) -> list[Indices]:
    """Deal shuffled examples in portions of very different size.

    Each client first gets `min_size` examples; the rest goes by Dirichlet(alpha, ..., alpha).

    >>> portions = quantity_skew_partition(100, 4, 0.5, np.random.default_rng(0))
    >>> [len(portion) for portion in portions]
    [15, 10, 10, 65]
    """
    _check(num_examples, num_clients, alpha, min_size)
    spare = num_examples - num_clients * min_size
    ends = np.rint(np.cumsum(_shares(num_clients, alpha, rng)) * spare).astype(np.int64)
    cuts = ends[:-1] + min_size * np.arange(1, num_clients)
    return np.split(rng.permutation(num_examples), cuts)


def _check(num_examples: int, num_clients: int, alpha: float, min_size: int) -> None:
    if not 0 < alpha < np.inf:
        raise SpecError(f"alpha must be positive and finite, got {alpha}.")
    if num_clients < 1 or min_size < 1:
        raise SpecError(
            f"A partition needs at least 1 client and 1 example for each, got {num_clients} "
            f"clients and min_size = {min_size}."
        )
    if num_clients * min_size > num_examples:
        raise DataError(
            f"{num_examples} examples cannot be dealt to {num_clients} clients with at least "
            f"{min_size} each; use fewer clients or a smaller min_size."
        )


def _shares(num_clients: int, alpha: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw from the Dirichlet distribution, of shape `(num_clients,)`.

    A gamma variable of shape 1e-3 is mostly below the smallest float; its logarithm is not:
    Gamma(alpha) has the law of Gamma(alpha + 1) U^(1 / alpha).
    """
    gammas, uniforms = rng.gamma(alpha + 1, size=num_clients), rng.random(num_clients)
    logs = np.log(gammas) + np.log1p(-uniforms) / alpha
    weights: NDArray[np.float64] = np.exp(logs - logs.max())
    return weights / weights.sum()


def _filled(portions: list[Indices], min_size: int) -> list[Indices]:
    """Move examples from the largest portions to those below the minimum; at most 2 moves a client.

    A move fills the poor one, or takes from the rich one all it can spare.
    """
    richest = [(-len(portion), client) for client, portion in enumerate(portions)]
    heapq.heapify(richest)
    for poor, portion in enumerate(portions):
        missing = min_size - len(portion)
        while missing > 0:
            size, rich = heapq.heappop(richest)
            moved = min(missing, -size - min_size)
            portions[poor] = np.concatenate([portions[poor], portions[rich][-moved:]])
            portions[rich] = portions[rich][:-moved]
            heapq.heappush(richest, (size + moved, rich))
            missing -= moved
    return portions
