"""Every record loads its data from the cache, or says which command brings it there."""

import gzip
import json
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from fedmgda._errors import DataError, MissingDependencyError
from fedmgda.data import DATASETS, Examples, FederatedData, is_cached
from fedmgda.data.datasets import _cifar10, _digits, _mnist

CACHED = [name for name, dataset in DATASETS.items() if dataset.origin]


def load(name, **settings):
    return DATASETS[name].load({"name": name, **DATASETS[name].settings, **settings}, 0)


def keep(cache, name, **arrays):
    folder = cache / name
    folder.mkdir(parents=True)
    for key, array in arrays.items():
        np.save(folder / f"{key.replace('_', '-')}.npy", array)
    (folder / "manifest.json").write_text('{"format": 1, "source": "here", "files": {}}')
    return folder


@pytest.mark.parametrize("name", CACHED)
def test_data_that_is_not_cached_names_the_command(cache, name):
    if name == "writers":
        keep(cache, "mnist")
    with pytest.raises(DataError, match=rf"not in the cache .* fedmgda data (fetch|import) {name}"):
        load(name)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("mnist", (1, 28, 28)), ("fashion-mnist", (1, 28, 28)), ("cifar10", (3, 32, 32))],
)
def test_images_are_examples_to_be_dealt(cache, monkeypatch, name, shape):
    monkeypatch.setitem(_mnist._ROWS, "train", 4)
    monkeypatch.setitem(_cifar10._ROWS, "train", 4)
    keep(cache, name, train_images=np.ones((4, *shape), np.uint8), train_labels=np.arange(4))
    data = load(name)
    assert isinstance(data, Examples)
    assert (data.name, data.features.shape, data.num_classes) == (name, (4, *shape), 10)


def test_writers_need_both_caches(cache):
    digits = np.arange(12) % 3
    arrays = {"train_images": np.zeros((12, 1, 28, 28), np.uint8), "train_labels": digits}
    arrays |= {"test_images": arrays["train_images"], "test_labels": digits}
    keep(cache, "mnist", **arrays)
    folder = keep(cache, "writers")
    table = np.zeros((12, 8), np.int64)
    table[:, 0], table[:, 2] = digits, np.arange(12) % 2
    content = struct.pack(">4B2I", 0, 0, 0x0C, 2, *table.shape) + table.astype(">i4").tobytes()
    for part in ("train", "test"):
        (folder / f"qmnist-{part}-labels-idx2-int.gz").write_bytes(gzip.compress(content))
    data = load("writers")
    assert isinstance(data, FederatedData)
    assert (data.num_clients, len(data.targets)) == (2, 24)


def test_femnist_comes_from_the_cache_or_from_a_path(cache, tmp_path):
    users = {"x": [[1.0] * 784, [0.5] * 784, [0.25] * 784], "y": [1, 2, 3]}
    leaf = json.dumps({"users": ["f1"], "num_samples": [3], "user_data": {"f1": users}})
    (keep(cache, "femnist") / "all_data_0.json").write_text(leaf)
    assert load("femnist").client_names == ("f1",)
    elsewhere = tmp_path / "leaf"
    elsewhere.mkdir()
    (elsewhere / "all_data_0.json").write_text(leaf.replace("f1", "f2"))
    assert load("femnist", path=str(elsewhere)).client_names == ("f2",)


@pytest.mark.parametrize("name", ["adult", "shakespeare"])
def test_a_small_text_that_is_not_the_official_one_is_refused(cache, name):
    folder = keep(cache, name)
    for file in DATASETS[name].origin.files:
        (folder / file).write_text("something else")
    with pytest.raises(
        DataError, match=r"is not what it should be; .* fedmgda data fetch"
    ) as error:
        load(name)
    assert str(error.value).endswith(f"fedmgda data fetch {name}")


@pytest.mark.parametrize(
    ("name", "clients", "examples"),
    [
        ("adult", 2, 48_842),
        ("shakespeare", 31, 116_222),
        ("fashion-mnist", None, 60_000),
        ("cifar10", None, 50_000),
    ],
)
def test_the_official_data_has_these_sizes(name, clients, examples):
    if not is_cached(name):
        pytest.skip(f"{name} is not in the cache")
    data = load(name)
    assert len(data.targets) == examples
    assert clients is None or data.num_clients == clients


def test_the_digits_need_scikit_learn(monkeypatch):
    monkeypatch.setattr(_digits, "find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match="The digits come with scikit-learn"):
        load("digits")


def test_digits_that_cannot_be_read_are_named(monkeypatch, tmp_path):
    found = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(_digits, "find_spec", lambda _: found)
    with pytest.raises(DataError, match=r"digits.csv.gz cannot be read .* install scikit-learn"):
        load("digits")
