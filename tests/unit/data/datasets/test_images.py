import gzip
import mmap
import time

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from fedmgda._errors import DataError
from fedmgda.data import (
    DATASETS,
    Pixels,
    dataset_folder,
    load_cifar10,
    load_fashion_mnist,
    load_mnist,
    verify,
)
from fedmgda.data.datasets import _cifar10
from fedmgda.data.datasets._images import IDX_FILES, read_idx, restore_idx, store_idx, write_idx
from fedmgda.data.sources._origin import SourceError
from unit.data.sources._toys import ar_of, tar_of

arrays = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))

LOADERS = {"cifar10": load_cifar10, "fashion-mnist": load_fashion_mnist, "mnist": load_mnist}


@pytest.fixture
def small(cache, monkeypatch):
    """Put three images of CIFAR-10's form into a cache of their own."""
    folder = cache / "cifar10"
    folder.mkdir(parents=True)
    np.save(folder / "train-images.npy", np.zeros((3, 3, 32, 32), np.uint8))
    np.save(folder / "train-labels.npy", np.arange(3))
    (folder / "manifest.json").write_text('{"format": 1, "source": "here", "files": {}}')
    monkeypatch.setitem(_cifar10._ROWS, "train", 3)
    return folder


def test_images_are_mapped_and_not_copied(small):
    data = load_cifar10()
    assert isinstance(data.features.base, mmap.mmap)
    assert isinstance(data.targets.base, mmap.mmap)
    assert data.pixels == Pixels(mean=0.5, std=0.5)
    assert data.num_classes == 10


@pytest.mark.parametrize("spoil", ["truncate", "junk", "shape", "pickle", "remove"])
def test_a_damaged_array_is_one_sentence_with_the_command(small, spoil):
    path = small / "train-images.npy"
    match spoil:
        case "truncate":
            path.write_bytes(path.read_bytes()[:-1])
        case "junk":
            path.write_bytes(b"junk")
        case "shape":
            np.save(path, np.zeros((2, 3, 32, 32), np.uint8))
        case "pickle":
            np.save(path, np.array([print], dtype=object), allow_pickle=True)
        case "remove":
            path.unlink()
    with pytest.raises(
        DataError, match=r"train-images.npy is damaged.*data fetch cifar10"
    ) as error:
        load_cifar10()
    assert "\n" not in str(error.value)


@pytest.fixture(params=LOADERS)
def real(request):
    try:
        dataset_folder(request.param)
    except DataError as error:
        pytest.skip(str(error))
    return request.param


def test_the_real_images_have_their_official_sizes(real):
    for part, rows in {"train": 50_000 if real == "cifar10" else 60_000, "test": 10_000}.items():
        data = LOADERS[real](part)
        shape = (3, 32, 32) if real == "cifar10" else (1, 28, 28)
        assert data.features.shape == (rows, *shape)
        counts = np.bincount(data.targets)
        assert len(counts) == 10
        assert real == "mnist" or set(counts) == {rows // 10}


def test_the_second_load_takes_milliseconds(real):
    LOADERS[real]()
    start = time.perf_counter()
    LOADERS[real]()
    assert time.perf_counter() - start < 0.1


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.origin])
def test_what_is_cached_here_is_the_official_content(name):
    try:
        report = verify(name)
    except DataError as error:
        pytest.skip(str(error))
    assert report.ok, [check for check in report.checks if not check.ok]


@given(arrays)
def test_reading_undoes_writing(array):
    again = read_idx(write_idx(array), "file")
    assert again.shape == array.shape
    assert np.array_equal(again, array)


@given(arrays, st.data())
def test_a_file_of_another_length_is_refused(array, data):
    content = write_idx(array)
    other = data.draw(st.sampled_from([content + b"\0", content[:-1], content[:3]]))
    with pytest.raises(SourceError, match=r"file (is not an idx file|has .* bytes)"):
        read_idx(other, "file")


def test_whole_numbers_of_four_bytes_are_read_too():
    header = bytes([0, 0, 0x0C, 2]) + (2).to_bytes(4) + (3).to_bytes(4)
    numbers = np.arange(6, dtype=">i4").reshape(2, 3)
    assert np.array_equal(read_idx(header + numbers.tobytes(), "file"), numbers)


def test_what_is_stored_gives_the_official_files_back(tmp_path):
    raw, folder = tmp_path / "raw", tmp_path / "folder"
    raw.mkdir()
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in IDX_FILES:
        shape = (7, 4, 5) if "images" in name else (7,)
        (raw / name).write_bytes(write_idx(rng.integers(0, 256, shape)))
    store_idx(raw, folder)
    for name in IDX_FILES:
        assert restore_idx(folder, name) == (raw / name).read_bytes()
    images = np.load(folder / "train-images.npy", mmap_mode="r", allow_pickle=False)
    labels = np.load(folder / "train-labels.npy", mmap_mode="r", allow_pickle=False)
    assert (images.shape, images.dtype) == ((7, 1, 4, 5), np.uint8)
    assert (labels.shape, labels.dtype) == ((7,), np.int64)


def test_the_debian_package_holds_the_four_idx_files_zipped(tmp_path):
    place = "./usr/share/datasets/fashion-mnist"
    data = tar_of({f"{place}/{name}.gz": gzip.compress(name.encode()) for name in IDX_FILES})
    package = tmp_path / "dataset-fashion-mnist_1_all.deb"
    package.write_bytes(ar_of({"debian-binary": b"2.0\n", "data.tar.gz": data}))
    (tmp_path / "raw").mkdir()
    DATASETS["fashion-mnist"].origin.forms["dataset-fashion-mnist*.deb"](package, tmp_path / "raw")
    found = {path.name: path.read_text() for path in (tmp_path / "raw").iterdir()}
    assert found == {name: name for name in IDX_FILES}
