from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedmgda.values import Clients, WrappedClients

MEMBERS = {name for name in (*vars(Clients), *Clients.__annotations__) if not name.startswith("_")}
FACTS = {
    "num_clients",
    "num_params",
    "num_buffers",
    "path",
    "client_names",
    "models_at_once",
    "facts",
}
QUESTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "initial_params": ((), {}),
    "train_cohort": ((np.ones(2), (0, 1), 3), {"gradients": True, "known": {1: 0.5}}),
    "evaluate": ((np.ones((2, 2)), (1,), "validation"), {"predictions": True}),
    "gradients": ((np.zeros(2), (4,)), {}),
    "close": ((), {}),
}


class Echo:
    """Clients whose answer is the question."""

    def __init__(self) -> None:
        for name in FACTS:
            setattr(self, name, object())
        self.asked: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        def answer(*arguments: Any, **options: Any) -> Any:
            self.asked.append((name, arguments, options))
            return self.asked[-1]

        return answer


@pytest.fixture
def inner() -> Any:
    return Echo()


def test_every_member_of_the_protocol_is_asked_about_here() -> None:
    assert FACTS | set(QUESTIONS) == MEMBERS


@pytest.mark.parametrize("name", sorted(FACTS))
def test_what_the_clients_are_is_what_those_within_are(inner: Any, name: str) -> None:
    assert getattr(WrappedClients(inner), name) is getattr(inner, name)


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_every_question_is_passed_on_once_and_whole(inner: Any, name: str) -> None:
    arguments, options = QUESTIONS[name]
    answer = getattr(WrappedClients(inner), name)(*arguments, **options)
    assert inner.asked == [(name, arguments, options)]
    assert answer is (None if name == "close" else inner.asked[0])


def test_a_subclass_changes_what_it_names_and_nothing_else(inner: Any) -> None:
    class Silent(WrappedClients):
        def close(self) -> None:
            pass

    silent = Silent(inner)
    silent.close()
    silent.initial_params()
    assert [name for name, *_ in inner.asked] == ["initial_params"]
