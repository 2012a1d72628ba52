"""Local training, evaluation, and the processes that share the work.

`ClientPool.train_cohort` is the function the federation calls once per round:

>>> import numpy as np
>>> from functools import partial
>>> from fedmgda.data import FederatedData
>>> from fedmgda.models import linear
>>> none = (np.empty(0, np.int64),) * 2
>>> data = FederatedData(
...     name="two points", features=np.array([[0.0], [1.0]]), targets=np.array([0, 1]),
...     train=(np.array([0]), np.array([1])), validation=none, test=none, num_classes=2,
... )
>>> with ClientPool(
...     data=data, build_model=partial(linear, 1, 2), training=LocalTraining(), seed=3
... ) as clients:
...     cohort = clients.train_cohort(clients.initial_params(), (1, 0), round_num=1)
>>> cohort.client_ids, cohort.updates.rows.shape
((1, 0), (2, 4))
"""

from fedmgda.clients._block import gather
from fedmgda.clients._class_weights import ClassWeights
from fedmgda.clients._own_functions import check_own_functions
from fedmgda.clients._pool import ClientPool
from fedmgda.clients._single_client import train_client
from fedmgda.clients._training import LocalTraining

__all__ = [
    "ClassWeights",
    "ClientPool",
    "LocalTraining",
    "check_own_functions",
    "gather",
    "train_client",
]
