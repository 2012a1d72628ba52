"""What a node says of itself, its model and its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fedmgda._types import Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda.clients import ClientPool
    from fedmgda.values import ClientFacts

__all__ = ["hello_of"]


def hello_of(
    pool: ClientPool, client_ids: Sequence[int], *, initial: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a node says whose data is built in, as header and arrays.

    Args:
        pool: All clients of the federation.
        client_ids: Those of the node, rising.
        initial: Whether the initial model is wanted; who holds client 0 sends it anyway.
    """
    facts, names = pool.facts, pool.client_names
    header = {
        "client_ids": list(client_ids),
        "client_names": None if names is None else [names[i] for i in client_ids],
        "num_clients": pool.num_clients,
        "num_params": pool.num_params,
        "num_buffers": pool.num_buffers,
        "path": pool.path,
        "fingerprint": facts.fingerprint,
        "num_classes": facts.num_classes,
        "class_names": facts.class_names,
        "encoder": facts.encoder,
        "layout": [[t.name, list(t.shape), t.start] for t in facts.layout],
    }
    arrays = _sizes_and_rows(facts, client_ids)
    if facts.target_sums is not None:
        arrays["target_sums"] = facts.target_sums
    for place, tensor in enumerate(facts.layout):
        if tensor.value is not None:
            arrays[f"value.{place}"] = tensor.value
    if initial or 0 in client_ids:
        arrays["initial"] = pool.initial_params()
    return header, arrays


def _sizes_and_rows(facts: ClientFacts, client_ids: Sequence[int]) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for split in get_args(Split):
        sizes = facts.sizes[split]
        arrays[f"sizes.{split}"] = sizes[list(client_ids)]
        if facts.rows is not None:
            ends = np.cumsum(sizes)
            mine = [facts.rows[split][ends[i] - sizes[i] : ends[i]] for i in client_ids]
            arrays[f"rows.{split}"] = np.concatenate([np.empty(0, np.int64), *mine])
    return arrays
