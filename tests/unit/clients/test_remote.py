"""The seam between a server and its clients: anything that answers can be on the other side."""

from __future__ import annotations

import multiprocessing
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fedmgda.federation import Federation, UniformSampler, initial_state, simulate
from fedmgda.rules import make_rule
from remote import FACTS, RemoteClients, serve_pool
from unit.clients._toys import SIZES, everything, pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.values import Clients

ALL = tuple(range(len(SIZES)))
make_pool = partial(pool, build_model=everything, loss_factors={2: 3.0})


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteClients]:
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_pool, args=(theirs, make_pool))
    process.start()
    theirs.close()
    clients = RemoteClients(ours)
    yield clients
    clients.close()
    process.join(30)


def trained(clients: Clients) -> list[Any]:
    federation = Federation(
        train_cohort=clients.train_cohort,
        rule=make_rule("fedmgda+"),
        sampler=UniformSampler(num_clients=clients.num_clients, per_round=4),
        num_clients=clients.num_clients,
        num_buffers=clients.num_buffers,
        seed=3,
    )
    server = initial_state(federation, clients.initial_params())
    rounds = list(islice(simulate(federation, server), 4))
    found = [array for server, record in rounds for array in (server.params, record.aggregate.lam)]
    evaluation = clients.evaluate(rounds[-1][0].params, ALL, "test", predictions=True)
    return [*found, evaluation.losses, evaluation.accuracies, evaluation.predictions.outputs]


def test_clients_in_another_process_give_the_same_bytes(remote: RemoteClients) -> None:
    with make_pool() as here:
        for ours, theirs in zip(trained(here), trained(remote), strict=True):
            np.testing.assert_array_equal(theirs, ours)


def test_every_answer_can_be_sent(remote: RemoteClients) -> None:
    with make_pool() as here:
        params = here.initial_params()
        both = [
            each.train_cohort(params, ALL, 2, gradients=True, known={1: 0.5})
            for each in (here, remote)
        ]
        gradients = [each.gradients(params, (5, 0)) for each in (here, remote)]
        facts = here.facts
    for name in ("losses", "local_losses", "buffers", "before", "num_examples"):
        np.testing.assert_array_equal(getattr(both[1], name), getattr(both[0], name))
    np.testing.assert_array_equal(both[1].gradients.rows, both[0].gradients.rows)
    np.testing.assert_array_equal(gradients[1].updates.rows, gradients[0].updates.rows)
    assert remote.facts.fingerprint == facts.fingerprint
    assert [tensor.name for tensor in remote.facts.layout] == [t.name for t in facts.layout]
    assert all(hasattr(remote, name) for name in FACTS)
