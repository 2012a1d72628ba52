from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fedmgda.experiments._known_losses import KnownLosses
from fedmgda.values import ClientFacts, Cohort, Evaluation, Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

FACTS = ClientFacts(sizes={}, fingerprint="", layout=())
W1, W2 = np.ones(3, np.float32), np.full(3, 2, np.float32)


class Recorder:
    """Clients that note down what they are told."""

    num_clients, num_params, num_buffers, models_at_once = 3, 2, 1, 1
    path, client_names, facts = "torch", ("a", "b", "c"), FACTS

    def __init__(self) -> None:
        self.told: list[Mapping[int, float] | None] = []
        self.closed = False

    def initial_params(self) -> np.ndarray:
        return W1

    def train_cohort(self, params: Any, client_ids: Any, round_num: int, **options: Any) -> Cohort:
        del round_num
        self.told.append(options["known"])
        cohort = self.gradients(params, client_ids)
        return replace(cohort, before=cohort.losses) if options["gradients"] else cohort

    def evaluate(self, params: Any, client_ids: Any, split: str, **options: Any) -> Evaluation:
        del split, options
        losses = np.zeros((*params.shape[:-1], len(client_ids))) + np.array(client_ids)
        return Evaluation(
            client_ids=tuple(client_ids),
            losses=losses,
            accuracies=losses,
            num_examples=np.ones(len(client_ids)),
            failures=(Failure(client_id=1, reason="it raised"),),
        )

    def gradients(self, params: Any, client_ids: Any) -> Cohort:
        del params
        rows = np.zeros((len(client_ids), 2))
        ones = np.ones(len(client_ids))
        return Cohort(client_ids=client_ids, updates=rows, num_examples=ones, losses=ones)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def inner() -> Recorder:
    return Recorder()


def test_what_was_evaluated_is_told_to_those_who_train_that_very_model(inner: Recorder) -> None:
    clients = KnownLosses(inner)
    clients.train_cohort(W1, (0, 2), 1)
    clients.evaluate(W2, (0, 1, 2), "train")
    clients.train_cohort(W2.copy(), (0, 2), 2)
    clients.train_cohort(W1, (0, 2), 3)
    assert inner.told == [None, {0: 0.0, 2: 2.0}, None]


def test_a_client_that_could_not_be_evaluated_is_not_known(inner: Recorder) -> None:
    clients = KnownLosses(inner)
    clients.evaluate(W2, (1,), "train")
    clients.train_cohort(W2, (1,), 2)
    assert inner.told == [None]
    np.testing.assert_array_equal(clients.training_losses(W2, (0, 1)), [0.0, np.nan])


@pytest.mark.parametrize("answering", [(2, 0), (2,)])
def test_losses_are_those_of_who_is_asked_whoever_answers_in_whatever_order(
    inner: Recorder, monkeypatch: pytest.MonkeyPatch, answering: tuple[int, ...]
) -> None:
    whole = inner.evaluate
    monkeypatch.setattr(
        inner, "evaluate", lambda w, _, split, **kw: whole(w, answering, split, **kw)
    )
    known = [float(client) if client in answering else np.nan for client in (0, 2)]
    np.testing.assert_array_equal(KnownLosses(inner).training_losses(W2, (0, 2)), known)


def test_what_is_known_of_a_model_from_two_rounds_is_put_together(inner: Recorder) -> None:
    """A round that is held without a trial leaves the last round's model, with its losses."""
    clients = KnownLosses(inner)
    clients.evaluate(W1, (0,), "train")
    clients.train_cohort(W1, (0, 2), 2, gradients=True)
    inner.told.clear()
    clients.train_cohort(W1, (0, 2), 3, gradients=True)
    assert inner.told == [{0: 0.0, 2: 1.0}]


def test_another_split_is_not_remembered(inner: Recorder) -> None:
    clients = KnownLosses(inner)
    clients.evaluate(W2, (0,), "test")
    clients.train_cohort(W2, (0,), 2)
    assert inner.told == [None]


def test_each_of_several_models_is_remembered(inner: Recorder) -> None:
    clients = KnownLosses(inner)
    clients.evaluate(np.stack([W2, W1]), (0, 2), "train")
    clients.train_cohort(W1, (0,), 2)
    assert inner.told == [{0: 0.0, 2: 2.0}]


def test_a_model_that_is_changed_in_place_is_another_model(inner: Recorder) -> None:
    clients, params = KnownLosses(inner), W2.copy()
    clients.evaluate(params, (0,), "train")
    params[0] = 7
    clients.train_cohort(params, (0,), 2)
    assert inner.told == [None]


def test_what_the_caller_knows_comes_first(inner: Recorder) -> None:
    clients = KnownLosses(inner)
    clients.evaluate(W2, (0,), "train")
    clients.train_cohort(W2, (0,), 2, known={0: 9.0}, gradients=True)
    assert inner.told == [{0: 9.0}]


def test_everything_else_goes_through(inner: Recorder) -> None:
    clients = KnownLosses(inner)
    for name in ("num_clients", "num_params", "num_buffers", "path", "client_names", "facts"):
        assert getattr(clients, name) is getattr(inner, name)
    assert clients.initial_params() is W1
    assert clients.gradients(W1, (2,)).client_ids == (2,)
    clients.close()
    assert inner.closed
