import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import cache_root, load_writers

LABELS = Path(__file__).parents[5] / "shared/data/femnist/qmnist_writer_labels"


def idx(table):
    return struct.pack(">4B2I", 0, 0, 0x0C, 2, *table.shape) + table.astype(">i4").tobytes()


@pytest.fixture
def folders(tmp_path):
    """12 training digits of the writers 70 and 9, and 6 test digits of the writers 9 and 400."""
    rng = np.random.default_rng(0)
    for part, writers in (("train", [70, 9] * 6), ("test", [9, 400, 400] * 2)):
        digits = rng.integers(10, size=len(writers))
        images = rng.integers(256, size=(len(writers), 1, 28, 28), dtype=np.uint8)
        np.save(tmp_path / f"{part}-images.npy", images)
        np.save(tmp_path / f"{part}-labels.npy", digits)
        table = np.zeros((len(writers), 8), np.int64)
        table[:, 0], table[:, 2] = digits, writers
        (tmp_path / f"qmnist-{part}-labels-idx2-int").write_bytes(idx(table))
    return tmp_path


def test_everyone_gets_the_digits_they_wrote(folders):
    data = load_writers(folders, folders, seed=0)
    assert data.name == "writers"
    assert data.client_names == ("9", "70", "400")
    own = [
        np.sort(np.concatenate(rows))
        for rows in zip(data.train, data.validation, data.test, strict=True)
    ]
    assert [rows.tolist() for rows in own] == [
        [1, 3, 5, 7, 9, 11, 12, 15], [0, 2, 4, 6, 8, 10], [13, 14, 16, 17]
    ]  # fmt: skip
    assert data.features.shape == (18, 1, 28, 28)
    assert np.array_equal(data.targets[:12], np.load(folders / "train-labels.npy"))


def test_labels_may_be_compressed(folders):
    for part in ("train", "test"):
        path = folders / f"qmnist-{part}-labels-idx2-int"
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert load_writers(folders, folders, seed=0).num_clients == 3


def test_digits_that_differ_are_refused(folders):
    labels = np.load(folders / "test-labels.npy")
    labels[2] = (labels[2] + 1) % 10
    np.save(folders / "test-labels.npy", labels)
    with pytest.raises(DataError, match=r"The test digits of MNIST .* differ"):
        load_writers(folders, folders, seed=0)


def test_missing_and_damaged_files_are_refused(folders):
    path = folders / "qmnist-test-labels-idx2-int"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match=r"qmnist-test-labels-idx2-int in .* is damaged"):
        load_writers(folders, folders, seed=0)
    path.unlink()
    with pytest.raises(DataError, match=r"no readable qmnist-test-labels-idx2-int .* data fetch"):
        load_writers(folders, folders, seed=0)
    (folders / "train-images.npy").unlink()
    with pytest.raises(DataError, match=r"train-images.npy cannot be read .* data fetch mnist"):
        load_writers(folders, folders, seed=0)


def test_mnist_has_836_writers():
    mnist = cache_root() / "mnist"
    for folder in (LABELS, mnist):
        if not folder.is_dir():
            pytest.skip(f"the writers of MNIST need {folder}")
    data = load_writers(mnist, LABELS, seed=0)
    sizes = [sum(map(len, own)) for own in zip(data.train, data.validation, data.test, strict=True)]
    assert (data.num_clients, sum(sizes)) == (836, 70_000)
    assert (min(sizes), max(sizes), np.median(sizes)) == (8, 131, 104.5)
