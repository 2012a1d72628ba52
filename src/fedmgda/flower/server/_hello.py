"""What nodes said of themselves, checked, and what the server makes of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final, get_args

import numpy as np

from fedmgda._types import Split
from fedmgda.flower.server._fields import (
    classes_of,
    encoder_of,
    is_name,
    layout_of,
    names_of,
    numbers_of,
    rows_of,
    sizes_of,
    vector_of,
    whole_of,
)
from fedmgda.flower.wire._messages import WireError
from fedmgda.values import ClientFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda._types import Indices, Vector
    from fedmgda.flower.wire._messages import Answer
    from fedmgda.values import Tensor

__all__ = ["Hello", "facts_of"]

_SPLITS: tuple[Split, ...] = get_args(Split)
_PATHS = ("compiled", "torch")
_MOST_CLIENTS = 1_000_000
_MOST_ENTRIES = 1 << 31  # of a model; Flower's messages hold less


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hello:
    """What a node said of itself, checked.

    Attributes:
        client_ids: For whom it claims to answer.
        client_names: What they are called, where they have names.
        num_clients: How many clients the federation has.
        num_params: d.
        num_buffers: The entries of the float buffers.
        path: What computes where nobody says what shall.
        fingerprint: Of the data of all nodes.
        num_classes: How many classes there are; None for a regression.
        class_names: What they are called, where they have names.
        encoder: How rows become features, as plain JSON, where that is known.
        layout: The tensors of the model.
        sizes: For each split, how many examples each of the clients has.
        rows: For each split, which, one client behind the other; None where it does not say.
        target_sums: Over the training examples of the whole federation.
        initial: The initial model, where it was sent.
    """

    client_ids: tuple[int, ...]
    client_names: tuple[str, ...] | None
    num_clients: int
    num_params: int
    num_buffers: int
    path: str
    fingerprint: str
    num_classes: int | None
    class_names: tuple[str, ...] | None
    encoder: Mapping[str, Any] | None
    layout: tuple[Tensor, ...]
    sizes: Mapping[Split, Indices]
    rows: Mapping[Split, Indices] | None
    target_sums: Vector | None
    initial: Vector | None

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Read an answer; raises a `WireError` where it cannot be one."""
        header, arrays = answer.header, answer.arrays
        num_clients = whole_of(header, "num_clients", _MOST_CLIENTS)
        num_params = whole_of(header, "num_params", _MOST_ENTRIES)
        num_buffers = whole_of(header, "num_buffers", _MOST_ENTRIES)
        size = num_params + num_buffers
        ids = numbers_of(header, "client_ids", num_clients)
        if header.get("path") not in _PATHS:
            raise WireError(f"path is none of {_PATHS}")
        if not is_name(header.get("fingerprint")):
            raise WireError("fingerprint is missing or no short text")
        num_classes, class_names = classes_of(header)
        sizes = {split: sizes_of(arrays, f"sizes.{split}", (len(ids),)) for split in _SPLITS}
        rows = None
        if all(f"rows.{split}" in arrays for split in _SPLITS):
            rows = {
                split: rows_of(arrays, f"rows.{split}", int(sizes[split].sum()))
                for split in _SPLITS
            }
        return cls(
            client_ids=ids,
            client_names=names_of(header, "client_names", len(ids)),
            num_clients=num_clients,
            num_params=num_params,
            num_buffers=num_buffers,
            path=header["path"],
            fingerprint=header["fingerprint"],
            num_classes=num_classes,
            class_names=class_names,
            encoder=encoder_of(header),
            layout=layout_of(header, arrays, size),
            sizes=sizes,
            rows=rows,
            target_sums=vector_of(arrays, "target_sums", np.float64, num_classes or 3),
            initial=vector_of(arrays, "initial", np.float32, size),
        )

    @property
    def digest(self) -> str:
        """What all nodes of a federation have in common."""
        layout = [(tensor.name, tensor.shape, tensor.start) for tensor in self.layout]
        model = [self.num_params, self.num_buffers, layout]
        data = [self.num_clients, self.fingerprint, self.num_classes, self.class_names]
        told = json.dumps([model, data, self.encoder], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def named(self) -> list[tuple[int, str]]:
        """Its clients and what they are called; nothing where they have no names."""
        return list(zip(self.client_ids, self.client_names or (), strict=False))

    def of_client(self, client_id: int) -> tuple[int, ...]:
        """Return how many examples one of its clients trains, validates and tests on."""
        place = self.client_ids.index(client_id)
        return tuple(int(self.sizes[split][place]) for split in _SPLITS)


def facts_of(hellos: Mapping[int, Hello], holders: Mapping[int, int]) -> ClientFacts:
    """Put together what the nodes said, each of the clients that it answers for.

    What is of the whole federation says the node of client 0.

    Args:
        hellos: What the nodes said.
        holders: The node of each client, client 0 among them; who has none has no examples.
    """
    first = hellos[holders[0]]
    sizes = {split: np.zeros(first.num_clients, np.int64) for split in _SPLITS}
    rows: dict[Split, dict[int, Indices]] = {split: {} for split in _SPLITS}
    for node, hello in hellos.items():
        for split in _SPLITS:
            mine = hello.sizes[split]
            ends = np.cumsum(mine)
            for place, client in enumerate(hello.client_ids):
                if holders.get(client) != node:
                    continue
                sizes[split][client] = mine[place]
                if hello.rows is not None:
                    start = ends[place] - mine[place]
                    rows[split][client] = hello.rows[split][start : ends[place]]
    everyone = range(first.num_clients)
    whole = all(rows[split].keys() == set(everyone) for split in _SPLITS)
    return ClientFacts(
        sizes=sizes,
        fingerprint=first.fingerprint,
        layout=first.layout,
        rows={split: np.concatenate([rows[split][i] for i in everyone]) for split in _SPLITS}
        if whole
        else None,
        num_classes=first.num_classes,
        class_names=first.class_names,
        encoder=first.encoder,
        target_sums=first.target_sums,
    )
