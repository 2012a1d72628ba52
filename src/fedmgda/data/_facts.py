"""What a server may know about clients whose data is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from fedmgda._types import Split
from fedmgda.data._fingerprint import fingerprint
from fedmgda.values import ClientFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices
    from fedmgda.data._federated import FederatedData
    from fedmgda.values import Tensor

__all__ = ["client_facts"]


def client_facts(data: FederatedData, layout: tuple[Tensor, ...] = ()) -> ClientFacts:
    """Return sizes, rows and fingerprint of the data, beside the layout of a model."""
    splits: dict[Split, Sequence[Indices]] = {name: data.split(name) for name in get_args(Split)}
    return ClientFacts(
        sizes={s: np.array([len(mine) for mine in rows], np.int64) for s, rows in splits.items()},
        rows={s: np.concatenate([np.empty(0, np.int64), *rows]) for s, rows in splits.items()},
        fingerprint=fingerprint(data),
        layout=layout,
        num_classes=data.num_classes,
    )
