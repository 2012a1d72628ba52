"""A federation of the user's own whose clients have names."""

from dataclasses import replace

import numpy as np

from fedmgda.data import FederatedData


def clients():
    rng = np.random.default_rng(5)
    parts = np.array_split(np.arange(60), 4)
    return FederatedData(
        name="four towns",
        features=rng.normal(size=(60, 3)).astype(np.float32),
        targets=rng.integers(0, 2, 60),
        train=tuple(part[:10] for part in parts),
        validation=tuple(part[10:12] for part in parts),
        test=tuple(part[12:] for part in parts),
        num_classes=2,
        client_names=("Aachen", "Bern", "Chur", 'D"\n,'),
    )


def towns():
    """Return the same with names that a network takes: each can be shown in one line."""
    return replace(clients(), client_names=("Aachen", "Bern", "Chur", 'D",'))
