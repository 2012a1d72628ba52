from itertools import pairwise

import numpy as np
import pytest

from fedmgda.metrics import fairness
from fedmgda.report import Violin, _violins, draw_violins

VALUES = np.random.default_rng(0).uniform(20, 90, size=200)


@pytest.fixture
def drawn(figure_of):
    return figure_of(_violins, draw_violins)


def test_both_files_are_written(tmp_path):
    png, pdf = draw_violins([Violin("FedAvg", VALUES)], tmp_path / "figure-3")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_the_mean_and_the_worst_and_best_5_percent_are_marked_where_they_are(drawn):
    (axes,) = drawn(Violin("FedAvg", VALUES), Violin("FedMGDA+", VALUES + 5)).axes
    summary = fairness(VALUES)
    assert [float(line.get_ydata()[0]) for line in axes.lines] == pytest.approx(
        [summary.average, summary.average + 5]
    )
    ends = [
        segment[0][1]
        for collection in axes.collections
        if hasattr(collection, "get_segments")
        for segment in collection.get_segments()
        if segment[0][1] == segment[1][1] and segment[0][0] < 0.5
    ]
    assert sorted(ends) == pytest.approx([summary.percentile_5, summary.percentile_95])


def test_the_numbers_stand_below_the_name(drawn):
    (axes,) = drawn(Violin("a", np.array([40.0, 60.0])), title="b = 10", y_label="accuracy, %").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a\n50.0 ± 10.0"]
    assert axes.get_title(loc="left") == "b = 10"
    assert axes.get_ylabel() == "accuracy, %"


def test_fractions_keep_three_digits(drawn):
    (axes,) = drawn(Violin("a", np.array([0.4, 0.6]))).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a\n0.500 ± 0.100"]


def test_names_do_not_run_into_each_other(drawn):
    names = ["FedAvg", "FedProx (µ = 0.1)", "q-FedAvg (q = 0.5, L = 1)", "MGDA-Prox (µ = 0.1)"] * 2
    (axes,) = drawn(*(Violin(name, VALUES) for name in names)).axes
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.parametrize("values", [np.full(9, 70.0), np.array([70.0])])
def test_equal_scores_and_a_single_user_can_be_drawn(drawn, values):
    assert len(drawn(Violin("a", values)).axes) == 1


def test_a_figure_without_violins_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one violin, got none for fig3"):
        draw_violins([], tmp_path / "fig3")


def test_a_score_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match="position 1"):
        draw_violins([Violin("a", np.array([1.0, np.nan]))], tmp_path / "fig3")


def test_a_long_title_stays_inside_the_figure(drawn):
    figure = drawn(
        Violin("a", VALUES), title="test accuracy of users on CIFAR-10 with a small batch " * 2
    )
    box = figure.axes[0]._left_title.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
