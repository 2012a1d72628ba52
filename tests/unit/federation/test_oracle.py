"""The engine against Algorithm 1 in one file, which shares no line with it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from fedmgda import Cohort
from fedmgda.federation import (
    Constant,
    Federation,
    PaperDecay,
    UniformSampler,
    initial_state,
    run_round,
)
from fedmgda.rules import FedMGDA

PATH = Path(__file__).parents[3] / "examples" / "fedmgda_in_one_file.py"
ROUNDS, USERS, DIMENSION = 20, 6, 9


@pytest.fixture(scope="module")
def oracle():
    spec = importlib.util.spec_from_file_location("fedmgda_in_one_file", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def users_of(oracle):
    rng = np.random.default_rng(11)
    shared = rng.normal(size=DIMENSION)
    users = []
    for features in rng.normal(size=(USERS, 40, DIMENSION)):
        targets = features @ (shared + 0.7 * rng.normal(size=DIMENSION))
        users.append(oracle.least_squares_user(features, targets, client_lr=0.05))
    return users


def federation_of(users, rule, schedule):
    def train_cohort(params, client_ids, round_num):
        del round_num
        return Cohort(
            client_ids=client_ids,
            updates=np.stack([users[client](params) for client in client_ids]),
            num_examples=np.full(len(client_ids), 40.0),
            losses=np.ones(len(client_ids)),
        )

    return Federation(
        train_cohort=train_cohort,
        rule=rule,
        sampler=UniformSampler(num_clients=USERS, per_round=USERS),
        num_clients=USERS,
        schedule=schedule,
    )


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.1, 0.5, 1.0])
def test_the_engine_equals_the_one_file_oracle_over_twenty_rounds(oracle, epsilon, normalize):
    users = users_of(oracle)
    schedule = PaperDecay(server_lr=0.3, decay=0.1, num_rounds=ROUNDS) if normalize else Constant()
    federation = federation_of(users, FedMGDA(epsilon=epsilon, normalize=normalize), schedule)
    server = initial_state(federation, np.zeros(DIMENSION))
    params = np.zeros(DIMENSION)
    for round_num in range(1, ROUNDS + 1):
        server, record = run_round(federation, server)
        params, lam = oracle.fedmgda_round(
            params, users, schedule(round_num, record.cohort), epsilon, normalize=normalize
        )
        np.testing.assert_allclose(server.params, params, rtol=0, atol=1e-12)
        np.testing.assert_allclose(record.aggregate.lam, lam, atol=1e-9)


def test_the_oracle_is_a_tutorial_of_at_most_120_lines_without_our_package():
    text = PATH.read_text()
    assert len(text.splitlines()) <= 120
    assert "import fedmgda" not in text
    assert "from fedmgda" not in text
