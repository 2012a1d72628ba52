"""Rounds in which nobody can be served: written down as what they are."""

import numpy as np
import pytest

from cohorts import cohort_of
from conflicts import table_of
from fedmgda.cli._compare_screen import show_comparison
from fedmgda.experiments import RunFolder, compare_runs, execute, open_run
from fedmgda.experiments._gram import gram_bytes, gram_place, read_gram
from fedmgda.experiments._results import read_clients_csv
from fedmgda.federation import RoundRecord
from fedmgda.rules import FedMGDA
from fedmgda.values import DenseUpdates
from runs import results, small_spec


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return table_of(tmp_path_factory.mktemp("stalls") / "visits.csv", clients=90)


def spec_of(table, **changes):
    data = {"path": str(table), "client": "branch", "target": "value"}
    clients = {"participation": 1.0, "client_lr": 0.01}
    return small_spec(rounds=6, data=data, model={"name": "linear"}, clients=clients, **changes)


@pytest.fixture(scope="module")
def stalled(table, tmp_path_factory):
    folder = RunFolder.create(tmp_path_factory.mktemp("stalled") / "run", spec_of(table))
    for _ in execute(folder):
        pass
    return folder.path


def test_a_stall_is_written_down_and_nobody_is_called_sacrificed(stalled):
    run = open_run(stalled)
    assert [row.stalled for row in run.rounds] == [True] * 6
    assert [row.sacrificed for row in run.rounds] == [()] * 6
    assert (run.summary.rounds_stalled, run.summary.rounds_that_sacrificed) == (6, 0)
    assert {(c.rounds, c.rounds_stalled, c.rounds_sacrificed) for c in run.clients} == {(6, 6, 0)}


def test_a_comparison_says_what_the_run_says_of_its_stalls(stalled, table, tmp_path, capsys):
    """Only `fedmgda run` alone said so, and who blocked."""
    alone = RunFolder.create(tmp_path / "alone", spec_of(table, baseline="alone"))
    for _ in execute(alone):
        pass
    found = compare_runs([stalled, alone.path], against="alone", draws=16)
    verdict = open_run(stalled).verdict
    assert verdict.stalls.rounds == 6
    said = [verdict.headline, *verdict.sentences]
    about = [one for one in said if "common direction" in one]
    assert about
    assert set(found.stalls) == set(about) - {verdict.headline}
    show_comparison(found, "fedmgda compare")
    shown = " ".join(capsys.readouterr().out.split())
    assert all(sentence in shown for sentence in about[:2])


def test_the_first_stalls_keep_their_whole_gram_matrix(stalled):
    run = open_run(stalled)
    grams = [run.gram(row.round_num) for row in run.rounds]
    assert [None if gram is None else gram.matrix.shape for gram in grams][:4] == [(90, 90)] * 4
    norms = np.sqrt(np.diagonal(grams[0].matrix))
    np.testing.assert_allclose(norms, run.rounds[0].norms, rtol=1e-6)
    assert all(gram is None or gram.matrix.shape[1] <= 64 for gram in grams[4:])


def test_a_run_that_was_left_amid_its_stalls_has_the_same_bytes(table, stalled, tmp_path):
    folder = RunFolder.create(tmp_path / "run", spec_of(table))
    steps = execute(folder)
    for step in steps:
        if step.round_num == 3:
            break
    steps.close()
    for _ in execute(RunFolder.open(folder.path)):
        pass
    assert results(folder.path) == results(stalled)


def test_only_stalls_keep_the_whole_of_a_large_matrix():
    rows = np.random.default_rng(0).normal(size=(70, 200))
    for spread, columns in ((rows, None), (rows[:, :3], 70)):
        cohort = cohort_of(spread)
        step = FedMGDA().aggregate(cohort)
        record = RoundRecord(
            round_num=1, sampled=cohort.client_ids, cohort=cohort, quarantined=(),
            aggregate=step, server_lr=1.0, failed=None, seconds={},
        )  # fmt: skip
        kept = gram_bytes(record, whole=True)
        if columns is not None:
            assert kept[1] == columns
            gram = read_gram(kept[0], gram_place(*kept, offset=0), step.lam)
            np.testing.assert_array_equal(gram.matrix, cohort.updates.gramian())
        else:
            assert kept == gram_bytes(record)


def test_of_many_short_updates_the_columns_are_kept_without_the_matrix(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 4)) + 4.0
    cohort = cohort_of(rows)
    step = FedMGDA().aggregate(cohort)
    record = RoundRecord(
        round_num=1, sampled=cohort.client_ids, cohort=cohort, quarantined=(),
        aggregate=step, server_lr=1.0, failed=None, seconds={},
    )  # fmt: skip
    whole = cohort.updates.gramian()
    monkeypatch.setattr(DenseUpdates, "gramian", None)
    kept = gram_bytes(record)
    assert kept is not None
    assert 0 < kept[1] <= 5
    gram = read_gram(kept[0], gram_place(*kept, offset=0), step.lam)
    np.testing.assert_allclose(gram.matrix, whole[:, gram.columns], rtol=1e-13)
    lengths = np.sqrt(np.diagonal(whole))
    slopes = (gram.matrix / np.outer(lengths, lengths[gram.columns])) @ step.lam[gram.columns]
    assert step.lam @ slopes - slopes.min() == pytest.approx(step.gap, abs=1e-14)


def test_a_table_of_clients_from_before_stalls_were_counted_is_read(stalled):
    lines = (stalled / "clients.csv").read_text().splitlines()
    found = read_clients_csv("\n".join(",".join(line.split(",")[:8]) for line in lines).encode())
    assert [client.rounds for client in found] == [6] * 90
    assert {(client.rounds_sacrificed, client.rounds_stalled) for client in found} == {(None, None)}


@pytest.mark.parametrize("head", ["rounds", "rounds_stalled", "auc,auc"])
def test_columns_that_come_twice_are_refused(stalled, head):
    lines = (stalled / "clients.csv").read_text().splitlines()
    with pytest.raises(ValueError, match="it has other columns"):
        read_clients_csv(f"{lines[0]},{head}\n{lines[1]},1{',1' * head.count(',')}\n".encode())
