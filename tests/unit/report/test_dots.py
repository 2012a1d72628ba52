import pytest

from fedmgda.report import Dot, DotPanel, _dots, draw_dots


@pytest.fixture
def drawn(figure_of):
    return figure_of(_dots, draw_dots)


def panel(title, *means, std=1.0, published=None):
    dots = (Dot(f"rule {'abcdefgh'[i]}", mean, std, published) for i, mean in enumerate(means))
    return DotPanel(title, tuple(dots))


def marks(axes, marker):
    """Return the points drawn with a marker, from the first row to the last."""
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return sorted((line.get_ydata()[0], line.get_xdata()[0]) for line in lines)


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_both_files_are_written(tmp_path):
    png, pdf = draw_dots([panel("PhD", 70.0)], tmp_path / "figure-2")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_dots_stand_at_the_means_one_row_per_rule_the_first_on_top(drawn):
    figure = drawn(panel("PhD", 10.0, 20.0), panel("non-PhD", 30.0, 80.0), title="Adult")
    left, right = figure.axes
    assert marks(left, "o") == [(0, 10), (1, 20)]
    assert marks(right, "o") == [(0, 30), (1, 80)]
    assert [label.get_text() for label in left.get_yticklabels()] == ["rule a", "rule b"]
    assert left.get_ylim()[0] > left.get_ylim()[1]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["PhD", "non-PhD"]
    assert figure.get_suptitle() == "Adult"


def test_an_interval_is_one_deviation_to_either_side(drawn):
    (axes,) = drawn(panel("PhD", 50.0, std=4.0)).axes
    (interval,) = [segment for bars in axes.collections for segment in bars.get_segments()]
    assert interval.tolist() == [[46.0, 0.0], [54.0, 0.0]]


def test_one_seed_is_hollow_has_no_interval_and_is_called_so(drawn):
    figure = drawn(panel("c = 1", 50.0, std=None), panel("c = 2", 60.0))
    one, several = figure.axes
    assert not one.collections
    assert several.collections
    assert [line.get_markerfacecolor() for line in one.lines] == ["white"]
    assert legend(figure) == ["mean ± standard deviation over seeds", "one seed"]


def test_the_published_value_is_a_diamond_and_is_explained(drawn):
    figure = drawn(panel("PhD", 10.0, 20.0, published=15.0))
    assert marks(figure.axes[0], "D") == [(0, 15), (1, 15)]
    assert legend(figure)[-1] == "published in the paper"


def test_without_published_values_there_is_no_diamond(drawn):
    figure = drawn(panel("PhD", 10.0, 20.0))
    assert marks(figure.axes[0], "D") == []
    assert len(legend(figure)) == 1


def test_a_row_has_its_place_in_all_panels_and_says_where_it_was_not_run(drawn):
    few = DotPanel("few", (Dot("rule b", 50.0, 1.0),))
    full, sparse = drawn(panel("all", 40.0, 50.0, 60.0), few).axes
    assert marks(sparse, "o") == [(1, 50)]
    assert not full.texts
    assert {(t.get_text(), t.get_position()[1]) for t in sparse.texts} == {
        ("not run", 0), ("not run", 2),
    }  # fmt: skip


def test_all_panels_share_one_axis_that_hides_no_dot(drawn):
    figure = drawn(panel("c = 1", 80.0), panel("c = 100", 9.0), panel("bias", 70.0), columns=2)
    assert len(figure.axes) == 3
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    low, high = figure.axes[0].get_xlim()
    assert low < 8
    assert high > 81


def test_the_axis_is_named_below_the_lowest_panel_of_every_column(drawn):
    figure = drawn(*(panel(str(i), 50.0) for i in range(4)), columns=2, x_label="accuracy, %")
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "accuracy, %", "accuracy, %"]


def test_nothing_lies_upon_anything_else(drawn):
    figure = drawn(panel("a", 5.0, 6.0), panel("b", 5.0), x_label="a long name of a metric, in %")
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    assert boxes[1].y1 <= boxes[0].y0
    assert figure.legends[0].get_window_extent().y1 <= boxes[1].y0
    assert figure.axes[1].xaxis.label.get_window_extent().x1 <= figure.bbox.x1


def test_a_family_of_rows_stands_apart(drawn):
    labels = ("AFL bias 0", "AFL bias 1", "FedAvg", "FedAvg-n")
    (axes,) = drawn(DotPanel("PhD", tuple(Dot(label, 1.0, None) for label in labels))).axes
    borders = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "None"]
    assert borders == [1.5]


def test_a_figure_without_dots_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one dot, got none for fig2"):
        draw_dots([DotPanel("PhD", ())], tmp_path / "fig2")


def test_a_long_title_stays_inside_the_figure(drawn):
    figure = drawn(
        panel("a", 5.0, 6.0), title="test accuracy of users on CIFAR-10 with a small batch " * 2
    )
    box = figure._suptitle.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
