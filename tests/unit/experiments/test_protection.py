"""What protection made of a run, counted: in its summary, for every client, and read back."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.experiments import open_run
from fedmgda.experiments._measure import client_results
from fedmgda.experiments._protection import held_in_a_row, overridden, protection_summary
from fedmgda.experiments._results import clients_csv, read_clients_csv
from runs import FORMAT_1, finished_run, small_spec
from verdicts import evaluation, protected_row, round_row

REASONS = ("stationary", "opposed", "unmoved")
PROTECTED = small_spec(server={"protect": {"allow": 1, "patience": 3}})

kinds = st.sampled_from(("step", "short", "override", "lost", "failed", *REASONS))


def row_of(number, kind):
    if kind == "failed":
        return round_row(number, failed="nobody came", improved=None)
    if kind in REASONS:
        return protected_row(number, reason=kind)
    if kind == "short":
        return protected_row(number, scale=1 / 32)
    after = {"override": (0.9, 1.1), "lost": (np.nan, 0.9)}.get(kind, (1.0, 0.9))
    worse = () if kind == "step" else (int(kind == "override"),)
    return protected_row(number, after=after, opposed=(worse,), improved=50.0 if worse else 100.0)


@given(st.lists(kinds, min_size=1, max_size=12))
def test_every_round_is_counted_once_for_what_it_was(chosen):
    rows = [row_of(number, kind) for number, kind in enumerate(chosen, 1)]
    found = protection_summary(PROTECTED, rows)
    if set(chosen) == {"failed"}:
        assert found is None
        return
    worse = chosen.count("override") + chosen.count("lost")
    steps = worse + chosen.count("step") + chosen.count("short")
    assert found.rounds == len(chosen)
    assert found.rounds == found.rounds_with_step + found.rounds_held + chosen.count("failed")
    assert found.rounds_with_step == steps
    assert [found.rounds_stationary, found.rounds_opposed, found.rounds_unmoved] == [
        chosen.count(reason) for reason in REASONS
    ]
    assert (found.rounds_overridden, found.participations_overridden) == (worse, worse)
    assert found.participations == 2 * steps
    assert found.path_length == pytest.approx(0.25 * steps)
    assert found.share_with_step == pytest.approx(100 * steps / len(chosen))
    assert found.share_held + found.share_with_step <= 100.0 + 1e-9
    if steps:
        assert found.improved_with_step == pytest.approx(100 - 50 * worse / steps)
        assert found.share_of_short_steps == pytest.approx(100 * chosen.count("short") / steps)
        assert found.least_scale == (1 / 32 if "short" in chosen else 1.0)
    else:
        assert (found.mean_scale, found.least_scale, found.improved_with_step) == (None,) * 3
    table = client_results(rows, evaluation(1, [1.0, 1.0]), _sizes(2), None)
    assert sum(client.rounds_overridden for client in table) == worse
    assert sum(client.rounds_opposed for client in table) == worse + chosen.count("opposed")


@given(st.lists(st.sampled_from(("step", "failed", "opposed")), max_size=12))
def test_rounds_that_fail_neither_add_to_held_ones_nor_end_their_row(chosen):
    rows = [row_of(number, kind) for number, kind in enumerate(chosen, 1)]
    text = "".join(kind[0] for kind in chosen if kind != "failed")
    expected = len(text) - len(text.rstrip("o"))
    assert (list(held_in_a_row(rows)) or [0])[-1] == expected


def _sizes(clients):
    return {split: np.full(clients, 10) for split in ("train", "validation", "test")}


def test_steps_without_protection_have_no_such_summary():
    assert protection_summary(small_spec(), [round_row(1), round_row(2)]) is None


def test_what_is_said_and_what_is_measured_are_told_apart():
    """Client 0 lies: it says that its loss fell; and the loss of client 1 rose unsaid."""
    row = replace(
        protected_row(1), losses_before=np.ones(2), losses_after=np.array([3.0, 1.5]), improved=0.0
    )
    spec = small_spec(server={"protect": True}, attack={"name": "scale-update", "clients": [0]})
    found = protection_summary(spec, [row])
    assert overridden(row) == ()
    assert (found.rounds_overridden, found.participations_overridden) == (0, 0)
    assert (found.participations_measured, found.rose_as_measured) == (1, 1)


@pytest.fixture(scope="module")
def allowing(tmp_path_factory):
    server = {"protect": {"allow": 1}, "lr": 3.0}
    folder = tmp_path_factory.mktemp("allowing") / "run"
    return finished_run(folder, rounds=12, server=server, clients={"per_round": 3}).path


class TestRunFolder:
    def test_the_summary_is_that_of_the_records_and_reads_back(self, allowing):
        run = open_run(allowing)
        found = run.summary.protection
        assert found == protection_summary(run.spec, run.rounds)
        assert found.rounds_overridden > 0
        assert found.rounds == 12
        written = json.loads((allowing / "summary.json").read_text())["protection"]
        assert written["rounds_overridden"] == found.rounds_overridden
        assert written["path_length"] == sum(row.protection.moved_norm for row in run.rounds)

    def test_measured_and_said_agree_where_nobody_lies(self, allowing):
        found = open_run(allowing).summary.protection
        assert found.rose_as_measured == found.participations_overridden
        assert found.participations_measured == found.participations

    def test_every_client_knows_how_often_it_was_overridden(self, allowing):
        run = open_run(allowing)
        total = run.summary.protection.participations_overridden
        assert sum(client.rounds_overridden for client in run.clients) == total
        assert all(c.rounds_overridden <= c.rounds_opposed <= c.rounds for c in run.clients)
        head = (allowing / "clients.csv").read_text().splitlines()[0]
        assert head.split(",")[-2:] == ["rounds_overridden", "rounds_opposed"]

    def test_a_table_of_clients_is_read_back_with_and_without_the_columns(self, allowing):
        clients = open_run(allowing).clients
        assert read_clients_csv(clients_csv(clients)) == clients
        bare = tuple(replace(c, rounds_overridden=None, rounds_opposed=None) for c in clients)
        assert b"overridden" not in clients_csv(bare)
        assert read_clients_csv(clients_csv(bare)) == bare

    def test_a_run_without_protection_says_nothing_of_it(self, tmp_path):
        path = finished_run(tmp_path / "run").path
        for name in ("summary.json", "clients.csv"):
            text = (path / name).read_text()
            assert not [word for word in ("protect", "held", "overrid", "oppos") if word in text]

    def test_a_folder_from_before_reads_as_it_did(self):
        run = open_run(FORMAT_1 / "finished")
        assert run.summary.protection is None
        assert {client.rounds_opposed for client in run.clients} == {None}

    def test_an_end_by_patience_is_written_down(self, tmp_path):
        server = {"protect": {"patience": 4, "trials": 1}, "lr": 1e6}
        path = finished_run(
            tmp_path / "run", rounds=20, server=server, evaluation={"every": 3}
        ).path
        found = open_run(path).summary.protection
        assert (found.rounds, found.rounds_opposed, found.held_at_the_end) == (6, 6, 6)
        assert found.ended_stationary
        assert (found.rounds_with_step, found.path_length) == (0, 0.0)
