"""Overrides that a user can copy: which key, and which way."""

import numpy as np
import pytest

from fedmgda.experiments import RoundRow
from fedmgda.experiments._hints import after_divergence, after_no_learning, after_stalls
from runs import small_spec


def first_round(batch_losses):
    return RoundRow(
        round_num=1, client_ids=(0, 1), server_lr=1.0, quarantined=(),
        local_losses=np.array(batch_losses), losses_before=np.array([1.0, 1.0]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "batch_losses", "first"),
    [
        ("fedmgda+", [0.9, 0.9], "server.lr=3"),
        ("fedmgda+", [5.0, 9.0], "clients.client_lr=0.05"),
        ("fedmgda+", [np.nan, np.inf], "clients.client_lr=0.05"),
        ("fedavg", [0.9, 0.9], "clients.client_lr=0.05"),
    ],
)
def test_the_step_that_is_too_long_is_the_one_to_shorten(rule, batch_losses, first):
    spec = small_spec(
        rule={"name": rule}, server={"lr": 30.0}, clients={"per_round": 2, "client_lr": 0.5}
    )
    assert after_divergence(spec, [first_round(batch_losses)], np.inf)[0] == first


@pytest.mark.parametrize(
    ("rule", "batch_losses", "first"),
    [
        ("fedavg", [0.9, 0.9], "rule.name=fedavg-n"),
        ("fedmgda", [0.9, 0.9], "rule.name=fedmgda+"),
        ("fedavg", [5.0, 9.0], "clients.client_lr=0.05"),
        ("fedmgda+", [0.9, 0.9], "server.lr=3"),
    ],
)
def test_under_attack_the_rule_is_to_blame_before_the_honest_clients(rule, batch_losses, first):
    """Client 1 made its update a thousand times longer, and everybody was told to train slower."""
    attack = {"name": "scale-update", "clients": [1]}
    spec = small_spec(
        rule={"name": rule}, attack=attack, server={"lr": 30.0} if "+" in rule else {},
        clients={"per_round": 2, "client_lr": 0.5},
    )  # fmt: skip
    assert after_divergence(spec, [first_round(batch_losses)], np.inf)[0] == first


def test_the_less_it_rose_the_less_is_changed():
    spec = small_spec(clients={"per_round": 2, "client_lr": 0.3})
    assert "clients.client_lr=0.1" in after_divergence(spec, [], 2.0)
    assert "clients.client_lr=0.03" in after_divergence(spec, [], 20.0)


def test_a_run_that_moved_too_little_is_told_to_move_more():
    spec = small_spec(clients={"per_round": 2, "client_lr": 0.1})
    calm = [first_round([0.99, 0.99])]
    assert after_no_learning(spec, calm, [1.0, 1.0])[0] == "clients.client_lr=0.3"
    assert after_no_learning(spec, calm, [1.0, 0.9])[0] == "rounds=18"
    assert after_no_learning(spec, [first_round([3.0, 3.0])], [1.0, 1.0]) == (
        "clients.client_lr=0.01",
    )
    assert after_no_learning(spec, calm, [1.0, 1.05])[0] == "server.lr=0.3"


def test_stalls_are_cured_by_fewer_or_by_a_smaller_box():
    rows = np.random.default_rng(0).normal(size=(40, 5))
    spec = small_spec(data={"num_clients": 40}, clients={"per_round": 40})
    fewer, box = after_stalls(spec, rows @ rows.T, 40)
    assert fewer.startswith("clients.per_round=")
    assert 2 <= int(fewer.partition("=")[2]) <= 7
    assert box == "rule.epsilon=0.01"
    only = small_spec(data={"num_clients": 40}, clients={"only": [0, 1, 2]})
    assert after_stalls(only, None, 3) == ("rule.epsilon=0.2",)
