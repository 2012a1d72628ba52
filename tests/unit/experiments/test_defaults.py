from dataclasses import fields

import pytest

from fedmgda._errors import SpecError
from fedmgda.data import DATASETS, PARTITIONS
from fedmgda.experiments import Spec, build_data, parse, resolve
from fedmgda.experiments._defaults import data_settings
from fedmgda.experiments._spec import DataSpec


def resolved(**table):
    return resolve(parse(Spec, table))


@pytest.mark.parametrize(
    ("name", "partition", "num_clients", "model"),
    [
        ("digits", "shards", 20, "mlp"),
        ("fashion-mnist", "shards", 100, "fmnist-cnn"),
        ("cifar10", "shards", 100, "cifar-cnn"),
        ("adult", "natural", None, "logistic"),
        ("shakespeare", "natural", 31, "char-lstm"),
        ("femnist", "natural", None, "femnist-cnn"),
        ("writers", "natural", None, "femnist-cnn"),
        ("synthetic", "natural", 30, "logistic"),
        ("quadratics", "natural", 10, "linear"),
    ],
)
def test_a_name_alone_is_a_whole_federation(name, partition, num_clients, model):
    spec = resolved(data={"name": name})
    assert (spec.data.partition, spec.data.num_clients) == (partition, num_clients)
    assert spec.model.name == model
    assert resolve(spec) == spec


def test_the_released_code_changes_the_data():
    released = {"compat": "released-code"}
    fashion = resolved(data={"name": "fashion-mnist"}, **released).data
    assert (fashion.shards_per_client, fashion.local_split) == (3, "tail")
    assert resolved(data={"name": "fashion-mnist"}).data.shards_per_client == 5
    assert resolved(data={"name": "adult"}, **released).data.index_shift == 1
    assert resolved(data={"name": "adult"}).data.index_shift == 0
    assert resolved(data={"name": "shakespeare"}, **released).data.local_split == "random"
    assert resolved(data={"name": "cifar10"}, **released).data.local_split == "tail"
    evaluation = resolved(**released).evaluation
    assert (evaluation.offset, evaluation.last) == (1, False)
    assert (resolved().evaluation.offset, resolved().evaluation.last) == (0, True)


def test_a_path_means_a_table():
    data = resolved(data={"path": "a.csv", "target": "y"}).data
    assert (data.name, data.partition, data.num_clients) == ("table", "iid", 10)
    data = resolved(data={"path": "a.csv", "target": "y", "client": "c"}).data
    assert (data.partition, data.num_clients) == ("natural", None)
    assert resolved(data={"path": "a.npz"}).data.partition == "natural"
    regression = resolved(data={"path": "a.csv", "target": "y", "task": "regression"})
    assert regression.model.name == "linear"


def test_another_partition_keeps_the_number_of_clients_and_brings_its_own_options():
    data = resolved(data={"name": "cifar10", "partition": "dirichlet"}).data
    assert (data.num_clients, data.alpha, data.shards_per_client) == (100, 0.5, None)
    data = resolved(data={"name": "digits", "partition": "label-quantity"}).data
    assert (data.num_clients, data.classes_per_client) == (20, 2)


def test_an_entry_is_a_name():
    spec = resolved(data={"name": "my.module:make"}, model={"name": "my.module:net"})
    assert (spec.data.name, spec.model.name) == ("my.module:make", "my.module:net")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"data": {"name": "digit"}}, "did you mean 'digits'?"),
        ({"data": {"name": "digits", "alpha": 1.0}}, "data.alpha does not apply to 'digits' with"),
        ({"data": {"name": "adult", "num_clients": 3}}, "num_clients does not apply to 'adult'"),
        ({"data": {"name": "digits", "path": "x.csv"}}, "data.path does not apply to 'digits'"),
        ({"data": {"name": "table"}}, "data.path is needed for a table"),
        ({"data": {"path": "x.csv"}}, "data.target is needed for a table"),
        ({"data": {"path": "x.csv", "target": "y", "partition": "natural"}}, "needs data.client"),
        ({"data": {"name": "digits", "partition": "natural"}}, "has no clients of its own"),
        ({"data": {"name": "adult", "partition": "iid"}}, "The clients of 'adult' are given"),
        ({"data": {"name": "digits", "local_split": "temporal"}}, "use 'shuffled' or 'tail'"),
        ({"data": {"name": "shakespeare", "local_split": "tail"}}, "use 'random' or 'temporal'"),
        ({"model": {"name": "logistic", "hidden": [3]}}, "model.hidden does not apply"),
        ({"model": {"hidden": [0]}}, "Each of model.hidden must lie in [1, 1e+06], got 0."),
        ({"server": {"curvature": 1.0}}, "applies to server.schedule = 'harmonic' only"),
    ],
)  # fmt: skip
def test_a_key_that_would_be_ignored_is_refused(table, message):
    with pytest.raises(SpecError) as caught:
        resolved(**table)
    assert message in str(caught.value)


MEANS = {
    "digits": "shards 20 shards_per_client=2 local_split=shuffled|tail",
    "adult": "natural None index_shift=0|1 local_split=tail|tail",
    "fashion-mnist": "shards 100 shards_per_client=5|3 local_split=shuffled|tail",
    "cifar10": "shards 100 shards_per_client=5 local_split=shuffled|tail",
    "shakespeare": "natural 31 local_split=temporal|random",
    "mnist": "shards 100 shards_per_client=5 local_split=shuffled|tail",
    "writers": "natural None",
    "femnist": "natural None",
    "synthetic": "natural 30 alpha=1.0 beta=1.0",
    "quadratics": "natural 10",
    "table": "natural None local_split=shuffled|tail path=a.npz min_rows=10",
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_name_means_these_settings_in_paper_and_released_code(name):
    partition, clients, *others = MEANS[name].split()
    for released, compat in enumerate(["paper", "released-code"]):
        given = {"path": "a.npz"} if name == "table" else {}
        data = data_settings(resolved(data={"name": name, **given}, compat=compat).data)
        expected = {"name": name, "partition": partition, "num_clients": clients}
        for key, _, value in (other.partition("=") for other in others):
            expected[key] = value.split("|")[released if "|" in value else 0]
        assert {
            key: str(value) for key, value in ({"num_clients": None} | data).items()
        } == expected


def test_every_record_speaks_the_language_of_the_spec():
    keys = {f.name for f in fields(DataSpec)}
    for dataset in DATASETS.values():
        assert {*dataset.settings, *dataset.options, *dataset.released} <= keys
    for partition in PARTITIONS.values():
        assert set(partition.settings) <= keys


@pytest.mark.parametrize("partition", [name for name in PARTITIONS if name != "natural"])
def test_every_partition_deals_the_digits(partition):
    data, notes = build_data(resolved(data={"name": "digits", "partition": partition}))
    assert (data.num_clients, notes) == (20, ())
    assert (
        sum(len(rows) for split in (data.train, data.validation, data.test) for rows in split)
        == 1797
    )


@pytest.mark.parametrize("partition", PARTITIONS)
def test_partitions_that_deal_classes_are_refused_for_a_regression(partition, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("c,x,y\n" + "".join(f"{i % 3},{i * i},{i / 7}\n" for i in range(120)))
    client = {"client": "c"} if partition == "natural" else {"features": ["x"]}
    spec = resolved(data={"path": str(path), "target": "y", "partition": partition, **client})
    if not PARTITIONS[partition].by_class:
        assert build_data(spec)[0].num_classes is None
        return
    with pytest.raises(SpecError, match="is a number; use 'iid', 'quantity-skew' or 'natural'"):
        build_data(spec)
