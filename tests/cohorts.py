"""Cohorts for tests: by hand, and drawn by hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedmgda import Cohort, values
from fedmgda.rules import AFL, FedAvg, FedMGDA, QFedAvg

RULES = {
    "fedavg": FedAvg(),
    "fedavg by examples": FedAvg(center="examples"),
    "fedavg-n": FedAvg(normalize=True),
    "fedmgda": FedMGDA(normalize=False),
    "fedmgda+": FedMGDA(),
    "fedmgda+ in a box": FedMGDA(epsilon=0.1),
    "fedmgda+ by examples": FedMGDA(epsilon=0.3, center="examples"),
    "q-fedavg": QFedAvg(q=1.0, lipschitz=1.0),
    "q-fedavg batch-sum": QFedAvg(q=2.0, client_lr=0.1, loss_scale="batch-sum", batch_size=10),
    "afl": AFL(gamma_lambda=0.1),
}


def cohort_of(updates, *, losses=None, num_examples=None, dtype=np.float64):
    updates = np.asarray(updates, dtype=dtype)
    m = len(updates)
    return Cohort(
        client_ids=tuple(range(m)),
        updates=updates,
        num_examples=np.ones(m) if num_examples is None else np.asarray(num_examples, float),
        losses=np.ones(m) if losses is None else np.asarray(losses, float),
    )


def aggregate(rule, cohort, num_clients=None):
    return step(rule, cohort, rule.init(num_clients or max(cohort.client_ids) + 1))[0]


def step(rule, cohort, state):
    """Weigh and combine as the engine does; return the aggregate and the new state."""
    weighing, after = rule.weigh(cohort, state, 1)
    return values.aggregate(cohort, weighing), after


@st.composite
def cohorts(draw, *, max_clients=12, max_params=24, dtype=np.float64, with_zeros=False):
    """Draw updates with everything that hurts: duplicates, collinear rows, m > d, wild norms."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    m, d = draw(st.integers(1, max_clients)), draw(st.integers(1, max_params))
    updates = rng.normal(size=(m, d))
    shared = draw(st.sampled_from([0.0, 1.0, 5.0]))
    updates += shared * rng.normal(size=d)
    if m > 1 and draw(st.booleans()):
        updates[-1] = updates[0]
    if m > 2 and draw(st.booleans()):
        updates[1] = -2.0 * updates[0]
    if draw(st.booleans()):
        updates *= 10.0 ** rng.uniform(-4, 4, size=(m, 1))
    if with_zeros:
        updates[rng.random(m) < 0.3] = 0.0
    return cohort_of(
        updates,
        dtype=dtype,
        losses=rng.uniform(0, 3, size=m),
        num_examples=rng.integers(1, 1000, size=m),
    )
