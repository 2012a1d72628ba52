"""What a federation is held against: everyone alone, and everything in one place."""

from __future__ import annotations

import numpy as np
import pytest

from fedmgda._errors import DataError, FederationStalledError, SpecError
from fedmgda.experiments import RunFolder, build_data, execute, open_run, train
from fedmgda.experiments._baselines import as_baseline, carried_out, pooled_data
from fedmgda.models import mlp
from runs import carry_on, finished_run, results, small_spec, stopped_run
from tables import write_table

ONE = {"data": {"num_clients": 1, "shards_per_client": 2}, "clients": {"per_round": 1}}


def of(path, **table):
    return open_run(finished_run(path, **table).path)


def same_predictions(one, other):
    left, right = one.predictions(), other.predictions()
    for name in ("rows", "clients", "targets", "predictions", "losses", "probabilities"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


def test_one_client_alone_is_the_federation_of_that_client(tmp_path):
    alone = of(tmp_path / "alone", baseline="alone", **ONE)
    joined = of(tmp_path / "joined", rule={"name": "fedavg"}, **ONE)
    pooled = of(tmp_path / "pooled", baseline="pooled", **ONE)
    same_predictions(alone, joined)
    same_predictions(pooled, joined)
    for name in ("model.safetensors", "clients.csv", "predictions.npz"):
        assert (pooled.path / name).read_bytes() == (joined.path / name).read_bytes()
    assert alone.evaluations[-1].losses == joined.evaluations[-1].losses
    (ours,), (theirs,) = alone.clients, joined.clients
    assert (ours.test_loss, ours.rounds) == (theirs.test_loss, theirs.rounds)


def test_each_client_alone_is_the_federation_that_only_it_takes_part_in(tmp_path):
    alone = of(tmp_path / "alone", baseline="alone", rounds=4, clients={"per_round": 2})
    assert {client.rounds for client in alone.clients} == {2}  # four rounds, half of the clients
    for client in (0, 3):
        only = {"only": [client], "reported_loss": "during"}
        joined = of(tmp_path / f"{client}", rule={"name": "fedavg"}, rounds=2, clients=only)
        assert joined.clients[client].test_loss == alone.clients[client].test_loss
        mine, theirs = alone.predictions(), joined.predictions()
        own, same = mine.clients == client, theirs.clients == client
        np.testing.assert_array_equal(mine.losses[own], theirs.losses[same])
        np.testing.assert_array_equal(mine.rows[own], theirs.rows[same])


def test_pooled_is_the_federation_of_one_client_that_holds_everything(tmp_path):
    spec = small_spec(baseline="pooled", clients={"per_round": 4})
    data, _ = build_data(spec)
    pooled = of(tmp_path / "pooled", baseline="pooled", clients={"per_round": 4})
    joined = train(
        lambda: mlp((64, 2, 10)),
        pooled_data(data),
        rule="fedavg",
        rounds=spec.rounds,
        out=tmp_path / "joined",
    )
    ours, theirs = pooled.model_arrays(), joined.run.model_arrays()
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])
    assert len(pooled.evaluations[-1].client_ids) == 4
    assert {client.rounds for client in pooled.clients} == {spec.rounds}


@pytest.mark.parametrize(
    ("baseline", "table", "rounds", "every"),
    [
        ("alone", {"per_round": 5}, 10, 3),
        ("pooled", {"per_round": 5}, 10, 3),
        ("alone", {"participation": 0.01}, 2, 1),
        ("alone", {"only": [1, 2]}, 40, 10),
        ("pooled", {"only": [1, 2]}, 4, 1),
        ("alone", {"participation": 1.0}, 40, 10),
    ],
)
def test_the_budget_is_that_of_the_federation(baseline, table, rounds, every):
    whole = {"data": {"num_clients": 20}, "rounds": 40, "evaluation": {"every": 10}}
    plan = carried_out(small_spec(baseline=baseline, clients=table, **whole), 20)
    assert (plan.rounds, plan.evaluation.every) == (rounds, every)
    assert carried_out(small_spec(**whole), 20).rounds == 40


def test_a_baseline_has_neither_rule_nor_step_nor_attacker():
    given = small_spec(baseline="alone")
    assert (given.rule.name, given.server.lr, given.attack.name) == ("fedavg", 1.0, "none")
    other = small_spec(
        baseline="alone", rule={"name": "q-fedavg"}, server={"lr": 3.0}, attack={"name": "none"}
    )
    assert given == other
    assert as_baseline(small_spec()) == small_spec()


@pytest.mark.parametrize("after", [0, 1, 3])
def test_alone_comes_to_the_same_bytes_however_often_it_is_stopped(tmp_path, after):
    table = {"baseline": "alone", "evaluation": {"every": 2, "metrics": "auto"}}
    whole = finished_run(tmp_path / "whole", **table)
    stopped_run(tmp_path / "run", after, **table)
    assert open_run(tmp_path / "run").state == "stopped"
    carry_on(tmp_path / "run")
    assert results(tmp_path / "run") == results(whole.path)
    open_run(tmp_path / "run").check()


def test_pooled_comes_to_the_same_bytes_however_often_it_is_stopped(tmp_path):
    table = {"baseline": "pooled", "clients": {"per_round": 4}}
    whole = finished_run(tmp_path / "whole", **table)
    stopped_run(tmp_path / "run", 3, **table)
    carry_on(tmp_path / "run")
    assert results(tmp_path / "run") == results(whole.path)
    open_run(tmp_path / "run").check()


@pytest.mark.parametrize("baseline", ["alone", "pooled"])
def test_a_baseline_selects_where_the_federation_does(tmp_path, baseline):
    last = of(tmp_path / "last", baseline=baseline, rounds=12, clients={"per_round": 4})
    asked = {"every": 1, "select": "loss", "patience": 2}
    table = {"rounds": 12, "clients": {"per_round": 4, "client_lr": 5.0}, "evaluation": asked}
    kept = of(tmp_path / "kept", baseline=baseline, **table)
    kept.check()
    first = kept.evaluations[0].losses
    assert (kept.evaluations[-1].losses <= first + 1.0).all() or baseline == "pooled"
    assert len(kept.predictions().rows) == len(last.predictions().rows)


def test_there_is_no_model_of_clients_that_trained_alone(tmp_path):
    run = of(tmp_path, baseline="alone")
    assert not (tmp_path / "model.safetensors").exists()
    assert run.rounds == ()
    with pytest.raises(DataError, match="has no model: every client trained one by itself"):
        run.model_arrays()


def test_clients_that_never_move_end_alone_with_a_sentence(tmp_path):
    spec = small_spec(baseline="alone", clients={"per_round": 2, "client_lr": 1e30}, model={})
    with pytest.raises(FederationStalledError, match=r"No client made a usable .*client_lr"):
        list(execute(RunFolder.create(tmp_path, spec)))


def test_a_table_has_baselines_with_names_and_metrics(tmp_path):
    data = write_table(tmp_path / "rows.csv")
    for baseline in ("alone", "pooled"):
        run = of(tmp_path / baseline, baseline=baseline, data=data, model={})
        assert [client.name for client in run.clients] == ["east", "north", "south", "west"]
        assert "auc" in run.summary.metrics.pooled


def test_rows_that_stay_with_their_clients_are_not_pooled(tmp_path):
    folder = RunFolder.create(tmp_path, small_spec(baseline="pooled"))
    with pytest.raises(SpecError, match="needs all rows in one place, and these clients keep"):
        list(execute(folder, object()))
