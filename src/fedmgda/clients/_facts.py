"""What a server may know about the clients of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.data import fingerprint
from fedmgda.models import layout_of
from fedmgda.values import ClientFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from fedmgda._types import Split
    from fedmgda.data import FederatedData

__all__ = ["facts_of"]

_SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def facts_of(data: FederatedData, build_model: Callable[[], nn.Module]) -> ClientFacts:
    """Return sizes, rows and fingerprint of the data, and the layout of the model."""
    rows = {split: data.split(split) for split in _SPLITS}
    return ClientFacts(
        sizes={split: np.array([len(mine) for mine in rows[split]], np.int64) for split in rows},
        rows={split: np.concatenate([np.empty(0, np.int64), *rows[split]]) for split in rows},
        fingerprint=fingerprint(data),
        layout=layout_of(build_model),
        num_classes=data.num_classes,
    )
