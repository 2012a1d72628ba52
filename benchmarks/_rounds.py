"""Rounds on demand: for every line it reads it does some, and tells the CPU seconds they took.

Run by `against.py`, with the `fedmgda` of one checkout or of another on the path.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from itertools import islice

import torch

from _data import adult_data, export_w1, w1_data
from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.federation import Federation, UniformSampler, initial_state, simulate
from fedmgda.models import fmnist_cnn, linear
from fedmgda.rules import FedMGDA


def pool_of(work: str) -> tuple[ClientPool, int]:
    """Return the clients of a work and how many of them take part in a round."""
    training = LocalTraining(batch_size=10, client_lr=0.01)
    if work == "w2":
        data = adult_data()
        build, per_round, path = partial(linear, data.features[0].size, 2), 2, "compiled"
    else:
        data, build, per_round = w1_data(export_w1()), partial(fmnist_cnn, 10), 10
        path = work.removeprefix("w1-")
    pool = ClientPool(data=data, build_model=build, training=training, seed=0, path=path)  # type: ignore[arg-type]
    return pool, per_round


def main() -> None:
    """Do as many rounds as each line says."""
    torch.set_num_threads(1)
    pool, per_round = pool_of(sys.argv[1])
    federation = Federation(
        train_cohort=pool.train_cohort,
        rule=FedMGDA(normalize=True),
        sampler=UniformSampler(num_clients=pool.num_clients, per_round=per_round),
        num_clients=pool.num_clients,
    )
    rounds = simulate(federation, initial_state(federation, pool.initial_params()))
    for line in sys.stdin:
        start = time.process_time()
        for _ in islice(rounds, int(line)):
            pass
        print(time.process_time() - start, flush=True)
    pool.close()


if __name__ == "__main__":
    main()
