import pytest

from fedmgda.report import Bar, BarGroup, _bars, draw_bars


@pytest.fixture
def drawn(figure_of):
    return figure_of(_bars, draw_bars)


def group(label, *means, published=None):
    bars = (Bar(f"rule {i}", mean, 1.0, published) for i, mean in enumerate(means))
    return BarGroup(label, tuple(bars))


def test_both_files_are_written(tmp_path):
    png, pdf = draw_bars([group("PhD", 70.0)], tmp_path / "figure-2")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_heights_are_the_means_and_a_rule_has_one_colour_in_all_groups(drawn):
    (axes,) = drawn(group("PhD", 10.0, 20.0), group("non-PhD", 30.0, 80.0), title="Adult").axes
    assert [patch.get_height() for patch in axes.patches] == [10, 20, 30, 80]
    colors = [patch.get_facecolor() for patch in axes.patches]
    assert colors[:2] == colors[2:]
    assert colors[0] != colors[1]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["PhD", "non-PhD"]
    assert axes.get_title(loc="left") == "Adult"


def test_the_published_value_is_a_diamond_and_is_explained(drawn):
    figure = drawn(group("PhD", 10.0, 20.0, published=15.0))
    (marks,) = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert list(marks.get_ydata()) == [15.0, 15.0]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["rule 0", "rule 1", "published in the paper"]


def test_without_published_values_there_is_no_diamond(drawn):
    figure = drawn(group("PhD", 10.0, 20.0))
    assert not [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert len(figure.legends[0].get_texts()) == 2


def test_bars_that_differ_much_start_at_zero(drawn):
    (axes,) = drawn(group("PhD", 10.0, 80.0), y_label="accuracy, %").axes
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylabel() == "accuracy, %"


def test_a_cut_axis_says_so_and_hides_no_bar(drawn):
    (axes,) = drawn(group("PhD", 80.0, 83.0, published=79.5), y_label="accuracy, %").axes
    bottom = axes.get_ylim()[0]
    assert 70 < bottom < 79
    assert axes.get_ylabel() == f"accuracy, %\n(the axis starts at {bottom:g})"


def test_equal_heights_and_negative_ones_can_be_drawn(drawn):
    assert drawn(group("a", 5.0, 5.0)).axes[0].get_ylim()[0] < 4
    assert drawn(BarGroup("a", (Bar("b", 0.0, 0.0),))).axes[0].get_ylim()[0] == 0
    assert drawn(group("a", -5.0, 5.0)).axes[0].get_ylim()[0] < -6


def test_ten_rules_are_told_apart_by_hatches(drawn):
    (axes,) = drawn(group("a", *range(40, 50))).axes
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in axes.patches}
    assert len(looks) == 10


def test_groups_may_have_different_bars(drawn):
    few = BarGroup("few", (Bar("rule 1", 50.0, 1.0),))
    (axes,) = drawn(group("all", 40.0, 50.0, 60.0), few).axes
    assert axes.patches[3].get_facecolor() == axes.patches[1].get_facecolor()
    centers = [patch.get_x() + patch.get_width() / 2 for patch in axes.patches]
    assert list(axes.get_xticks()) == pytest.approx([centers[1], centers[3]])


def test_a_figure_without_bars_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one bar, got none for fig2"):
        draw_bars([BarGroup("PhD", ())], tmp_path / "fig2")


def test_a_long_title_stays_inside_the_figure(drawn):
    figure = drawn(
        group("a", 5.0, 6.0), title="test accuracy of users on CIFAR-10 with a small batch " * 2
    )
    box = figure.axes[0]._left_title.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
