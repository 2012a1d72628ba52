import numpy as np
import pytest

from fedmgda.rules import center_weights


def test_by_examples_is_in_proportion_to_the_counts():
    assert center_weights("examples", np.array([1, 0, 3])).tolist() == [0.25, 0.0, 0.75]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([0.0, 0.0], "num_examples must have a positive, finite sum, got 0"),
        ([1e308, 1e308], "num_examples must have a positive, finite sum, got inf"),
        ([2.0, -1.0], "num_examples must be finite and zero or positive, got -1 in row 1"),
        ([np.nan, 1.0], "num_examples must be finite and zero or positive, got nan in row 0"),
        ([1.0, np.inf], "num_examples must be finite and zero or positive, got inf in row 1"),
    ],
)
def test_counts_that_make_no_weights_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        center_weights("examples", np.array(counts))


def test_a_uniform_center_does_not_read_the_counts():
    assert center_weights("uniform", np.array([np.nan, -1.0])).tolist() == [0.5, 0.5]


def test_nobody_has_no_weights():
    assert center_weights("examples", np.zeros(0)).shape == (0,)


def test_a_misspelt_center_is_refused_with_the_names():
    with pytest.raises(
        ValueError, match="center must be one of 'uniform', 'examples', got 'exmples'"
    ):
        center_weights("exmples", np.ones(2))
