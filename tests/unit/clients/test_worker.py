from __future__ import annotations

import threading
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fedmgda.clients import LocalTraining
from fedmgda.clients._settings import Settings
from fedmgda.clients._shared import SharedArray, SharedData
from fedmgda.clients._work import LocalWork, Scoring
from fedmgda.clients._worker import Call, SharedMemory, _serve
from unit.clients._toys import SIZES, complain, federation, pool, small

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

TRAINING = LocalTraining(local_epochs=2, batch_size=4)
ALL = tuple(range(len(SIZES)))


@pytest.fixture
def memory() -> SharedMemory:
    return SharedMemory(
        data=SharedData.of(federation()),
        models=SharedArray((1, 75), "float32"),
        updates=SharedArray((0, 75), "float32"),
        gradients=SharedArray((0, 75), "float32"),
    )


@pytest.fixture
def pipe(memory: SharedMemory) -> Iterator[Connection]:
    """A worker that runs in a thread of this process, where it can be watched."""
    near, far = Pipe()

    def work() -> None:
        with pytest.raises(EOFError):
            _serve(far, memory)

    thread = threading.Thread(target=work)
    thread.start()
    yield near
    near.close()
    thread.join(10)
    assert not thread.is_alive()


def ready(pipe: Connection, **settings: Any) -> None:
    pipe.send(Settings(**{"build_model": small, "training": TRAINING, "seed": 5} | settings))
    assert pipe.recv() == ""


def test_a_call_is_told_once_and_holds_for_the_jobs_after_it(
    pipe: Connection, memory: SharedMemory
) -> None:
    ready(pipe)
    with pool() as clients:
        params = clients.initial_params()
        expected = clients.train_cohort(params, (4, 0), 3, gradients=True)
        scores = clients.evaluate(params, ALL, "test")
    memory.models.array[0] = params
    call = Call(LocalWork(round_num=3, gradients=True))
    pipe.send((call, (0,), (4,), {4: 0.5}))
    first = pipe.recv()
    pipe.send((None, (1,), (0,), {}))
    second = pipe.recv()
    assert first[0].loss == first[0].before == 0.5
    assert second[0].loss == second[0].before == expected.losses[1]
    np.testing.assert_array_equal(memory.updates.reserve(2), expected.updates.rows)
    np.testing.assert_array_equal(memory.gradients.reserve(2), expected.gradients.rows)
    memory.models.reserve(2)[1] = params
    pipe.send((Call(Scoring(split="test"), 2), (0, 1), (4, 0), {}))
    for client, found in zip((4, 0), pipe.recv(), strict=True):
        assert found.scores.shape == (2, 2)
        assert (found.scores[:, 0] == scores.losses[client]).all()


def test_a_worker_that_cannot_build_its_model_says_why(memory: SharedMemory) -> None:
    near, far = Pipe()
    near.send(Settings(build_model=complain, training=TRAINING, seed=5))
    _serve(far, memory)
    assert near.recv() == "ArithmeticError: too\nmuch"
