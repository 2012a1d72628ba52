import json
import sys
from pathlib import Path

import numpy as np
import pytest

from fedmgda._errors import DataError, MissingDependencyError
from fedmgda.data import Pixels, load_femnist

SAMPLE = Path(__file__).parents[5] / "shared/data/femnist/leaf_sample_28writers"


def image(number):
    return (np.arange(784) * (number + 1) % 256 / 255).tolist()


def leaf(path, **writers):
    """Write a LEAF file with the images of these numbers, labelled by the number modulo 62."""
    path.parent.mkdir(exist_ok=True)
    content = {
        "users": list(writers),
        "num_samples": [len(numbers) for numbers in writers.values()],
        "user_data": {
            name: {"x": [image(n) for n in numbers], "y": [n % 62 for n in numbers]}
            for name, numbers in writers.items()
        },
    }
    path.write_text(json.dumps(content))
    return content


def test_one_part_is_split_again_for_every_writer(tmp_path):
    leaf(tmp_path / "0_test.json", f2=range(10), f1=range(20, 30))
    leaf(tmp_path / "1_test.json", f3=range(5))
    (tmp_path / "manifest.json").write_text("{}")
    data = load_femnist(tmp_path, seed=0)
    assert data.client_names == ("f1", "f2", "f3")
    assert [len(rows) for rows in data.train] == [8, 8, 3]
    assert [len(rows) for rows in data.validation] == [1, 1, 1]
    assert data.features.shape == (25, 1, 28, 28)
    assert data.features.dtype == np.uint8
    assert data.pixels == Pixels(mean=0.0, std=1.0)
    assert data.num_classes == 62
    own = np.concatenate([data.train[1], data.validation[1], data.test[1]])
    assert sorted(data.targets[own]) == list(range(10))
    for row in own:
        expected = np.array(image(data.targets[row])).reshape(28, 28)
        assert np.allclose(data.features[row, 0] / 255, expected)


@pytest.mark.parametrize(
    "names", [("train/a.json", "test/b.json"), ("0_train.json", "0_test.json")]
)
def test_two_parts_stay_apart(tmp_path, names):
    leaf(tmp_path / names[0], f1=[1, 2, 3], f2=[4, 5])
    leaf(tmp_path / names[1], f2=[6], f1=[7])
    data = load_femnist(tmp_path, seed=0)
    assert [data.targets[rows].tolist() for rows in data.train] == [[1, 2, 3], [4, 5]]
    assert [data.targets[rows].tolist() for rows in data.test] == [[7], [6]]
    assert [len(rows) for rows in data.validation] == [0, 0]


def test_an_image_stored_twice_counts_once_and_stays_in_training(tmp_path):
    leaf(tmp_path / "train.json", f1=[1, 1, 2], f2=[1])
    leaf(tmp_path / "test.json", f1=[1, 3], f2=[2])
    data = load_femnist(tmp_path, seed=0)
    assert [data.targets[rows].tolist() for rows in data.train] == [[1, 2], [1]]
    assert [data.targets[rows].tolist() for rows in data.test] == [[3], [2]]


def test_a_writer_without_a_test_image_is_refused(tmp_path):
    leaf(tmp_path / "train.json", f1=[1, 2], f2=[3])
    leaf(tmp_path / "test.json", f1=[4])
    with pytest.raises(DataError, match=r"Writer 'f2' has no image for testing; .* '-t sample'"):
        load_femnist(tmp_path, seed=0)


def broken(change):
    content = {"users": ["f1"], "user_data": {"f1": {"x": [image(1), image(2)], "y": [1, 2]}}}
    change(content["user_data"]["f1"], content)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "0_test.json cannot be read as JSON"),
        ("[]", "0_test.json is not a LEAF file"),
        (broken(lambda _, content: content.pop("users")), "not a LEAF file.*'users'"),
        (broken(lambda _, content: content["users"].append("f9")), "not a LEAF file.*'f9'"),
        (broken(lambda data, _: data.pop("y")), "not a LEAF file.*'y'"),
        (broken(lambda data, _: data["x"].pop()), "as many images of 784 numbers as labels"),
        (broken(lambda data, _: data["x"][1].pop()), "'f1' in 0_test.json must have as many"),
        (broken(lambda data, _: data["x"][1].append("x")), "must have as many images"),
        (broken(lambda data, _: data.update(x=[], y=[])), "and at least one"),
        (broken(lambda data, _: data["x"][0].__setitem__(3, 1.5)), r"pixel outside \[0, 1\]"),
        (broken(lambda data, _: data["x"][0].__setitem__(3, float("nan"))), "it has NaN"),
        (broken(lambda data, _: data["x"][0].__setitem__(3, 10**400)), "784 numbers"),
        (broken(lambda data, _: data.update(y=[1, 10**400])), "784 numbers"),
        ("[" * 100_000, "it is nested too deeply"),
        ("1" * 5000, "it has a number of more than 4300 digits"),
        (
            broken(lambda data, _: data.update(y=[1, 62])),
            "has the label 62; labels go from 0",
        ),
        (broken(lambda data, _: data.update(y=[1, 0.5])), "has the label 0.5"),
    ],
)
def test_a_file_that_is_not_what_it_seems_is_refused(tmp_path, text, sentence):
    (tmp_path / "0_test.json").write_text(text)
    with pytest.raises(DataError, match=sentence):
        load_femnist(tmp_path, seed=0)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    leaf(tmp_path / "train.json", f1=[1, 2, 3])
    monkeypatch.setattr("fedmgda.data.datasets._leaf._MAX_JSON", 1000)
    with pytest.raises(DataError, match=r"train.json has \d+ bytes, more than 1000"):
        load_femnist(tmp_path, seed=0)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no LEAF .json or TensorFlow Federated .h5 file"):
        load_femnist(tmp_path, seed=0)


def test_hdf5_files_keep_their_natural_split_and_every_image(tmp_path):
    h5py = pytest.importorskip("h5py")
    for part, numbers in (("train", [1, 1, 2]), ("test", [3])):
        with h5py.File(tmp_path / f"fed_emnist_{part}.h5", "w") as file:
            group = file.create_group("examples/f0001_41")
            images = np.array([image(number) for number in numbers], np.float32)
            group["pixels"] = images.reshape(-1, 28, 28)
            group["label"] = np.array(numbers, np.int32)
    data = load_femnist(tmp_path, seed=0)
    assert data.client_names == ("f0001_41",)
    assert data.targets[data.train[0]].tolist() == [1, 1, 2]
    assert data.targets[data.test[0]].tolist() == [3]
    (tmp_path / "fed_emnist_test.h5").write_bytes(b"junk")
    with pytest.raises(DataError, match=r"fed_emnist_test.h5 is not an HDF5 file"):
        load_femnist(tmp_path, seed=0)


def test_without_h5py_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "fed_emnist_train.h5").write_bytes(b"junk")
    with pytest.raises(MissingDependencyError, match="pip install h5py"):
        load_femnist(tmp_path, seed=0)


def test_the_sample_of_twenty_eight_writers_is_read():
    if not SAMPLE.is_dir():
        pytest.skip(f"the 28 LEAF writers are not at {SAMPLE}")
    data = load_femnist(SAMPLE, seed=0)
    assert data.num_clients == 28
    rows = np.concatenate([*data.train, *data.validation, *data.test])
    assert np.array_equal(np.sort(rows), np.arange(1760))  # 1,761, one of them stored twice
    sizes = [sum(map(len, own)) for own in zip(data.train, data.validation, data.test, strict=True)]
    assert (min(sizes), max(sizes)) == (8, 90)
    assert data.features.max() == 255
    assert 0 <= data.targets.min() < data.targets.max() <= 61
