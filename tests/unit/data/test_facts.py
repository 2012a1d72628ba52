import numpy as np
import pytest

from fedmgda.data import FederatedData, data_facts

TRAIN = (np.array([0, 1]), np.array([3]))
TEST = (np.array([2]), np.array([4]))


def federation(targets, num_classes):
    none = (np.empty(0, np.int64),) * 2
    return FederatedData(
        name="small",
        features=np.zeros((5, 2), np.float32),
        targets=targets,
        train=TRAIN,
        validation=none,
        test=TEST,
        num_classes=num_classes,
    )


def test_the_training_examples_of_each_class_are_counted():
    data = federation(np.array([0, 2, 1, 2, 1]), 4)
    assert data_facts(data).target_sums.tolist() == [1, 0, 2, 0]


def test_a_regression_has_the_count_sum_and_squares_of_its_training_targets():
    data = federation(np.array([0.5, -1, 100, 3, 100], np.float32), None)
    assert data_facts(data).target_sums == pytest.approx([3, 2.5, 10.25])
