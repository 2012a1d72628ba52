"""Two ways to compute, one result: whole runs on the compiled path and on torch."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from torch import nn

from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.experiments import Spec, build_data, resolve
from fedmgda.federation import Federation, UniformSampler, initial_state, run_round
from fedmgda.models import mlp
from fedmgda.rules import make_rule

SHORT = pytest.param(20, 2)
LONG = pytest.param(200, 5, marks=pytest.mark.slow)


def digits(seed: int):
    return build_data(resolve(Spec(seed=seed)))[0]


def dropped() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.Dropout2d(0.25), nn.MaxPool2d(2),
        nn.ReLU(), nn.Flatten(), nn.Linear(72, 32), nn.ReLU(), nn.Dropout(0.25), nn.Linear(32, 10),
    )  # fmt: skip


def train(build_model, seed: int, rounds: int, path: str) -> tuple[np.ndarray, float, float]:
    """Return the model, the users' mean test accuracy, and their mean loss, after some rounds."""
    data = digits(seed)
    training = LocalTraining(client_lr=0.05, momentum=0.5)
    with ClientPool(
        data=data, build_model=build_model, training=training, seed=seed, path=path
    ) as pool:
        assert pool.path == path
        federation = Federation(
            train_cohort=pool.train_cohort,
            rule=make_rule("fedmgda+"),
            sampler=UniformSampler(num_clients=20, per_round=10),
            num_clients=20,
            seed=seed,
        )
        server = initial_state(federation, pool.initial_params())
        for _ in range(rounds):
            server, _record = run_round(federation, server)
        scores = pool.evaluate(server.params, tuple(range(20)), "test")
    return server.params, scores.accuracies.mean(), scores.losses.mean()


@pytest.mark.parametrize(("rounds", "seeds"), [SHORT, LONG])
def test_without_dropout_both_paths_reach_the_same_model(rounds: int, seeds: int) -> None:
    for seed in range(seeds):
        build = partial(mlp, (64, 32, 10))
        torch_one, compiled = (train(build, seed, rounds, path) for path in ("torch", "compiled"))
        distance = np.linalg.norm(torch_one[0] - compiled[0]) / np.linalg.norm(torch_one[0])
        assert distance < 1e-3
        assert abs(torch_one[1] - compiled[1]) <= 0.005
        assert compiled[2] == pytest.approx(torch_one[2], rel=1e-2)


@pytest.mark.parametrize(("rounds", "seeds"), [SHORT, LONG])
def test_with_dropout_both_paths_are_equally_good(rounds: int, seeds: int) -> None:
    gains = []
    for seed in range(seeds):
        torch_one, compiled = (train(dropped, seed, rounds, path) for path in ("torch", "compiled"))
        gains.append(compiled[1] - torch_one[1])
    spread = np.std(gains) / np.sqrt(seeds)
    assert abs(np.mean(gains)) <= 0.02 + 2 * spread
