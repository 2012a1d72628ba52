"""What a finished run leaves behind, as bytes and back."""

from dataclasses import replace

import numpy as np
import pytest

from fedmgda.experiments._npz import npz_bytes
from fedmgda.experiments._results import (
    model_bytes,
    predictions_bytes,
    read_model,
    read_predictions,
)
from fedmgda.values import Predictions, Tensor


def outputs_of(num_classes, number=7):
    rng = np.random.default_rng(1)
    return Predictions(
        rows=np.arange(number),
        clients=np.arange(number) % 2,
        targets=np.arange(number) % num_classes,
        outputs=rng.normal(size=(number, num_classes)).astype(np.float32) * 50,
    )


@pytest.mark.parametrize("num_classes", [2, 32, 33, 100])
def test_probabilities_are_kept_of_few_classes(num_classes):
    given = outputs_of(num_classes)
    found = read_predictions(predictions_bytes(given, num_classes))
    assert (found.probabilities is not None) == (num_classes <= 32)
    assert found.predictions.tolist() == given.outputs.argmax(axis=1).tolist()
    assert found.targets.tolist() == given.targets.tolist()
    assert np.isfinite(found.losses).all()
    assert (found.losses >= 0).all()


def test_a_model_that_diverged_predicts_nan_and_is_no_error():
    given = outputs_of(3)
    given.outputs[0] = np.nan
    given.outputs[1] = np.inf
    found = read_predictions(predictions_bytes(given, 3))
    assert np.isnan(found.losses[:2]).all()
    assert np.isfinite(found.losses[2:]).all()


@pytest.mark.parametrize(
    ("shape", "num_classes", "kept"),
    [((7, 5), 3, True), ((7, 2), 3, False), ((7, 2), None, False), ((7, 3, 3), 3, False),
     ((7, 1), None, True)],
)  # fmt: skip
def test_outputs_of_any_other_form_are_not_kept(shape, num_classes, kept):
    given = replace(outputs_of(3), outputs=np.ones(shape, np.float32))
    assert (predictions_bytes(given, num_classes) is not None) == kept


def test_a_value_beyond_float32_is_infinite_and_no_warning():
    given = replace(outputs_of(3), outputs=np.full((7, 1), 1e30, np.float32))
    assert np.isinf(read_predictions(predictions_bytes(given, None)).losses).all()


@pytest.mark.parametrize("num_classes", [3, None])
def test_nobody_to_test_is_no_error(num_classes):
    nobody = outputs_of(num_classes or 1, 0)
    assert len(read_predictions(predictions_bytes(nobody, num_classes)).rows) == 0


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"rows": np.arange(3)}, "an array is missing"),
        (dict.fromkeys(("rows", "clients", "targets", "predictions"), np.arange(3))
         | {"losses": np.zeros(2)}, "differ in length"),
        (dict.fromkeys(("rows", "clients", "targets", "predictions", "losses"), np.zeros((3, 2))),
         "differ in length"),
    ],
)  # fmt: skip
def test_predictions_that_do_not_fit_together_are_refused(arrays, reason):
    with pytest.raises(ValueError, match=reason):
        read_predictions(npz_bytes(arrays))


def test_a_model_is_named_as_in_its_layout():
    layout = (
        Tensor(name="weight", shape=(2, 1), start=0),
        Tensor(name="tied", shape=(2, 1), start=0),
        Tensor(name="counter", shape=(1,), value=np.array([7])),
    )
    arrays = read_model(model_bytes(np.array([1.0, 2.0], np.float32), layout))
    assert arrays["tied"].tolist() == arrays["weight"].tolist() == [[1.0], [2.0]]
    assert arrays["counter"].tolist() == [7]


@pytest.mark.parametrize("junk", [b"", b"x", bytes(99)])
def test_what_is_no_model_is_refused(junk):
    with pytest.raises(ValueError, match=r".+"):
        read_model(junk)
