"""The user's own data, from a file to a fairness table in one command."""

import csv

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from fedmgda._errors import DataError, FederationStalledError, SpecError, StoreError
from fedmgda.experiments import RunFolder, Spec, execute, open_run, parse, resolve


def train(tmp_path, data, **table):
    spec = {"rounds": 3, "data": data, "evaluation": {"every": 1}} | table
    folder = RunFolder.create(tmp_path / "run", resolve(parse(Spec, spec)))
    steps = list(execute(folder))
    return folder, steps


def write_table(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


@pytest.fixture
def hospitals(tmp_path):
    """The breast cancer table as three hospitals would hold it: by the size of the tumours."""
    table = load_breast_cancer()
    edges = np.quantile(table.data[:, 0], [0.3, 0.7])
    names = np.array(["Aachen", "Bern", "Chur"])[np.searchsorted(edges, table.data[:, 0])]
    kinds = np.array(["malignant", "benign"])[table.target]
    rows = [
        [name, *map(repr, map(float, values[1:6])), kind]
        for name, values, kind in zip(names, table.data, kinds, strict=True)
    ]
    rows[5][2] = ""
    header = ["hospital", "texture", "perimeter", "area", "smoothness", "compactness", "diagnosis"]
    return write_table(tmp_path / "visits.csv", header, rows)


def test_a_table_with_a_client_column_trains_end_to_end(tmp_path, hospitals):
    data = {"path": hospitals, "client": "hospital", "target": "diagnosis"}
    folder, steps = train(tmp_path, data, rounds=40, clients={"client_lr": 0.05})
    assert open_run(folder.path).summary.honest.users == 3
    assert open_run(folder.path).summary.honest.accuracy["average"] > 0.8
    assert [client.name for client in open_run(folder.path).summary.clients] == [
        "Aachen",
        "Bern",
        "Chur",
    ]
    assert "stands in for missing numbers: 'perimeter' (1)." in steps[0].notes[0]


def test_a_regression_has_losses_and_no_accuracy(tmp_path):
    table = load_diabetes()
    rows = [
        ["old" if x[0] > 0 else "young", *map(float, x), float(y) / 100]
        for x, y in zip(table.data, table.target, strict=True)
    ]
    path = write_table(tmp_path / "d.csv", ["group", *table.feature_names, "progress"], rows)
    data = {"path": path, "client": "group", "target": "progress", "task": "regression"}
    # A normalised step has the length of server.lr, so near the minimum it must be a short one.
    folder, _ = train(tmp_path, data, rounds=60, server={"lr": 0.2}, clients={"client_lr": 0.05})
    summary = open_run(folder.path).summary.honest
    assert summary.accuracy is None
    first = open_run(folder.path).evaluations[0].honest.loss["average"]
    assert summary.loss["average"] < 0.6 * first


def test_without_a_client_column_a_partition_deals_the_rows(tmp_path, hospitals):
    data = {
        "path": hospitals,
        "target": "diagnosis",
        "features": ["texture", "area"],
        "partition": "dirichlet",
        "num_clients": 5,
    }
    folder, _ = train(tmp_path, data)
    assert open_run(folder.path).summary.honest.users == 5


def test_arrays_with_a_client_key_train(tmp_path):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(90, 4)).astype(np.float32)
    path = tmp_path / "arrays.npz"
    np.savez(
        path,
        features=features,
        targets=(features[:, 0] > 0).astype(np.int64),
        client=np.arange(90) % 3,
    )
    folder, _ = train(tmp_path, {"path": str(path)})
    assert open_run(folder.path).summary.honest.users == 3


@pytest.mark.parametrize("min_rows", [None, 10])
def test_arrays_whose_numbers_are_all_the_same_are_refused(tmp_path, min_rows):
    """It trained, and said that a constant predicts better."""
    path = tmp_path / "arrays.npz"
    features = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
    np.savez(path, features=features, targets=np.full(90, 2.5), client=np.arange(90) % 3)
    data = {"path": str(path)} | ({} if min_rows is None else {"min_rows": min_rows})
    sentence = r"^Every target of arrays\.npz is 2\.5; there is nothing to learn\.$"
    with pytest.raises(DataError, match=sentence):
        train(tmp_path, data)


MODULE = """
import numpy as np
from torch import nn
from fedmgda import FederatedData

def make():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 3)).astype(np.float32)
    rows = np.split(np.arange(60), 3)
    return FederatedData(
        name="mine", features=features, targets=(features[:, 0] > 0).astype(np.int64),
        train=tuple(r[:16] for r in rows), validation=tuple(r[16:18] for r in rows),
        test=tuple(r[18:] for r in rows), num_classes=2,
    )

def net():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))

def wrong():
    return nn.Linear(7, 2)

def nothing():
    return None

def stops():
    raise SystemExit(0)

def raises():
    raise KeyError("no such hospital")

def changed(**changes):
    import dataclasses
    return dataclasses.replace(make(), **changes)

def negative():
    return changed(train=tuple(rows - 30 for rows in make().train))

def overlapping():
    return changed(test=make().train)

def nameless():
    return changed(client_names=("a",))

def unlabelled():
    return changed(targets=make().targets + 7)

def nan():
    return changed(features=make().features * np.nan)

def empty():
    return changed(train=(np.empty(0, np.int64), *make().train[1:]))

def texts():
    return changed(features=make().features.astype(str))

def nobody():
    return changed(train=(), validation=(), test=())
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "my_federation.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("workers", [1, 2])
def test_functions_of_the_users_own_make_data_and_model(tmp_path, own_module, workers):
    folder, _ = train(
        tmp_path,
        {"name": "my_federation:make"},
        model={"name": "my_federation:net"},
        clients={"batch_size": 8},
        engine={"workers": workers},
    )
    assert open_run(folder.path).summary.honest.users == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stops", "raised SystemExit"),
        ("raises", "raised KeyError: 'no such hospital'"),
        ("negative", "row numbers must lie in 0..59"),
        ("overlapping", "is in more than one place"),
        ("nameless", "it has 3 clients and 1 names"),
        ("unlabelled", "targets must lie in 0..1"),
        ("nan", "features hold NaN or Inf"),
        ("empty", "client 0 has nothing to train on"),
        ("texts", "not numbers"),
        ("nobody", "it has no clients"),
    ],
)
def test_a_federation_that_would_fail_or_lie_is_refused(tmp_path, own_module, name, message):
    with pytest.raises((DataError, SpecError)) as caught:
        train(tmp_path, {"name": f"my_federation:{name}"})
    assert message in str(caught.value)


def test_a_run_in_which_every_round_failed_is_not_a_finished_one(tmp_path, own_module):
    # Batch norm cannot train on a last batch of one example.
    with pytest.raises(FederationStalledError, match="No usable update in any of the 3 rounds"):
        train(
            tmp_path,
            {"name": "my_federation:make"},
            model={"name": "my_federation:net"},
            clients={"batch_size": 5},
        )
    with pytest.raises(FederationStalledError, match="No usable update in any of the 3 rounds"):
        list(execute(RunFolder.open(tmp_path / "run")))
    assert not RunFolder.open(tmp_path / "run").done


def test_made_up_clients_are_pointed_out(tmp_path, hospitals):
    data = {"path": hospitals, "target": "diagnosis", "features": ["area"]}
    _, steps = train(tmp_path, data)
    assert "No data.client is given, so 10 clients are made up" in steps[0].notes[-1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"model": {"name": "my_federation:wrong"}}, "cannot take examples of shape"),
        ({"model": {"name": "my_federation:nothing"}}, "must be a torch.nn.Module"),
        ({"model": {"name": "my_federation:nett"}}, "'net'"),
        ({"data": {"name": "my_federation:nothing"}}, "must return a fedmgda.FederatedData"),
        ({"model": {"name": "no_such_module:net"}}, "there is no module 'no_such_module'"),
    ],
)
def test_functions_that_do_not_fit_are_refused_in_one_sentence(
    tmp_path, own_module, table, message
):
    data = table.pop("data", {"name": "my_federation:make"})
    with pytest.raises(SpecError) as caught:
        train(tmp_path, data, **table)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "diagnosys"}, "'diagnosis'"),
        ({"client": "clinic"}, "clinic"),
        ({"features": ["texture", "weight"]}, "weight"),
    ],
)
def test_a_column_that_does_not_exist_is_named(tmp_path, hospitals, change, message):
    data = {"path": hospitals, "client": "hospital", "target": "diagnosis"} | change
    with pytest.raises((DataError, SpecError), match=message):
        train(tmp_path, data)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", 1.0, "x"]] * 5 + [["a", 2.0, "y"]] * 4, "None of the 1 clients has the 10 rows"),
        ([["a", 1.0, "x"]] * 10, "the target 'x'"),
        ([["a", i * i, "xy"[i % 2]] for i in range(30)] + [["a", "junk", "x"]], "junk"),
        ([], "is empty"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, rows, message):
    path = write_table(tmp_path / "t.csv", ["c", "v", "y"], rows)
    with pytest.raises(DataError, match=message) as caught:
        train(tmp_path, {"path": path, "client": "c", "target": "y"})
    assert "\n" not in str(caught.value)


def test_a_table_that_changed_cannot_be_resumed(tmp_path, hospitals):
    data = {"path": hospitals, "client": "hospital", "target": "diagnosis"}
    spec = resolve(parse(Spec, {"rounds": 5, "data": data}))
    folder = RunFolder.create(tmp_path / "run", spec)
    for step in execute(folder):
        if step.round_num == 2:
            break
    with open(hospitals, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write("Bern,1,1,1,1,1,benign\n")
    with pytest.raises(StoreError, match=r"The data is not what the run in .* began with"):
        list(execute(folder))
