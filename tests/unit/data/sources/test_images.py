import mmap
import time

import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import Pixels
from fedmgda.data.sources import (
    _images,
    catalogue,
    dataset_folder,
    load_cifar10,
    load_fashion_mnist,
    load_mnist,
    verify,
)

LOADERS = {"cifar10": load_cifar10, "fashion-mnist": load_fashion_mnist, "mnist": load_mnist}


@pytest.fixture
def small(cache, monkeypatch):
    """Put three images of CIFAR-10's form into a cache of their own."""
    folder = cache / "cifar10"
    folder.mkdir(parents=True)
    np.save(folder / "train-images.npy", np.zeros((3, 3, 32, 32), np.uint8))
    np.save(folder / "train-labels.npy", np.arange(3))
    (folder / "manifest.json").write_text('{"format": 1}')
    monkeypatch.setitem(_images._SIZES, "cifar10", {"train": 3})
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


@pytest.mark.parametrize("name", [dataset.name for dataset in catalogue()])
def test_what_is_cached_here_is_the_official_content(name):
    try:
        report = verify(name)
    except DataError as error:
        pytest.skip(str(error))
    assert report.ok, [check for check in report.checks if not check.ok]
