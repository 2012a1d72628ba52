import json
import struct

import numpy as np
import pytest

from fedmgda.data.datasets import _cifar_forms
from fedmgda.data.datasets._cifar_forms import (
    BATCHES,
    from_png_package,
    from_python,
    from_python_archive,
    restore_cifar,
    store_cifar,
)
from fedmgda.data.sources._origin import SourceError
from unit.data.sources._toys import tar_of

ROWS = 3


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(_cifar_forms, "_ROWS", ROWS)


@pytest.fixture
def folders(tmp_path):
    for name in ("raw", "cached"):
        (tmp_path / name).mkdir()
    return tmp_path / "raw", tmp_path / "cached"


def batches():
    """Return labels and pixels of six batches: `(6, 3)` and `(6, 3, 3, 32, 32)`."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 10, (6, ROWS)), rng.integers(0, 256, (6, ROWS, 3, 32, 32), np.uint8)


def binary(labels, pixels):
    rows = zip(labels, pixels, strict=True)
    return b"".join(bytes([label]) + image.tobytes() for label, image in rows)


def python_batch(labels, pixels):
    """Return a batch as Python 2 wrote it: protocol 2, the pixels as one string."""

    def text(content):
        return b"T" + struct.pack("<i", len(content)) + content

    numbers = b"".join(b"K" + bytes([label]) for label in labels)
    array = text(pixels.tobytes()) + b"K\x03"  # a number that is no label
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + b"](" + numbers + b"eu."


def test_what_is_stored_gives_the_official_batches_back(folders):
    raw, cached = folders
    labels, pixels = batches()
    for name, digits, images in zip(BATCHES, labels, pixels, strict=True):
        (raw / name).write_bytes(binary(digits, images))
    store_cifar(raw, cached)
    for name in BATCHES:
        assert restore_cifar(cached, name) == (raw / name).read_bytes()
    train = np.load(cached / "train-images.npy", allow_pickle=False)
    assert np.array_equal(train, pixels[:5].reshape(-1, 3, 32, 32))


def test_the_python_edition_is_read_without_running_it(folders, tmp_path):
    raw, _ = folders
    labels, pixels = batches()
    members = {
        f"cifar-10-batches-py/{name.removesuffix('.bin')}": python_batch(digits, images)
        for name, digits, images in zip(BATCHES, labels, pixels, strict=True)
    }
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(tar_of(members))
    from_python_archive(tmp_path / "cifar-10-python.tar.gz", raw)
    for name, digits, images in zip(BATCHES, labels, pixels, strict=True):
        assert (raw / name).read_bytes() == binary(digits, images)


@pytest.mark.parametrize("content", [b"", b"text", python_batch([1, 2], batches()[1][0])])
def test_a_file_that_is_no_python_batch_is_refused(folders, tmp_path, content):
    (tmp_path / "data_batch_1").write_bytes(content)
    with pytest.raises(SourceError, match=r"data_batch_1 (cannot be read|is not a batch)"):
        from_python(tmp_path / "data_batch_1", folders[0])


def test_a_pickle_that_would_run_code_runs_nothing(folders, tmp_path):
    evil = b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR."
    (tmp_path / "data_batch_1").write_bytes(evil)
    with pytest.raises(SourceError):
        from_python(tmp_path / "data_batch_1", folders[0])
    assert not (tmp_path / "ran").exists()


def png_package(labels, pixels, tmp_path, *, train_labels=None):
    image = pytest.importorskip("PIL.Image")
    members = {}
    for name, images in zip(BATCHES, pixels, strict=True):
        path = tmp_path / name.replace(".bin", ".png")
        rows = images.reshape(ROWS, 3, 1024).transpose(0, 2, 1)
        image.fromarray(np.ascontiguousarray(rows)).save(path)
        members[f"package/{path.name}"] = path.read_bytes()
    train = labels[:5].ravel().tolist() if train_labels is None else train_labels
    members["package/train_lables.json"] = json.dumps(train).encode()
    members["package/test_lables.json"] = json.dumps(labels[5].tolist()).encode()
    return members


def test_pictures_become_the_official_batches(folders, tmp_path):
    raw, _ = folders
    labels, pixels = batches()
    archive = tmp_path / "package.tgz"
    archive.write_bytes(tar_of(png_package(labels, pixels, tmp_path)))
    from_png_package(archive, raw)
    for name, digits, images in zip(BATCHES, labels, pixels, strict=True):
        assert (raw / name).read_bytes() == binary(digits, images)


def test_pictures_that_are_not_what_they_should_be_are_refused(folders, tmp_path):
    labels, pixels = batches()
    archive = tmp_path / "package.tgz"
    members = png_package(labels, pixels, tmp_path)
    broken = members | {"package/data_batch_2.png": members["package/data_batch_2.png"][:200]}
    archive.write_bytes(tar_of(broken))
    with pytest.raises(SourceError, match=r"data_batch_2.png is not a whole picture"):
        from_png_package(archive, folders[0])
    archive.write_bytes(tar_of(png_package(labels, pixels, tmp_path, train_labels=[1, 2])))
    with pytest.raises(SourceError, match=r"train_lables.json is not the list of 15 labels"):
        from_png_package(archive, folders[0])
