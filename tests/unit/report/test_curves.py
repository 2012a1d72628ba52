import numpy as np
import pytest

from fedmgda.metrics import smoothed
from fedmgda.report import Panel, Series, _curves, draw_curves, series_of_runs

ROUNDS = np.arange(1.0, 6.0)


def series(label="FedAvg", mean=(1.0, 2.0, 3.0, 2.0, 1.0), std=None):
    return Series(label, ROUNDS, np.array(mean), None if std is None else np.array(std))


@pytest.fixture
def drawn(figure_of):
    return figure_of(_curves, draw_curves)


def test_both_files_are_written(tmp_path):
    panel = Panel("iid", "round", "loss", (series(std=np.full(5, 0.1)),))
    png, pdf = draw_curves([panel], tmp_path / "deep" / "figure-1")
    assert (png.name, pdf.name) == ("figure-1.png", "figure-1.pdf")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_a_line_shows_the_mean_and_a_band_the_deviation(drawn):
    std = np.full(5, 0.5)
    (axes,) = drawn(Panel("iid", "round", "loss", (series(std=std),))).axes
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [1, 2, 3, 2, 1])
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == 0.5
    assert band[:, 1].max() == 3.5
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "loss")
    assert axes.get_title(loc="left") == "iid"


def test_a_method_has_one_colour_in_all_panels_and_one_entry_in_the_legend(drawn):
    left = Panel("iid", "round", "loss", (series("a"), series("b")))
    right = Panel("non-iid", "round", "loss", (series("b"), series("c")))
    figure = drawn(left, right, title="both")
    colors = [[line.get_color() for line in axes.lines] for axes in figure.axes]
    assert colors[0][1] == colors[1][0]
    assert len({*colors[0], *colors[1]}) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "c"]
    assert figure.get_suptitle() == "both"


def test_panels_fill_a_grid_and_no_empty_axes_remain(drawn):
    panels = [Panel(str(i), "round", "loss", (series(),)) for i in range(5)]
    figure = drawn(*panels, columns=3)
    assert len(figure.axes) == 5
    assert figure.axes[0].get_subplotspec().get_gridspec().ncols == 3


def test_percentages_never_leave_0_to_100(drawn):
    values = series(mean=(1.0, 50.0, 99.0, 99.0, 99.0), std=np.full(5, 20.0))
    (axes,) = drawn(Panel("b = 10", "round", "improved", (values,), percent=True)).axes
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() >= 0
    assert band.max() <= 100
    assert axes.get_ylim()[1] <= 103
    assert axes.yaxis.get_major_formatter()(50, 0) == "50 %"


def test_a_logarithmic_band_stops_above_zero(drawn):
    values = series(mean=(1.0, 0.1, 0.01, 0.01, 0.01), std=np.full(5, 0.5))
    (axes,) = drawn(Panel("iid", "round", "loss", (values,), log_y=True, log_x=True)).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.collections[0].get_paths()[0].vertices[:, 1].min() == 0.005


def test_runs_are_smoothed_before_they_are_averaged():
    runs = np.random.default_rng(0).normal(size=(4, 30))
    made = series_of_runs("FedAvg", np.arange(30), runs, span=50)
    curves = np.array([smoothed(run, 50) for run in runs])
    np.testing.assert_allclose(made.mean, curves.mean(axis=0))
    np.testing.assert_allclose(made.std, curves.std(axis=0))
    assert made.std[-1] < 0.5 * runs.std(axis=0)[-1]


def test_a_mean_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"mean of the curve 'FedAvg' must have the shape of x"):
        Series("FedAvg", ROUNDS, np.ones(4), None)


def test_a_deviation_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"std of the curve 'FedAvg'.*\(5,\), got \(4,\)"):
        Series("FedAvg", ROUNDS, np.ones(5), np.ones(4))


def test_a_figure_without_panels_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one panel, got none for fig1"):
        draw_curves([], tmp_path / "fig1")


def test_a_long_title_stays_inside_the_figure(drawn):
    figure = drawn(
        Panel("iid", "round", "loss", (series(),)),
        title="test accuracy of users on CIFAR-10 with a small batch " * 2,
    )
    box = figure._suptitle.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1


def test_a_curve_beside_another_has_its_colour_and_other_strokes(drawn):
    level = Series("published", ROUNDS, np.full(5, 2.0), beside="FedAvg")
    (axes,) = drawn(Panel("iid", "round", "loss", (series(), level))).axes
    ours, published = axes.lines
    assert ours.get_color() == published.get_color()
    assert ours.get_linestyle() != published.get_linestyle()


def test_the_steep_start_of_rising_curves_may_lie_below_the_frame_and_the_axis_says_so(drawn):
    rounds = np.arange(100.0)
    curve = Series("FedAvg", rounds, 90.0 - 80.0 * 0.8**rounds)
    (axes,) = drawn(Panel("iid", "round", "accuracy", (curve,), percent=True, rising=True)).axes
    assert axes.get_ylim()[0] == 80
    assert axes.get_ylabel() == "accuracy\n(the axis starts at 80 %)"
    assert (curve.mean[10:] > 80).all()


def test_an_axis_that_would_hide_nothing_is_not_cut(drawn):
    (axes,) = drawn(Panel("iid", "round", "accuracy", (series(),), percent=True, rising=True)).axes
    assert axes.get_ylabel() == "accuracy"
    assert axes.get_ylim()[0] < 1


def test_of_curves_that_lie_on_one_another_the_lower_ones_are_wider(drawn):
    curves = (series("a"), series("b"), series("c", mean=np.zeros(5)), series("d"))
    (axes,) = drawn(Panel("iid", "round", "improved", curves)).axes
    a, b, c, d = (line.get_linewidth() for line in axes.lines)
    assert a > b > c == d


def test_a_short_logarithmic_axis_has_plain_numbers(drawn):
    loss = series(mean=(2.0, 1.0, 0.5, 0.4, 0.3))
    (axes,) = drawn(Panel("iid", "round", "loss", (loss,), log_y=True)).axes
    shown = {text.get_text() for text in axes.get_yticklabels(which="both")}
    assert {"0.5", "1", "2"} <= shown
    assert not any("10" in text for text in shown)
