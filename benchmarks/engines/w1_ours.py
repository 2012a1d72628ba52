"""W1 in fedmgda: the pool, the engine and FedAvg, without the evaluation a run would add."""

from __future__ import annotations

import time
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from _work import BATCH_SIZE, CLIENT_LR, MEAN, PER_ROUND, STD, USERS, read_work, tell

from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.data import FederatedData, Pixels
from fedmgda.federation import Federation, UniformSampler, initial_state, simulate
from fedmgda.models import fmnist_cnn
from fedmgda.rules import FedAvg

if TYPE_CHECKING:
    from _work import Work


def federation_data(work: Work) -> FederatedData:
    """Return the users of W1 as the library wants them; the images stay in their file."""
    images = np.load(work.data / "images.npy", mmap_mode="r")
    targets = np.load(work.data / "targets.npy").reshape(-1)
    users, size = images.shape[:2]
    nothing = (np.empty(0, np.int64),) * users
    return FederatedData(
        name="w1",
        features=images.reshape(users * size, 1, 28, 28),
        targets=targets,
        train=tuple(np.arange(users * size).reshape(users, size)),
        validation=nothing,
        test=nothing,
        num_classes=10,
        pixels=Pixels(mean=MEAN, std=STD),
    )


def main() -> None:
    """Run the rounds and tell when each ended."""
    work = read_work()
    with ClientPool(
        data=federation_data(work),
        build_model=partial(fmnist_cnn, 10),
        training=LocalTraining(batch_size=BATCH_SIZE, client_lr=CLIENT_LR),
        seed=0,
        workers=work.workers,
        reported_loss="during",  # nobody else evaluates here either
        path=work.path,
    ) as pool:
        federation = Federation(
            train_cohort=pool.train_cohort,
            rule=FedAvg(),
            sampler=UniformSampler(num_clients=USERS, per_round=PER_ROUND),
            num_clients=USERS,
        )
        rounds = simulate(federation, initial_state(federation, pool.initial_params()))
        ends = [time.monotonic() for _ in islice(rounds, work.rounds)]
    tell(ends, "torch", "numpy")


if __name__ == "__main__":
    main()
