"""A model and arrays of one's own: who is served how, and was anyone sacrificed on the way?

Run it with: python examples/own_model.py
"""

from __future__ import annotations

import numpy as np
from torch import nn

import fedmgda

rng = np.random.default_rng(7)
hospitals = {}
for name, size, shift in (("north", 400, 0.0), ("south", 120, 1.0), ("island", 40, -1.5)):
    x = rng.normal(shift, 1.0, size=(size, 5)).astype(np.float32)
    hospitals[name] = (x, (x.sum(axis=1) + rng.normal(size=size) > 2 * shift).astype(np.int64))

result = fedmgda.train(
    nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2)),
    hospitals,
    rule=fedmgda.FedMGDA(epsilon=1.0),
    rounds=30,
    server_lr=0.5,
)

for name, accuracy in zip(hospitals, result.history.accuracies[-1], strict=True):
    print(f"{name:7s} {100 * accuracy:5.1f} % of its test examples")
share = np.nanmean(result.history.improved)
print(f"{share:.0f} % of participants ended a round no worse than they began it")
print(f"least <g_i, d> of all rounds: {np.nanmin(result.history.min_inner):.2g}")
