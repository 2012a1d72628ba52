"""A table trains with nothing said, and what the data decides is decided once."""

import numpy as np
import pytest

from fedmgda._errors import SpecError
from fedmgda.cli._app import run_app
from fedmgda.experiments import (
    RunFolder,
    Spec,
    _settle as settle_module,
    execute,
    open_run,
    parse,
    plan_sweep,
    resolve,
    settle,
)
from tables import write_houses, write_rows

FORMER = {
    "evaluation": {"select": "last"},
    "clients": {"participation": 1.0, "batch_size": 10, "client_lr": 0.1},
    "server": {"schedule": "decay"},
}
"""What was done with a table before its defaults were its own."""


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    return str(write_houses(tmp_path_factory.mktemp("houses") / "houses.csv"))


@pytest.fixture
def loans(tmp_path):
    """Loans of three branches, of which one in twenty goes bad."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(600):
        bad = i % 20 == 0
        income = rng.normal(1.0 if bad else 0.0)
        rows.append(["NSW"[i % 3], f"{income:.3f}", "bad" if bad else "good"])
    return str(write_rows(tmp_path / "loans.csv", ["branch", "income", "class"], rows))


def spec_of(path, client, target, **table):
    data = {"path": path, "client": client, "target": target}
    return resolve(parse(Spec, {"data": data, "rounds": 60, "evaluation": {"every": 60}} | table))


def losses_of(folder, spec):
    for _ in execute(RunFolder.create(folder, spec)):
        pass
    return [row.honest.loss["average"] for row in open_run(folder).evaluations]


def test_a_table_like_ames_learns_with_nothing_said_where_it_used_to_diverge(tmp_path, houses):
    data = {"path": houses, "client": "quarter", "target": "price", "encoding": "plain"}
    spec = resolve(parse(Spec, {"data": data, "rounds": 60} | FORMER))
    former = losses_of(tmp_path / "former", spec)
    assert former[-1] > former[0]  # worse than no training at all, and called finished
    now = losses_of(tmp_path / "now", settle(spec_of(houses, "quarter", "price")).spec)
    assert now[-1] < 0.5 * now[0]


def test_fedavg_learns_from_it_too(tmp_path, houses):
    spec = settle(spec_of(houses, "quarter", "price", rule={"name": "fedavg"})).spec
    assert spec.server.schedule == "decay"
    losses = losses_of(tmp_path / "run", spec)
    assert losses[-1] < 0.5 * losses[0]


def test_what_the_data_decides_is_a_number_in_the_folder(tmp_path, houses):
    settled = settle(spec_of(houses, "quarter", "price"))
    clients = settled.spec.clients
    assert (clients.per_round, settled.spec.evaluation.select) == (10, "loss")
    assert isinstance(clients.client_lr, float)
    assert clients.client_lr == float(f"{clients.client_lr:.2g}")
    assert settled.spec.server.schedule == "median-norm"
    again = settle(settled.spec)
    assert again.spec == settled.spec
    assert again.data is None


def test_few_clients_all_take_part(loans):
    assert settle(spec_of(loans, "branch", "class")).spec.clients.per_round == 3


def test_data_that_was_read_to_settle_is_not_read_again(tmp_path, loans, monkeypatch):
    settled = settle(spec_of(loans, "branch", "class", rounds=1))
    folder = RunFolder.create(tmp_path / "run", settled.spec)
    monkeypatch.setattr("fedmgda.experiments._run.build_data", lambda _: pytest.fail("read again"))
    assert [step.round_num for step in execute(folder, settled=settled)] == [0, 1]


def test_a_sweep_reads_shared_data_once_and_agrees_with_a_run(loans, monkeypatch):
    data = {"path": loans, "client": "branch", "target": "class"}
    table = {"data": data, "sweep": {"seeds": [0, 1], "grid": {"rule.epsilon": [0.1, 1.0]}}}
    read, original = [], settle_module.build_data
    monkeypatch.setattr(
        settle_module, "build_data", lambda spec: read.append(spec) or original(spec)
    )
    runs = plan_sweep(table)
    assert len(runs) == 4
    assert len(read) == 2  # one for each seed, whose training rows differ
    alone = settle(resolve(parse(Spec, {"data": data, "seed": 1, "rule": {"epsilon": 1.0}})))
    assert alone.spec in [run.spec for run in runs]


def test_the_same_command_takes_up_what_it_began(tmp_path, loans, monkeypatch, capsys):
    spec = tmp_path / "spec.toml"
    lines = f'rounds = 2\n[data]\npath = "{loans}"\nclient = "branch"\ntarget = "class"\n'
    spec.write_text(lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command in (["run"], ["run"], ["run", "--dry-run"]):
        monkeypatch.setattr("sys.argv", ["fedmgda", command[0], str(spec), *command[1:]])
        assert run_app() == 0
    shown = capsys.readouterr()
    assert "is finished" in shown.err
    number = open_run(tmp_path / "runs" / "spec").spec.clients.client_lr
    assert f"client_lr = {number!r}" in shown.out
    assert (
        "auto"
        not in (tmp_path / "runs" / "spec" / "spec.toml")
        .read_text()
        .split("[clients]")[1]
        .split("path =")[0]
    )


def test_momentum_shortens_the_step(loans):
    plain = settle(spec_of(loans, "branch", "class")).spec.clients.client_lr
    spec = spec_of(loans, "branch", "class", clients={"momentum": 0.5})
    assert settle(spec).spec.clients.client_lr == pytest.approx(plain / 2, rel=0.1)


@pytest.mark.parametrize(
    "table",
    [
        {"clients": {"client_lr": "auto", "loss": "package.module:loss"}},
        {"clients": {"client_lr": "auto", "optimizer": "package.module:make"}},
        {"clients": {"client_lr": "auto"}, "model": {"name": "package.module:net"}},
        {"clients": {"client_lr": "auto"}, "model": {"name": "char-lstm"}},
    ],
)
def test_auto_is_refused_where_the_curvature_is_unknown(loans, table):
    with pytest.raises(SpecError, match=r"clients.client_lr = 'auto' needs .* give a number\."):
        spec_of(loans, "branch", "class", **table)


def test_a_model_of_the_users_own_keeps_the_step_it_had(loans):
    spec = spec_of(loans, "branch", "class", model={"name": "package.module:net"})
    assert spec.clients.client_lr == 0.1


def test_other_data_keeps_the_defaults_it_had():
    spec = resolve(Spec())
    assert (spec.clients.client_lr, spec.clients.batch_size) == (0.1, 10)
    assert (spec.server.schedule, spec.server.lr) == ("decay", 1.0)
    assert settle(spec).data is None


def test_auto_may_be_asked_of_other_data():
    spec = resolve(parse(Spec, {"clients": {"client_lr": "auto"}}))
    assert 0 < settle(spec).spec.clients.client_lr < 1


def recall_of(folder):
    found = open_run(folder).predictions()
    positive = found.targets == 0  # "bad" comes before "good"
    return float((found.predictions[positive] == 0).mean())


def test_balanced_classes_are_found_where_they_were_not(tmp_path, loans):
    plain, balanced = tmp_path / "plain", tmp_path / "balanced"
    losses_of(plain, spec_of(loans, "branch", "class"))
    # Three validation rows are positives: too few to choose a round by.
    table = {"evaluation": {"every": 60, "select": "last"}}
    table["clients"] = {"class_weights": "balanced"}
    losses = losses_of(balanced, settle(spec_of(loans, "branch", "class", **table)).spec)
    assert recall_of(plain) == 0.0
    assert recall_of(balanced) > 0.5
    assert losses[-1] < losses[0]  # the weighted loss: what is minimised is what is reported
    verdict = open_run(balanced).verdict
    # A constant that weighs both classes alike says 1/2 of each; the mean over clients of the
    # weights of their test rows is near 1.
    assert 0.4 < verdict.constant_loss < 1.2
    assert verdict.loss < 0.99 * verdict.constant_loss
    assert verdict.outcome == "may have learned"  # three clients, and a positive test row or two
    assert open_run(balanced).environment.path == "torch"


def test_weights_by_name_are_those_of_balanced_classes(tmp_path, loans):
    settled = settle(spec_of(loans, "branch", "class", clients={"class_weights": "balanced"}))
    targets = settled.data.targets[np.concatenate(settled.data.train)]
    counts = np.bincount(targets, minlength=2)
    by_name = {
        name: float(counts.sum() / (2 * count))
        for name, count in zip(("bad", "good"), counts, strict=True)
    }
    named = spec_of(loans, "branch", "class", clients={"class_weights": by_name})
    one = losses_of(tmp_path / "one", settle(named).spec)
    assert one == pytest.approx(losses_of(tmp_path / "two", settled.spec))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"baad": 2.0}, "names 'baad', no class of loans.csv; did you mean 'bad'"),
        ({"bad": -1.0}, r"class_weights.bad must be a positive number, got -1\.0"),
        ({"bad": "much"}, "class_weights.bad must be a positive number, got 'much'"),
    ],
)
def test_weights_that_mean_nothing_are_refused(loans, weights, message):
    spec = spec_of(loans, "branch", "class", clients={"class_weights": weights})
    with pytest.raises(SpecError, match=message):
        settle(spec)


def test_weights_of_classes_are_refused_for_numbers(houses):
    spec = spec_of(houses, "quarter", "price", clients={"class_weights": "balanced"})
    with pytest.raises(SpecError, match=r"does not apply to houses\.csv, whose target is a number"):
        settle(spec)


@pytest.mark.parametrize(
    ("clients", "message"),
    [
        ({"path": "compiled"}, "clients.class_weights needs torch"),
        ({"loss": "package.module:loss"}, "does not reach clients.loss"),
    ],
)
def test_weights_that_nothing_could_follow_are_refused(loans, clients, message):
    with pytest.raises(SpecError, match=message):
        spec_of(loans, "branch", "class", clients={"class_weights": "balanced"} | clients)
