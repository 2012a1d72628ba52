"""Whether data from outside is the federation it claims to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._federated import Split

if TYPE_CHECKING:
    from fedmgda.data._federated import FederatedData

__all__ = ["check_federation"]


def check_federation(data: FederatedData) -> None:
    """Refuse a federation that would fail, or lie, later: in one sentence, before the first round.

    Raises:
        DataError: If lengths, row numbers, labels or features are not what they must be, a client
            has nothing to train on, or a row is in two places.
    """
    for find_problem in (_arrays, _labels, _clients, _rows):
        if problem := find_problem(data):
            raise DataError(f"The data {data.name!r} cannot be used: {problem}.")


def _arrays(data: FederatedData) -> str | None:
    features: object = data.features  # what the annotation promises is what is checked here
    targets: object = data.targets
    if not (isinstance(features, np.ndarray) and isinstance(targets, np.ndarray)):
        return "features and targets must be NumPy arrays"
    if features.ndim < 2 or targets.ndim != 1 or len(features) != len(targets):
        return f"features have shape {features.shape} and targets {targets.shape}"
    if features.dtype.kind not in "biuf" or targets.dtype.kind not in "iuf":
        return f"features are {features.dtype} and targets {targets.dtype}, not numbers"
    if features.dtype.kind == "f" and not np.isfinite(features).all():
        return "features hold NaN or Inf"
    return None


def _labels(data: FederatedData) -> str | None:
    targets = data.targets
    if data.num_classes is None:
        finite = targets.dtype.kind == "f" and bool(np.isfinite(targets).all())
        return None if finite else "the targets of a regression must be finite floats"
    if data.num_classes < 2:
        return f"num_classes is {data.num_classes}, and there is nothing to tell apart"
    if targets.dtype.kind == "f":
        return f"targets are {targets.dtype}; class numbers are whole (int64)"
    inside = len(targets) > 0 and targets.min() >= 0 and targets.max() < data.num_classes
    return None if inside else f"targets must lie in 0..{data.num_classes - 1}"


def _clients(data: FederatedData) -> str | None:
    n = len(data.train)
    if n == 0:
        return "it has no clients"
    sizes = {name: len(data.split(name)) for name in get_args(Split)}
    if set(sizes.values()) != {n}:
        return f"its splits have {', '.join(f'{k} {v}' for k, v in sizes.items())} clients"
    if data.client_names is not None and len(data.client_names) != n:
        return f"it has {n} clients and {len(data.client_names)} names"
    empty = [client for client, rows in enumerate(data.train) if len(rows) == 0]
    return f"client {empty[0]} has nothing to train on" if empty else None


def _rows(data: FederatedData) -> str | None:
    parts = [np.asarray(rows) for name in get_args(Split) for rows in data.split(name)]
    if any(part.ndim != 1 or (len(part) > 0 and part.dtype.kind not in "iu") for part in parts):
        return "the rows of a client must be a vector of whole numbers"
    rows = np.concatenate([part.astype(np.int64) for part in parts])
    if rows.min() < 0 or rows.max() >= len(data.targets):
        return f"row numbers must lie in 0..{len(data.targets) - 1}"
    twice = np.flatnonzero(np.bincount(rows) > 1)
    return f"row {twice[0]} is in more than one place" if len(twice) else None
