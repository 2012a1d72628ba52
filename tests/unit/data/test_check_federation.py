from dataclasses import replace

import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import FederatedData, check_federation, quadratic_federation


def classified(**changes):
    """Return six examples of two clients that are as they should be, but for the changes."""
    data = FederatedData(
        name="mine",
        features=np.zeros((6, 2), np.float32),
        targets=np.array([0, 1, 0, 1, 0, 1]),
        train=(np.array([0]), np.array([3])),
        validation=(np.array([1]), np.array([4])),
        test=(np.array([2]), np.array([5])),
        num_classes=2,
    )
    return replace(data, **changes)


def test_data_that_is_as_it_should_be_passes():
    check_federation(classified())
    check_federation(classified(client_names=("a", "b")))
    check_federation(classified(validation=(np.array([], np.float64),) * 2))
    check_federation(quadratic_federation(2, 2, seed=0))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"features": [[0.0, 0.0]] * 6}, "features and targets must be NumPy arrays"),
        ({"targets": [0, 1] * 3}, "features and targets must be NumPy arrays"),
        ({"features": np.zeros(6)}, r"features have shape (6,) and targets (6,)"),
        ({"features": np.zeros((5, 2))}, r"features have shape (5, 2) and targets (6,)"),
        ({"features": np.full((6, 2), "x")}, "features are <U1 and targets int64, not numbers"),
        ({"targets": np.ones(6, bool)}, "targets bool, not numbers"),
        ({"features": np.full((6, 2), np.inf)}, "features hold NaN or Inf"),
        ({"num_classes": None}, "the targets of a regression must be finite floats"),
        ({"num_classes": None, "targets": np.full(6, np.nan)}, "must be finite floats"),
        ({"num_classes": 1}, "num_classes is 1, and there is nothing to tell apart"),
        ({"targets": np.zeros(6)}, "targets are float64; class numbers are whole (int64)"),
        ({"targets": np.arange(6)}, "targets must lie in 0..1"),
        ({"targets": np.array([0, 1, 0, 1, 0, -1])}, "targets must lie in 0..1"),
        ({"train": (), "validation": (), "test": ()}, "it has no clients"),
        ({"test": (np.array([2]),)}, "its splits have train 2, validation 2, test 1 clients"),
        ({"client_names": ("a",)}, "it has 2 clients and 1 names"),
        ({"train": (np.array([0]), np.array([], int))}, "client 1 has nothing to train on"),
        ({"train": (np.array([0.0]), np.array([3]))}, "must be a vector of whole numbers"),
        ({"train": (np.array([[0]]), np.array([3]))}, "must be a vector of whole numbers"),
        ({"train": (np.array([-1]), np.array([3]))}, "row numbers must lie in 0..5"),
        ({"train": (np.array([0]), np.array([6]))}, "row numbers must lie in 0..5"),
        ({"train": (np.array([0]), np.array([0]))}, "row 0 is in more than one place"),
    ],
)
def test_data_that_would_fail_or_lie_later_is_refused_in_one_sentence(changes, problem):
    with pytest.raises(DataError) as caught:
        check_federation(classified(**changes))
    assert str(caught.value).startswith("The data 'mine' cannot be used: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
