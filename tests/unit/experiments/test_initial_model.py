"""`model.init`: a run that starts where another one ended."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fedmgda._errors import DataError, SpecError, StoreError
from fedmgda.experiments import RunFolder, Spec, execute, open_run, parse, resolve
from fedmgda.values import Tensor, flat_vector, named_arrays

DATA = {"data": {"name": "synthetic", "num_clients": 5}, "clients": {"per_round": 3}}


def carried_out(path, **changes):
    spec = resolve(parse(Spec, DATA | {"rounds": 2} | changes))
    folder = RunFolder.create(path, spec)
    for _ in execute(folder):
        pass
    return open_run(path)


@pytest.fixture
def first(tmp_path):
    return carried_out(tmp_path / "first")


@pytest.mark.parametrize("place", ["first", "first/model.safetensors"])
def test_it_begins_with_the_model_the_other_ended_with(tmp_path, first, place):
    second = carried_out(tmp_path / "second", model={"init": str(tmp_path / place)})
    start, end = second.evaluations[0], first.evaluations[-1]
    np.testing.assert_array_equal(start.losses, end.losses)
    done = json.loads((first.path / "DONE").read_text())
    assert second.environment.init == done["files"]["model.safetensors"]["sha256"]


def test_a_resume_needs_the_same_file(tmp_path, first):
    place = str(tmp_path / "first" / "model.safetensors")
    carried_out(tmp_path / "second", model={"init": place})
    for name in ("DONE", "evaluations.jsonl", "rounds.jsonl"):
        (tmp_path / "second" / name).unlink()
    for checkpoint in (tmp_path / "second" / "checkpoints").iterdir():
        checkpoint.unlink()
    arrays = {name: array + 1 for name, array in load_file(place).items()}
    save_file(arrays, place)
    with pytest.raises(StoreError, match=r"The file of model.init is not the one the run"):
        list(execute(RunFolder.open(tmp_path / "second")))


def test_another_model_is_refused(tmp_path, first):
    del first
    with pytest.raises(SpecError, match="does not fit the model: the tensor"):
        carried_out(tmp_path / "x", model={"name": "mlp", "init": str(tmp_path / "first")})


def test_a_place_without_a_model_is_refused(tmp_path, first):
    with pytest.raises(DataError, match="there is no such run folder or file"):
        carried_out(tmp_path / "x", model={"init": str(tmp_path / "nowhere")})
    (first.path / "DONE").unlink()
    with pytest.raises(DataError, match="is not finished; finish it first"):
        carried_out(tmp_path / "y", model={"init": str(first.path)})
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(SpecError, match="does not fit the model"):
        carried_out(tmp_path / "z", model={"init": str(tmp_path / "junk")})


LAYOUT = (
    Tensor(name="weight", shape=(2, 2), start=0), Tensor(name="bias", shape=(2,), start=4),
    Tensor(name="seen", shape=(), value=np.array(7)),
)  # fmt: skip


def test_naming_and_flattening_undo_each_other():
    vector = np.arange(6, dtype=np.float32)
    arrays = named_arrays(LAYOUT, vector)
    np.testing.assert_array_equal(flat_vector(LAYOUT, arrays), vector)
    assert arrays["seen"].item() == 7


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bias": None}, "the tensor 'bias' is in the model only"),
        ({"more": np.ones(2)}, "the tensor 'more' is in it only"),
        ({"bias": np.ones(3)}, r"the tensor 'bias' has shape \(3,\), not \(2,\)"),
        ({"bias": np.array([1.0, np.nan])}, "the tensor 'bias' holds what is no finite number"),
        ({"bias": np.array([1, 2])}, "the tensor 'bias' holds what is no finite number"),
    ],
)
def test_what_does_not_fit_is_named(change, sentence):
    arrays = named_arrays(LAYOUT, np.arange(6)) | change
    with pytest.raises(ValueError, match=sentence):
        flat_vector(LAYOUT, {name: array for name, array in arrays.items() if array is not None})
