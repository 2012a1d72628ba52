import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import FederatedData, quadratic_federation
from fedmgda.report._fonts import fonts_for
from fedmgda.report._partition import label_counts, partition_heatmap


def federation(*, names=None, classes=None):
    return FederatedData(
        name="toy",
        features=np.zeros((6, 2), np.float32),
        targets=np.array([0, 0, 2, 1, 2, 2]),
        train=(np.array([0, 1, 2]), np.array([3, 4])),
        validation=(np.array([5]), np.array([], np.int64)),
        test=(np.array([], np.int64), np.array([], np.int64)),
        num_classes=4,
        client_names=names,
        class_names=classes,
    )


def labels(data):
    """Return what stands on the axes, drawn; a character without a glyph would be a warning."""
    figure = partition_heatmap(data)
    figure.draw_without_rendering()
    main = figure.axes[1]
    across = [label.get_text() for label in main.get_xticklabels()]
    return across, [label.get_text() for label in main.get_yticklabels()], main.get_xlabel()


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


def test_classes_are_shown_by_name():
    classes = labels(federation(classes=("cat", "dog", "eel", "fox")))[1]
    assert classes == ["cat", "dog", "eel", "fox"]
    assert labels(federation())[1] == ["0", "1", "2", "3"]


def test_a_name_that_no_font_can_write_is_a_number_and_no_box():
    rare = "\N{GLAGOLITIC CAPITAL LETTER AZU}"
    names, classes, below = labels(
        federation(names=(rare, "bergen"), classes=("cat", rare * 2, "eel", "fox"))
    )
    assert names == ["0", "bergen"]
    assert classes == ["cat", "1", "eel", "fox"]
    assert "no installed font" in below
    assert labels(federation(names=("oslo", "bergen")))[2] == "client"


def test_a_font_that_is_installed_writes_what_the_usual_one_lacks(tmp_path, monkeypatch):
    builder = pytest.importorskip("fontTools.fontBuilder").FontBuilder(1000, isTTF=True)
    glyphs = [".notdef", "east"]
    builder.setupGlyphOrder(glyphs)
    builder.setupCharacterMap({ord("\N{GLAGOLITIC CAPITAL LETTER AZU}"): "east"})
    pen = pytest.importorskip("fontTools.pens.ttGlyphPen").TTGlyphPen(None)
    builder.setupGlyf(dict.fromkeys(glyphs, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (500, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Sample Script", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "sample.ttf")
    manager = pytest.importorskip("matplotlib.font_manager").fontManager
    monkeypatch.setattr(manager, "ttflist", list(manager.ttflist))
    manager.addfont(tmp_path / "sample.ttf")
    rare = "\N{GLAGOLITIC CAPITAL LETTER AZU}"
    assert fonts_for([rare, "oslo"]) == (("DejaVu Sans", "Sample Script"), frozenset())
    names, _, below = labels(federation(names=(rare, "oslo")))
    assert (names, below) == ([rare, "oslo"], "client")
