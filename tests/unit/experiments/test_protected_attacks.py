"""Runs whose steps are protected, under attack: what was said, and what is measured."""

import numpy as np
import pytest

from fedmgda.experiments import open_run
from runs import carry_on, finished_run, results, stopped_run

LIAR = 1
TABLE = {
    "rounds": 10,
    "data": {"num_clients": 8},
    "model": {"hidden": [8]},
    "clients": {"per_round": 4},
    "evaluation": {"every": 5},
}
UNDERSTATE = """
from dataclasses import dataclass, replace
from fedmgda import Attack

@dataclass(frozen=True)
class Understate(Attack):
    clients: tuple[int, ...]

    def tamper(self, cohort, params, generator):
        if cohort.before is None:
            return cohort
        before = cohort.before.copy()
        before[self.rows(cohort)] /= 2
        return replace(cohort, before=before)
"""


def table(attack, allow=0, **more):
    named = {"name": attack, "clients": [LIAR]}
    server = {"protect": {"allow": allow}, "lr": 2.0}
    return TABLE | {"attack": named, "server": server} | more


@pytest.fixture(scope="module")
def rounds_of(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("attacked"), {}

    def rounds(attack, allow):
        if (attack, allow) not in made:
            path = folder / f"{attack}-{allow}"
            finished_run(path, **table(attack, allow))
            made[attack, allow] = open_run(path).rounds
        return made[attack, allow]

    return rounds


ATTACKS = pytest.mark.parametrize("attack", ["veto", "oppose-gradient", "scale-loss", "bias-loss"])


def honest(row):
    return np.array(row.client_ids) != LIAR


@ATTACKS
@pytest.mark.parametrize("allow", [0, 1])
def test_what_was_said_and_what_is_measured_differ_for_attackers_only(rounds_of, attack, allow):
    for row in rounds_of(attack, allow):
        assert LIAR in row.client_ids
        kept, said = honest(row), row.protection
        np.testing.assert_array_equal(said.before, row.losses_before)
        if not row.held:
            np.testing.assert_array_equal(said.after[kept], row.losses_after[kept])
            lies = attack in {"veto", "oppose-gradient"}
            assert lies == (said.after[~kept] != row.losses_after[~kept]).all()
        better = row.losses_after <= row.losses_before
        assert row.improved == pytest.approx(100.0 * better[kept].mean())


@ATTACKS
def test_no_honest_participant_is_worse_off_where_nobody_may_be(rounds_of, attack):
    assert all(row.improved == 100.0 for row in rounds_of(attack, 0))


def test_a_veto_holds_every_round_where_nobody_may_be_overridden(rounds_of):
    for row in rounds_of("veto", 0):
        assert (row.held, row.protection.reason) == (True, "opposed")
        assert all(LIAR in trial for trial in row.protection.opposed)


def test_a_veto_is_outvoted_where_one_may_be_and_costs_no_honest_participant_anything(rounds_of):
    rows = rounds_of("veto", 1)
    made = [row for row in rows if not row.held]
    assert len(made) >= len(rows) / 2
    assert all(row.improved == 100.0 for row in rows)
    assert all(row.protection.opposed[-1] == (LIAR,) for row in made)


def test_a_false_gradient_turns_steps_against_its_own_sender(rounds_of):
    made = [row for row in rounds_of("oppose-gradient", 0) if not row.held]
    assert made
    for row in made:
        (turned,) = row.protection.multipliers[~honest(row)]
        assert turned > 0
        assert (row.losses_after > row.losses_before)[~honest(row)].all()


def test_a_false_gradient_is_what_allow_leaves_out_of_the_cone(rounds_of):
    rows = rounds_of("oppose-gradient", 1)
    overridden = [row.protection.overridden == (LIAR,) for row in rows]
    assert np.mean(overridden) > 0.5
    for row in rows:
        worse = (row.losses_after > row.losses_before) & honest(row)
        against = not row.held and LIAR in row.protection.opposed[-1]
        assert worse.sum() <= 1 - against


def test_a_lie_about_the_loss_before_changes_nothing_that_is_measured(tmp_path, monkeypatch):
    (tmp_path / "understating.py").write_text(UNDERSTATE)
    monkeypatch.syspath_prepend(tmp_path)
    finished_run(tmp_path / "run", **table("understating:Understate", allow=1))
    rows = open_run(tmp_path / "run").rounds
    assert any(not row.held for row in rows)
    for row in rows:
        liar = ~honest(row)
        np.testing.assert_array_equal(row.protection.before[liar], row.losses_before[liar] / 2)
        np.testing.assert_array_equal(row.protection.before[~liar], row.losses_before[~liar])
        if not row.held:
            np.testing.assert_array_equal(row.protection.after, row.losses_after)


@pytest.mark.parametrize("attack", ["veto", "oppose-gradient"])
@pytest.mark.parametrize("path", ["compiled", "torch"])
def test_stopped_and_resumed_and_with_two_workers_they_lie_the_same(tmp_path, attack, path):
    clients = {"per_round": 4, "path": path}
    given = table(attack, allow=1, clients=clients, rounds=6)
    finished_run(tmp_path / "whole", **given)
    stopped_run(tmp_path / "stopped", after=3, **given)
    carry_on(tmp_path / "stopped")
    finished_run(tmp_path / "two", **given, engine={"workers": 2})
    assert results(tmp_path / "whole") == results(tmp_path / "stopped")
    assert results(tmp_path / "whole") == results(tmp_path / "two")


@pytest.mark.parametrize("attack", ["veto", "oppose-gradient"])
def test_without_protection_they_change_no_byte_of_the_records(tmp_path, attack):
    for name in (attack, "scale-update"):
        named = {"name": name, "clients": [LIAR]}
        if name == "scale-update":
            named["factor"] = 1.0
        finished_run(tmp_path / name, **TABLE | {"attack": named})
    one, other = (results(tmp_path / name) for name in (attack, "scale-update"))
    assert {k: v for k, v in one.items() if k != "DONE"} == {
        k: v for k, v in other.items() if k != "DONE"
    }
