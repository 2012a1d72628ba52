"""`fedmgda.train`: the same federation from Python as from a file."""

import runpy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import fedmgda
from fedmgda import ClientPool, FedAvg, Federation, FedMGDA, LocalTraining, Rule, UniformSampler
from fedmgda._errors import SpecError, StoreError
from fedmgda.experiments import RunFolder, execute
from fedmgda.values import Annealed, Weighing

ROOT = Path(__file__).parents[3]


def arrays(seed=0, clients=4, size=20, *, classes=True):
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(clients):
        x = rng.normal(size=(size, 3))
        y = (x.sum(axis=1) > 0).astype(int) if classes else x.sum(axis=1)
        pairs.append((x, y))
    return pairs


def module(outputs=2):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, outputs))


def parameters(model):
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy()


def test_it_is_the_engine_on_the_same_clients():
    model, training = module(), LocalTraining(batch_size=5, client_lr=0.2)
    result = fedmgda.train(model, arrays(), rounds=5, per_round=2, training=training, seed=4)
    with ClientPool(
        data=result.data, build_model=lambda: model, training=training, seed=4
    ) as clients:
        federation = Federation(
            train_cohort=clients.train_cohort, rule=FedMGDA(), num_clients=4, seed=4,
            sampler=UniformSampler(num_clients=4, per_round=2),
        )  # fmt: skip
        start = fedmgda.initial_state(federation, clients.initial_params())
        for server, record in fedmgda.simulate(federation, start):
            taken = list(record.cohort.client_ids)
            np.testing.assert_array_equal(
                result.history.lam[server.round_num - 1, taken], record.aggregate.lam
            )
            if server.round_num == 5:
                break
    np.testing.assert_array_equal(parameters(result.model), server.params)


def test_training_starts_from_the_weights_of_a_module_and_leaves_it_alone():
    model = module()
    before = parameters(model).copy()
    still = fedmgda.train(model, arrays(), rounds=1, training=LocalTraining(client_lr=1e-12))
    np.testing.assert_array_equal(parameters(still.model), before)
    moved = fedmgda.train(model, arrays(), rounds=1)
    assert not np.array_equal(parameters(moved.model), before)
    np.testing.assert_array_equal(parameters(model), before)


def test_a_function_starts_from_the_seed():
    def make():
        return nn.Linear(3, 2)

    one, two, three = (fedmgda.train(make, arrays(), rounds=2, seed=s).model for s in (1, 1, 2))
    np.testing.assert_array_equal(parameters(one), parameters(two))
    assert not np.array_equal(parameters(one), parameters(three))


def test_the_history_has_a_row_for_every_round_and_evaluation():
    data = dict(zip("abcd", arrays(), strict=True))
    history = fedmgda.train(module(), data, rounds=7, per_round=3, evaluate_every=3).history
    assert history.norm.shape == history.improved.shape == history.gap.shape == (7,)
    assert history.lam.shape == (7, 4)
    assert (np.isfinite(history.lam).sum(axis=1) == 3).all()
    assert history.evaluated.tolist() == [0, 3, 6, 7]
    assert history.accuracies.shape == history.losses.shape == (4, 4)
    assert (history.min_inner >= 0).all(), "FedMGDA+ sacrifices nobody, to first order"


def test_protected_no_loss_rises_and_it_is_what_a_spec_asks_for(tmp_path):
    kept = fedmgda.train(module(), arrays(), rounds=8, rule="fedavg", protect=True, out=tmp_path)
    assert kept.run.spec.server.protect.allow == 0
    assert kept.history.held.shape == (8,)
    assert not kept.history.held.all()
    assert kept.history.improved.tolist() == [100.0] * 8
    assert fedmgda.verify(tmp_path).verified
    loose = fedmgda.train(module(), arrays(), rounds=8, rule="fedavg", protect={"allow": 4 - 1})
    assert not loose.history.held.any()


def test_numbers_are_predicted_as_numbers():
    result = fedmgda.train(
        module(1), arrays(classes=False), rounds=20, rule=FedAvg(),
        training=LocalTraining(client_lr=0.1),
    )  # fmt: skip
    assert result.data.num_classes is None
    assert result.history.losses[-1].mean() < 0.1 * result.history.losses[0].mean()


def test_a_run_folder_is_written_read_and_gone_on_with(tmp_path):
    def train():
        return fedmgda.train(module(), arrays(), rounds=4, out=tmp_path / "run")

    first, again = train(), train()
    assert first.run.state == "finished"
    assert first.run.summary.round_num == 4
    np.testing.assert_array_equal(parameters(first.model), parameters(again.model))
    with pytest.raises(StoreError, match="already holds a run of another spec"):
        fedmgda.train(module(), arrays(), rounds=5, out=tmp_path / "run")


def test_a_finished_folder_is_that_of_the_same_arrays_weights_and_rule(tmp_path):
    out = tmp_path / "run"
    fedmgda.train(module(), arrays(), rounds=2, rule=FedMGDA(), out=out)
    with pytest.raises(StoreError, match="The data is not what the run"):
        fedmgda.train(module(), arrays(seed=1), rounds=2, rule=FedMGDA(), out=out)
    torch.manual_seed(4)
    for model, rule in ((nn.Sequential(nn.Linear(3, 2)), FedMGDA()), (module(), FedAvg())):
        with pytest.raises(StoreError, match="already holds a run of another spec"):
            fedmgda.train(model, arrays(), rounds=2, rule=rule, out=out)


def test_a_function_that_gives_the_same_module_every_time_trains_all_the_same():
    model = module()
    shared = fedmgda.train(lambda: model, arrays(), rounds=2)
    own = fedmgda.train(model, arrays(), rounds=2)
    np.testing.assert_array_equal(shared.history.norm, own.history.norm)
    assert (shared.history.norm > 0).all()
    assert shared.model is not model


def test_one_score_with_a_loss_of_its_own_needs_no_classes(tmp_path):
    def loss(outputs, targets):
        return nn.functional.binary_cross_entropy_with_logits(
            outputs.squeeze(1), targets.float(), reduction="none"
        )

    training = LocalTraining(loss=loss)
    result = fedmgda.train(module(1), arrays(), rounds=2, training=training, out=tmp_path / "run")
    assert np.isnan(result.history.accuracies).all()
    assert result.run.predictions() is None


def test_other_arrays_or_another_run_are_not_gone_on_with(tmp_path):
    fedmgda.train(module(), arrays(), rounds=2, out=tmp_path / "run")
    (tmp_path / "run" / "DONE").unlink()
    with pytest.raises(StoreError, match="The data is not what the run"):
        fedmgda.train(module(), arrays(seed=1), rounds=2, out=tmp_path / "run")
    with pytest.raises(SpecError, match=r"go on with the same fedmgda\.train call"):
        list(execute(RunFolder.open(tmp_path / "run")))


def test_a_rule_of_ones_own_needs_no_module():
    @dataclass(frozen=True)
    class First(Rule):
        """Follow the first client alone."""

        def weigh(self, cohort, state, _round_num):
            lam = np.eye(len(cohort.client_ids))[0]
            return Weighing(weights=lam, lam=lam), state

    history = fedmgda.train(module(), arrays(), rounds=3, rule=First()).history
    np.testing.assert_array_equal(history.lam, [[1, 0, 0, 0]] * 3)


def test_functions_and_falling_steps_are_written_down(tmp_path):
    training = LocalTraining(
        loss=nn.CrossEntropyLoss(reduction="none"), client_lr=Annealed(first=0.1, power=1.0)
    )
    result = fedmgda.train(
        module(), arrays(), rounds=2, training=training, out=tmp_path / "run", rule="fedavg"
    )
    assert result.run.spec.clients.loss == "torch.nn.modules.loss:CrossEntropyLoss"
    assert result.run.spec.clients.client_lr == Annealed(first=0.1, power=1.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"data": []}, "data has no client"),
        ({"data": [(np.ones((3, 2)), np.ones(4))]}, "data of client 0 has features of shape"),
        ({"data": {"x": (np.ones((3, 2)), np.ones((3, 1)))}}, "data of client x has features"),
        ({"data": [1, 2]}, "data must be a pair of features and targets for each client"),
        ({"model": 3}, "model must be a torch module or a function"),
        ({"model": lambda: 3}, "model"),
        ({"model": nn.Linear(3, 1)}, "must return scores of shape"),
        ({"model": nn.Linear(5, 2)}, "model"),
        ({"seed": -1}, "seed must be a whole number, zero or positive, got -1"),
        ({"data": [(np.ones((5, 3)), np.array(["a"] * 5))]}, "both must be real numbers"),
        ({"data": [*arrays(), *arrays(classes=False)]}, "whole numbers as targets of some"),
        ({"data": None}, "data must be a pair of features and targets"),
        ({"rule": "fedavgg"}, "did you mean 'fedavg'"),
        ({"rounds": 0}, r"rounds must lie in \[1, 1e\+07\]"),
        ({"protect": {"allow": 4}}, "server.protect.allow = 4"),
        ({"protect": {"alow": 1}}, "did you mean 'server.protect.allow'"),
        ({"per_round": 9}, "clients.per_round = 9 is more than the number of clients, 4"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(changes, sentence):
    arguments = {"model": module(), "data": arrays(), "rounds": 2} | changes
    with pytest.raises(SpecError, match=sentence):
        fedmgda.train(arguments.pop("model"), arguments.pop("data"), **arguments)


def test_the_example_in_the_repository_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "own_model.py"))
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[:3]] == ["north", "south", "island"]
    assert "of participants ended a round no worse" in said[3]
    assert len((ROOT / "examples" / "own_model.py").read_text().splitlines()) <= 40


def test_the_best_model_by_validation_is_returned():
    rng = np.random.default_rng(0)
    data = [(rng.normal(size=(40, 3)), rng.integers(0, 2, 40)) for _ in range(3)]
    wild = {"rounds": 12, "evaluate_every": 2, "server_lr": 5.0}
    found = fedmgda.train(nn.Linear(3, 2), data, select="loss", patience=2, **wild)
    assert found.history.evaluated[-1] < 12
