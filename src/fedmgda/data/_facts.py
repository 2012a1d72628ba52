"""What a server may know about clients whose data is here."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fedmgda._types import Split
from fedmgda.data._fingerprint import fingerprint
from fedmgda.data.own._encoder import Encoder
from fedmgda.values import ClientFacts

if TYPE_CHECKING:
    from fedmgda._types import Vector
    from fedmgda.data._federated import FederatedData
    from fedmgda.values import Tensor

__all__ = ["data_facts", "target_sums"]

_SPLITS: tuple[Split, ...] = get_args(Split)


def data_facts(data: FederatedData, layout: tuple[Tensor, ...] = ()) -> ClientFacts:
    """Return sizes, rows, sums of the targets and fingerprint of the data.

    Args:
        data: The data of all clients.
        layout: The tensors of their model.
    """
    rows = {split: data.split(split) for split in _SPLITS}
    return ClientFacts(
        sizes={split: np.array([len(mine) for mine in rows[split]], np.int64) for split in rows},
        rows={split: np.concatenate([np.empty(0, np.int64), *rows[split]]) for split in rows},
        fingerprint=fingerprint(data),
        layout=layout,
        num_classes=data.num_classes,
        class_names=data.class_names,
        encoder=_encoder_table(data),
        target_sums=target_sums(data),
    )


def _encoder_table(data: FederatedData) -> dict[str, Any] | None:
    """Return the encoder as JSON can say it; of data without columns at most the classes."""
    encoder = data.encoder
    if encoder is None and data.class_names is not None:
        encoder = Encoder(class_names=data.class_names)
    return None if encoder is None else asdict(encoder)


def target_sums(data: FederatedData) -> Vector:
    """Return how many training rows each class has; of numbers count, sum and sum of squares."""
    targets = data.targets[np.concatenate([np.empty(0, np.int64), *data.train])]
    if data.num_classes is not None:
        return np.bincount(targets, minlength=data.num_classes).astype(np.float64)
    values = targets.astype(np.float64)
    return np.array([len(values), values.sum(), (values**2).sum()])
