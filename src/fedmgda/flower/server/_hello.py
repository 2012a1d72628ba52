"""What nodes said of themselves, checked, and what the server makes of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final, get_args

import numpy as np

from fedmgda._types import Split
from fedmgda.flower.wire._messages import WireError
from fedmgda.values import ClientFacts, Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Vector
    from fedmgda.flower.wire._messages import Answer

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
        about: What must be the same on all nodes: fingerprint, classes, encoder, layout.
        sizes: For each split, how many examples each of the clients has.
        rows: For each split, which, one client behind the other; None where it does not say.
        target_sums: Over the training examples of the whole federation.
        values: The entries of tensors that do not travel, by their places in the layout.
        initial: The initial model, where it was sent.
    """

    client_ids: tuple[int, ...]
    client_names: tuple[str, ...] | None
    num_clients: int
    num_params: int
    num_buffers: int
    path: str
    about: Mapping[str, Any]
    sizes: Mapping[Split, Indices]
    rows: Mapping[Split, Indices] | None
    target_sums: Vector | None
    values: Mapping[int, NDArray[Any]]
    initial: Vector | None

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """Read an answer; raises a `WireError` where it cannot be one."""
        header, arrays = answer.header, answer.arrays
        ids = _whole_numbers(header, "client_ids")
        names = header.get("client_names")
        if names is not None:
            names = _texts(header, "client_names", len(ids))
        numbers = {key: _whole(header, key) for key in ("num_clients", "num_params", "num_buffers")}
        if numbers["num_clients"] > _MOST_CLIENTS:
            raise WireError(f"num_clients is {numbers['num_clients']}, above {_MOST_CLIENTS}")
        if numbers["num_params"] + numbers["num_buffers"] > _MOST_ENTRIES:
            raise WireError("the model is larger than a message can be")
        if any(not 0 <= i < numbers["num_clients"] for i in ids) or len(set(ids)) < len(ids):
            raise WireError("client_ids are not ids of this federation, each once")
        if header.get("path") not in _PATHS:
            raise WireError(f"path is none of {_PATHS}")
        about = {
            key: header.get(key)
            for key in ("fingerprint", "num_classes", "class_names", "encoder", "layout")
        }
        sizes = {split: _sizes(arrays, split, len(ids)) for split in _SPLITS}
        rows = None
        if all(f"rows.{split}" in arrays for split in _SPLITS):
            rows = {split: _rows(arrays, split, int(sizes[split].sum())) for split in _SPLITS}
        prefix = "value."
        values = {
            int(name.removeprefix(prefix)): array
            for name, array in arrays.items()
            if name.startswith(prefix) and name.removeprefix(prefix).isdecimal()
        }
        size = numbers["num_params"] + numbers["num_buffers"]
        return cls(
            client_ids=tuple(ids),
            client_names=names,
            path=header["path"],
            about=about,
            sizes=sizes,
            rows=rows,
            target_sums=_vector(arrays, "target_sums", np.float64, None),
            values=values,
            initial=_vector(arrays, "initial", np.float32, size),
            **numbers,
        )

    @property
    def digest(self) -> str:
        """What all nodes of a federation have in common."""
        told = [self.num_clients, self.num_params, self.num_buffers, self.about]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def facts_of(hellos: Sequence[Hello]) -> ClientFacts:
    """Put together what the nodes said, each of its own clients; who has no node has no examples.

    Raises:
        WireError: If what they said is no description of a model.
    """
    first = hellos[0]
    sizes = {split: np.zeros(first.num_clients, np.int64) for split in _SPLITS}
    rows: dict[Split, dict[int, Indices]] = {split: {} for split in _SPLITS}
    for hello in hellos:
        for split in _SPLITS:
            mine = hello.sizes[split]
            sizes[split][list(hello.client_ids)] = mine
            if hello.rows is not None:
                pieces = np.split(hello.rows[split], np.cumsum(mine)[:-1])
                rows[split] |= dict(zip(hello.client_ids, pieces, strict=False))
    everyone = range(first.num_clients)
    whole = all(rows[split].keys() == set(everyone) for split in _SPLITS)
    about = first.about
    classes, names = about["num_classes"], about["class_names"]
    return ClientFacts(
        sizes=sizes,
        fingerprint=str(about["fingerprint"]),
        layout=_layout(about["layout"], first.values),
        rows={split: np.concatenate([rows[split][i] for i in everyone]) for split in _SPLITS}
        if whole
        else None,
        num_classes=classes if isinstance(classes, int) else None,
        class_names=tuple(map(str, names)) if isinstance(names, list) else None,
        encoder=about["encoder"] if isinstance(about["encoder"], dict) else None,
        target_sums=first.target_sums,
    )


def _layout(told: Any, values: Mapping[int, NDArray[Any]]) -> tuple[Tensor, ...]:
    try:
        return tuple(
            Tensor(name=name, shape=tuple(shape), start=start, value=values.get(place))
            for place, (name, shape, start) in enumerate(told)
        )
    except (TypeError, ValueError) as error:
        raise WireError("layout is no list of names, shapes and places") from error


def _whole(header: Mapping[str, Any], key: str) -> int:
    value = header.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise WireError(f"{key} is missing or no whole number")
    return value


def _whole_numbers(header: Mapping[str, Any], key: str) -> list[int]:
    values = header.get(key)
    if not isinstance(values, list) or any(type(value) is not int for value in values):
        raise WireError(f"{key} is missing or no list of whole numbers")
    return values


def _texts(header: Mapping[str, Any], key: str, number: int) -> tuple[str, ...]:
    values = header.get(key)
    if not isinstance(values, list) or any(not isinstance(value, str) for value in values):
        raise WireError(f"{key} is no list of texts")
    if len(values) != number:
        raise WireError(f"{key} are {len(values)}, not {number}")
    return tuple(values)


def _sizes(arrays: Mapping[str, NDArray[Any]], split: Split, number: int) -> Indices:
    sizes = arrays.get(f"sizes.{split}")
    if sizes is None or sizes.shape != (number,) or sizes.dtype != np.int64 or (sizes < 0).any():
        raise WireError(f"sizes.{split} is missing or no list of {number} sizes")
    return sizes


def _rows(arrays: Mapping[str, NDArray[Any]], split: Split, number: int) -> Indices:
    rows = arrays[f"rows.{split}"]
    if rows.shape != (number,) or rows.dtype != np.int64:
        raise WireError(f"rows.{split} is no list of {number} rows")
    return rows


def _vector(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: type, size: int | None
) -> Vector | None:
    vector = arrays.get(name)
    if vector is None:
        return None
    if vector.ndim != 1 or vector.dtype != dtype or (size is not None and len(vector) != size):
        raise WireError(f"{name} is {vector.dtype} of shape {vector.shape}")
    return vector
