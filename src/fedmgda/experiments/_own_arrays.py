"""Arrays of one's own, one pair for each client, as a federation."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.data import Examples, federate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from fedmgda.data import FederatedData

    ClientArrays: TypeAlias = "tuple[ArrayLike, ArrayLike]"

__all__ = ["federate_arrays"]


def federate_arrays(
    data: Mapping[str, ClientArrays] | Sequence[ClientArrays], seed: int
) -> FederatedData:
    """Split every client's examples 80 / 10 / 10; whole numbers are classes, others are values.

    Args:
        data: For each client its features, of shape `(n, ...)`, and targets, of shape `(n,)`.
        seed: Of the split.

    Raises:
        SpecError: If something is no such pair of arrays, or the clients do not fit together.
    """
    names = tuple(str(name) for name in data) if isinstance(data, Mapping) else None
    try:
        pairs: list[Any] = list(data.values()) if isinstance(data, Mapping) else list(data)
        features = [np.asarray(own) for own, _ in pairs]
        targets = [np.asarray(own) for _, own in pairs]
    except (TypeError, ValueError, RuntimeError) as error:
        raise SpecError(
            "data must be a pair of features and targets for each client, each of them an array; "
            f"{error}."
        ) from error
    _check(names or tuple(map(str, range(len(pairs)))), features, targets)
    joined = np.concatenate(targets)
    classes = joined.dtype.kind in "biu"
    ends = np.cumsum([0, *(len(y) for y in targets)])
    examples = Examples(
        name="arrays in Python",
        features=np.concatenate(features).astype(np.float32),
        targets=joined.astype(np.int64 if classes else np.float32),
        num_classes=int(joined.max(initial=0)) + 1 if classes else None,
    )
    rows = [np.arange(start, stop) for start, stop in pairwise(ends)]
    return federate(examples, rows, seed=seed, client_names=names)


def _check(
    names: Sequence[str], features: Sequence[NDArray[Any]], targets: Sequence[NDArray[Any]]
) -> None:
    if not names:
        raise SpecError("data has no client; give features and targets of at least one.")
    if len(set(names)) < len(names):
        raise SpecError(f"data names a client twice; the names are {', '.join(names)}.")
    for name, x, y in zip(names, features, targets, strict=True):
        if x.ndim < 1 or y.ndim != 1 or len(x) != len(y) or x.shape[1:] != features[0].shape[1:]:
            raise SpecError(
                f"data of client {name} has features of shape {x.shape} and targets of shape "
                f"{y.shape}; both need a row for each example, and all clients the same features."
            )
        if x.dtype.kind not in "biuf" or y.dtype.kind not in "biuf":
            raise SpecError(
                f"data of client {name} has features of type {x.dtype} and targets of type "
                f"{y.dtype}; both must be real numbers."
            )
    if len({y.dtype.kind in "biu" for y in targets}) > 1:
        raise SpecError(
            "data has whole numbers as targets of some clients, which are classes, and other "
            "numbers of others; give all of them the same type."
        )
