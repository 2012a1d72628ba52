import numpy as np
import pytest
from flwr.app import Array, ArrayRecord
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideFixedClipping,
    FedAvg as FlowersFedAvg,
)

from fedmgda import (
    Cohort,
    DataError,
    FedAvg,
    FederationStalledError,
    FedMGDA,
    MedianNorm,
    SpecError,
    StoreError,
    UniformSampler,
    initial_state,
    open_run,
    simulate,
    verify,
)
from fedmgda.experiments import compare_runs
from fedmgda.federation import Federation
from fedmgda.flower import (
    AFL,
    FedAvg as FedAvgStrategy,
    FedAvgN,
    FedMGDAPlus,
    QFedAvg,
    RuleStrategy,
    tell_client_id,
)
from flower_apps import CENTERS, LR, AppGrid, client_app, model

ROUNDS = 4
BYTES = ("rounds.jsonl", "evaluations.jsonl", "model.safetensors", "clients.csv")


def start(strategy, app=None, *, grid=None, arrays=None, rounds=ROUNDS, **options):
    grid = grid or AppGrid([app or client_app()] * len(CENTERS))
    return strategy.start(grid, arrays or model(), num_rounds=rounds, **options)


def weights(result):
    return result.arrays["layer.w"].numpy()


def written(folder):
    return {name: (folder / name).read_bytes() for name in BYTES}


def engine(rule, schedule, rounds):
    """Return the model of the engine itself on the same clients."""

    def train_cohort(params, ids, round_num):
        own = [params - np.float32(LR) * (params - CENTERS[i].astype(np.float32)) for i in ids]
        return Cohort(
            client_ids=ids,
            updates=np.array([params - w for w in own]),
            num_examples=[10.0 * (i + 1) for i in ids],
            losses=np.zeros(len(ids)),
        )

    federation = Federation(
        train_cohort=train_cohort,
        rule=rule,
        sampler=UniformSampler(num_clients=4, per_round=2),
        num_clients=4,
        schedule=schedule,
        seed=3,
    )
    states = simulate(federation, initial_state(federation, np.zeros(3, np.float32)))
    return next(server.params for server, _ in states if server.round_num == rounds)


def test_a_strategy_makes_the_rounds_of_the_engine_bit_for_bit():
    result = start(FedMGDAPlus(fraction_train=0.5, seed=3), client_app(loss=True), rounds=6)
    assert weights(result).tolist() == engine(FedMGDA(), MedianNorm(), 6).tolist()


def test_fedavg_here_is_flowers_fedavg():
    ours = start(FedAvgStrategy(), client_app(loss=True))
    theirs = start(FlowersFedAvg(), client_app(loss=True))
    np.testing.assert_allclose(weights(ours), weights(theirs), atol=1e-6)
    ours, theirs = ours.evaluate_metrics_clientapp, theirs.evaluate_metrics_clientapp
    assert ours[ROUNDS]["eval_loss"] == pytest.approx(theirs[ROUNDS]["eval_loss"])


def test_a_round_tells_lambda_and_its_certificate():
    metrics = start(FedMGDAPlus(), client_app(loss=True)).train_metrics_clientapp[1]
    assert metrics["client-ids"] == [0, 1, 2, 3]
    assert sum(metrics["lam"]) == pytest.approx(1.0)
    assert 0.0 <= metrics["gap"] < 1e-9
    assert metrics["norm"] > 0.0


@pytest.mark.parametrize(
    "strategy",
    [
        lambda folder: FedMGDAPlus(record=folder, epsilon=0.5, gram=True),
        lambda folder: QFedAvg(record=folder, client_lr=LR, q=0.5, gram=True),
        lambda folder: AFL(record=folder, gram=True, fraction_evaluate=0.0),
        lambda folder: FedAvgN(record=folder, gram=True, center="examples", fraction_evaluate=0.5),
        lambda folder: RuleStrategy(FedAvg(center=(1.0, 2.0, 3.0, 4.0)), record=folder, gram=True),
    ],
)
def test_the_record_of_a_strategy_is_a_run_that_proves_itself(tmp_path, strategy):
    start(strategy(tmp_path / "run"), client_app(loss=True))
    audit = verify(tmp_path / "run")
    assert audit.verified, audit.verdict
    assert audit.rounds == ROUNDS
    run = open_run(tmp_path / "run")
    assert run.finished
    assert [client.train_examples for client in run.clients] == [10, 20, 30, 40]
    assert [row.round_num for row in run.evaluations] == list(range(ROUNDS + 1))


def test_what_a_record_calls_the_parts_of_an_app_is_for_ever(tmp_path):
    """A folder that was written with other names would hold another run, and not go on."""
    start(FedMGDAPlus(record=tmp_path / "run"))
    spec, home = open_run(tmp_path / "run").spec, "fedmgda.flower._strategy_record"
    named = (spec.data.name, spec.model.name, spec.clients.loss, spec.clients.optimizer)
    assert named == tuple(
        f"{home}:{part}"
        for part in (
            "data_of_the_nodes", "model_of_the_app", "loss_of_the_app", "optimizer_of_the_app",
        )
    )  # fmt: skip


def test_two_records_can_be_compared(tmp_path):
    for name, strategy in (("plus", FedMGDAPlus), ("avg", FedAvgStrategy)):
        start(strategy(record=tmp_path / name), client_app(loss=True))
    compared = compare_runs([tmp_path / "plus", tmp_path / "avg"])
    assert [score.name for score in compared.runs] == ["plus", "avg"]
    assert compared.rows == (1, 2, 3, 4)
    assert compared.against[0].losing == 0  # the app says 0.5 of every model
    assert np.isnan(compared.against[0].losing_by_chance)
    assert "it may be chance" in compared.conclusion


def test_clients_that_do_not_say_who_they_are_are_not_compared_with_those_of_another_run(tmp_path):
    grid = AppGrid([client_app()] * 4)
    for name in ("a", "b"):
        start(FedMGDAPlus(record=tmp_path / name, epsilon=0.1 if name == "a" else 1.0), grid=grid)
    assert compare_runs([tmp_path / "a", tmp_path / "b"])  # under the same node ids
    start(FedMGDAPlus(record=tmp_path / "c"))
    with pytest.raises(DataError, match="not made from the same data"):
        compare_runs([tmp_path / "a", tmp_path / "c"])


def test_sampling_two_of_four_repeats_exactly(tmp_path):
    for name in ("a", "b"):
        strategy = FedMGDAPlus(fraction_train=0.5, seed=7, record=tmp_path / name)
        start(strategy, client_app(loss=True), rounds=8)
    assert written(tmp_path / "a") == written(tmp_path / "b")
    rounds = open_run(tmp_path / "a").rounds
    assert {len(row.client_ids) for row in rounds} == {2}
    assert len({row.client_ids for row in rounds}) > 1


def test_clients_that_answer_a_query_are_known_before_they_train():
    app, grids = client_app(query=tell_client_id), []
    for _ in range(2):
        grids.append(AppGrid([app] * 4))
        start(FedMGDAPlus(fraction_train=0.5, seed=7), grid=grids[-1], rounds=8)
    first, second = ([n for kind, n in grid.sent if kind == "train"] for grid in grids)
    assert first == second
    assert len(first) == 16  # nobody trained in vain


def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(tmp_path):
    def stop(round_num, arrays):
        if round_num == 3:
            raise ConnectionError("the power went")

    def strategy(name):
        return FedMGDAPlus(fraction_train=0.5, record=tmp_path / name)

    app = client_app(loss=True)
    start(strategy("whole"), app, rounds=6)
    with pytest.raises(ConnectionError):
        start(strategy("cut"), app, rounds=6, evaluate_fn=stop)
    assert len(open_run(tmp_path / "cut").rounds) == 3
    result = start(strategy("cut"), app, rounds=6, arrays=model((9.0, 9.0, 9.0)))
    assert written(tmp_path / "cut") == written(tmp_path / "whole")
    assert sorted(result.train_metrics_clientapp) == [4, 5, 6]
    again = start(strategy("cut"), app, grid=AppGrid([]), rounds=6)  # nothing is left to do
    assert weights(again).tolist() == weights(result).tolist()


def test_a_record_of_another_run_is_refused(tmp_path):
    start(FedMGDAPlus(record=tmp_path / "run"))
    with pytest.raises(StoreError, match="another spec"):
        start(FedMGDAPlus(record=tmp_path / "run", epsilon=0.1))


@pytest.mark.parametrize("strategy", [QFedAvg(client_lr=LR), AFL()])
def test_a_rule_that_reads_losses_refuses_in_round_1_and_names_the_lines(strategy):
    with pytest.raises(SpecError) as refusal:
        start(strategy)
    assert "three lines" in str(refusal.value)
    assert '"loss": loss' in str(refusal.value)
    assert '"client-id": context.node_config["partition-id"]' in str(refusal.value)
    assert np.isfinite(weights(start(strategy, client_app(loss=True)))).all()


def test_too_few_nodes_end_it_in_time():
    with pytest.raises(FederationStalledError, match="1 of at least 2 nodes"):
        start(FedMGDAPlus(wait=0.1), grid=AppGrid([client_app()]))


def test_one_client_is_enough_where_one_is_asked_for():
    strategy = FedMGDAPlus(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1)
    assert weights(start(strategy, grid=AppGrid([client_app()])))[0] > 0.5


def test_nobody_trains_with_no_fraction():
    with pytest.raises(SpecError, match="fraction_train"):
        FedMGDAPlus(fraction_train=0.0)


def test_a_wrapper_of_flowers_own_goes_round_a_strategy(tmp_path):
    wrapped = DifferentialPrivacyServerSideFixedClipping(
        FedMGDAPlus(), noise_multiplier=1e-6, clipping_norm=100.0, num_sampled_clients=4
    )
    plain = start(FedMGDAPlus(), client_app(loss=True))
    np.testing.assert_allclose(
        weights(start(wrapped, client_app(loss=True))), weights(plain), atol=1e-2
    )
    recorded = DifferentialPrivacyServerSideFixedClipping(
        FedMGDAPlus(record=tmp_path / "run"), 1e-6, 100.0, 4
    )
    with pytest.raises(SpecError, match="record needs"):
        start(recorded)


class Watching(FedMGDAPlus):
    def __init__(self, factor=1.0, **keywords):
        super().__init__(**keywords)
        self.seen, self.factor = [], factor

    def aggregate_train(self, server_round, replies):
        arrays, metrics = super().aggregate_train(server_round, replies)
        self.seen.append((server_round, len(list(replies)), metrics["norm"]))
        scaled = self.factor * arrays["layer.w"].numpy()
        return ArrayRecord({"layer.w": Array(scaled)}), metrics


def test_a_class_below_sees_every_round_and_cannot_slip_in_another_model():
    watching = Watching()
    start(watching)
    assert [(number, count) for number, count, _ in watching.seen] == [(n, 4) for n in (1, 2, 3, 4)]
    with pytest.raises(SpecError, match="Watching returned another model"):
        start(Watching(factor=np.float32(2.0)))
