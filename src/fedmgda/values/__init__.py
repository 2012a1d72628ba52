"""The values that cross layers: what clients send, what a rule decides, what becomes of it.

>>> import numpy as np
>>> cohort = Cohort(client_ids=(4, 7), updates=np.array([[1.0, 0.0], [0.0, 3.0]]),
...                 num_examples=np.ones(2), losses=np.ones(2))
>>> cohort.updates.gramian().tolist()
[[1.0, 0.0], [0.0, 9.0]]
"""

from fedmgda.values._aggregate import Aggregate, Weighing, aggregate
from fedmgda.values._annealed import Annealed, value_at
from fedmgda.values._clients import (
    ClientFacts,
    Clients,
    Evaluation,
    Predictions,
    Tensor,
    flat_vector,
    named_arrays,
)
from fedmgda.values._cohort import Cohort, Failure, TrainCohort
from fedmgda.values._evidence import NO_DIRECTION, is_no_direction, rounding_of_products
from fedmgda.values._file import FileUpdates
from fedmgda.values._updates import DenseUpdates, Updates, short_vectors
from fedmgda.values._wrapped_clients import WrappedClients

__all__ = [
    "NO_DIRECTION",
    "Aggregate",
    "Annealed",
    "ClientFacts",
    "Clients",
    "Cohort",
    "DenseUpdates",
    "Evaluation",
    "Failure",
    "FileUpdates",
    "Predictions",
    "Tensor",
    "TrainCohort",
    "Updates",
    "Weighing",
    "WrappedClients",
    "aggregate",
    "flat_vector",
    "is_no_direction",
    "named_arrays",
    "rounding_of_products",
    "short_vectors",
    "value_at",
]
