"""W1 as a plain torch loop: in this process, or over forked processes of one thread each."""

from __future__ import annotations

import multiprocessing
import time

import numpy as np
import torch
from _loop import train_locally
from _work import PER_ROUND, USERS, read_work, tell
from torch.nn.utils import parameters_to_vector, vector_to_parameters

work = read_work()


def trained(job: tuple[int, np.ndarray]) -> np.ndarray:
    """Return the parameters one user makes of those it was sent."""
    user_id, params = job
    torch.set_num_threads(1)
    model = work.build_model()
    vector_to_parameters(torch.from_numpy(params), model.parameters())
    train_locally(model, *work.user(user_id))
    return parameters_to_vector(model.parameters()).detach().numpy()


def main() -> None:
    """Average what ten users return, round after round."""
    rng = np.random.default_rng(0)
    params = parameters_to_vector(work.build_model().parameters()).detach().numpy()
    ends = []
    with multiprocessing.Pool(work.workers) as pool:
        for _ in range(work.rounds):
            jobs = [(int(user), params) for user in rng.choice(USERS, PER_ROUND, replace=False)]
            many = pool.map(trained, jobs, chunksize=1) if work.workers > 1 else map(trained, jobs)
            params = np.mean(list(many), axis=0)
            ends.append(time.monotonic())
    tell(ends, "torch", "numpy")


if __name__ == "__main__":
    main()
