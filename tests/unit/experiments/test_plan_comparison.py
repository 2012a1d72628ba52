"""What a run is held against in one go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import plan_comparison

TABLE = {
    "rounds": 8,
    "rule": {"name": "fedmgda+", "epsilon": 0.1},
    "server": {"lr": 0.5},
    "clients": {"per_round": 2},
    "attack": {"name": "scale-update", "clients": [1]},
}


def test_the_spec_comes_first_then_fedavg_and_the_baselines():
    runs = plan_comparison(TABLE)
    assert [run.folder_name for run in runs] == ["fedmgda+", "fedavg", "alone", "pooled"]
    mine, average, alone, pooled = (run.spec for run in runs)
    assert (mine.rule.epsilon, mine.server.lr) == (0.1, 0.5)
    assert (average.rule.name, average.server.lr, average.attack) == ("fedavg", 1.0, mine.attack)
    assert (alone.baseline, pooled.baseline) == ("alone", "pooled")
    for other in (average, alone, pooled):
        assert (other.data, other.seed, other.rounds) == (mine.data, mine.seed, mine.rounds)
        assert other.clients == mine.clients


def test_fedavg_is_not_run_twice():
    runs = plan_comparison({"rule": {"name": "fedavg"}})
    assert [run.folder_name for run in runs] == ["fedavg", "alone", "pooled"]


@pytest.mark.parametrize("name", ["fedmgda+", "fedavg"])
def test_protected_steps_are_also_run_without_protection(name):
    table = TABLE | {"rule": {"name": name}, "server": {"lr": 0.5, "protect": {"allow": 1}}}
    mine, plain, *others = plan_comparison(table)
    assert [mine.folder_name, plain.folder_name] == [name, f"{name}-plain"]
    assert mine.spec.server.protect.allow == 1
    unprotected = replace(mine.spec, server=replace(mine.spec.server, protect=None))
    assert plain.spec == unprotected
    assert all(other.spec.server.protect is None for other in others)


def test_every_seed_has_runs_of_its_own():
    runs = plan_comparison(TABLE, [3, 4])
    assert [run.folder_name for run in runs][::4] == ["fedmgda+_seed=3", "fedmgda+_seed=4"]
    assert [run.spec.seed for run in runs] == [3, 3, 3, 3, 4, 4, 4, 4]


def test_the_seed_of_the_spec_has_the_same_folders_whether_alone_or_among_several():
    """Several seeds after one trained the first again, beside what could not be compared."""
    one = plan_comparison(TABLE | {"seed": 3})
    several = plan_comparison(TABLE | {"seed": 3}, [2, 3, 4])
    assert several[4:8] == one
    names = ["fedmgda+_seed=2", "fedmgda+", "fedmgda+_seed=4"]
    assert [run.folder_name for run in several][::4] == names


def test_a_rule_of_ones_own_has_a_folder_too():
    (mine, *_) = plan_comparison({"rule": {"name": "own_parts:made"}})
    assert mine.folder_name == "own_parts-made"


def test_a_baseline_is_not_compared_with_itself():
    with pytest.raises(SpecError, match="baseline = 'alone' is among what --compare runs"):
        plan_comparison({"baseline": "alone"})
