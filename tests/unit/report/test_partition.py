import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import FederatedData, quadratic_federation
from fedmgda.report._partition import label_counts, partition_heatmap


def federation(*, names=None):
    return FederatedData(
        name="toy",
        features=np.zeros((6, 2), np.float32),
        targets=np.array([0, 0, 2, 1, 2, 2]),
        train=(np.array([0, 1, 2]), np.array([3, 4])),
        validation=(np.array([5]), np.array([], np.int64)),
        test=(np.array([], np.int64), np.array([], np.int64)),
        num_classes=4,
        client_names=names,
    )


def test_training_examples_are_counted_by_class_and_client():
    assert label_counts(federation()).tolist() == [[2, 0], [0, 1], [1, 1], [0, 0]]


def test_the_heat_map_shows_the_counts_and_leaves_what_is_absent_empty():
    figure = partition_heatmap(federation(names=("oslo", "bergen")))
    figure.draw_without_rendering()
    top, main = figure.axes[:2]
    shown = main.images[0].get_array()
    assert shown.filled(0).tolist() == [[2, 0], [0, 1], [1, 1], [0, 0]]
    assert shown.mask.tolist() == [[False, True], [True, False], [False, False], [True, True]]
    assert [bar.get_height() for bar in top.patches] == [3, 2]
    assert [label.get_text() for label in main.get_xticklabels()] == ["oslo", "bergen"]
    assert "toy: 5 training examples of 2 clients" in top.get_title(loc="left")


def test_the_heat_map_can_be_written_without_names(tmp_path):
    partition_heatmap(federation()).savefig(tmp_path / "partition.png")
    assert (tmp_path / "partition.png").stat().st_size > 1000


def test_a_regression_has_no_labels_to_draw():
    with pytest.raises(DataError, match="quadratics is a regression"):
        partition_heatmap(quadratic_federation(2, 2, seed=0))
