import pytest

from fedmgda.report._style import (
    COLORS,
    DASHES,
    figure_style,
    fitted,
    legend_below,
    looks,
    places,
    save_figure,
)


def drawn(labels, width=6.0):
    with figure_style() as library:
        figure = library.Figure(figsize=(width, 3.0), layout="constrained")
        axes = figure.subplots()
        handles = [axes.plot([0, 1], [0, place])[0] for place in range(len(labels))]
        legend_below(figure, handles, labels)
        figure.draw_without_rendering()
        return figure


def test_fifty_six_curves_have_fifty_six_looks():
    looks = {(COLORS[i % len(COLORS)], DASHES[i % len(DASHES)]) for i in range(56)}
    assert len(looks) == 56


def test_a_label_keeps_its_place_when_it_comes_again():
    assert places("abcab") == {"a": 0, "b": 1, "c": 2}


def test_a_rule_looks_alike_in_all_figures_and_no_two_labels_share_a_place():
    few = places(["FedMGDA+", "FedAvg"])
    many = places(["FedAvg", "c = 1", "FedMGDA+ (1.0, 0)", "FedMGDA+ (1.5, 0)", "q-FedAvg"])
    assert few["FedMGDA+"] == many["FedMGDA+ (1.0, 0)"]
    assert few["FedAvg"] == many["FedAvg"]
    assert len(set(many.values())) == len(many)


@pytest.mark.parametrize("count", [1, 5, 12])
@pytest.mark.parametrize("length", [3, 25, 70])
def test_a_legend_stays_inside_the_figure(count, length):
    figure = drawn(["W" * 2 + "e" * (length - 2)] * count)
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y0 >= 0
    assert box.y1 < figure.axes[0].get_window_extent().y0


def test_a_title_breaks_between_words_and_not_inside_an_equation():
    lines = fitted("Scaling attacks on F-MNIST at b = 10", 2.9).splitlines()
    assert [line.split() for line in lines] == [
        ["Scaling", "attacks", "on", "F-MNIST", "at"],
        ["b", "=", "10"],
    ]


def test_a_figure_makes_room_for_the_rows_of_its_legend():
    one, many = drawn(["a"]), drawn(["a long label that needs a line of its own, really"] * 8)
    heights = [figure.axes[0].get_window_extent().height for figure in (one, many)]
    assert heights[1] > 0.85 * heights[0]


def test_no_labels_no_legend():
    assert drawn([]).legends == []


def test_files_are_the_same_whenever_they_are_drawn(tmp_path):
    first = save_figure(drawn(["a", "b"]), tmp_path / "one" / "epsilon-0.1")
    second = save_figure(drawn(["a", "b"]), tmp_path / "two" / "epsilon-0.1")
    assert [path.name for path in first] == ["epsilon-0.1.png", "epsilon-0.1.pdf"]
    for ours, theirs in zip(first, second, strict=True):
        assert ours.read_bytes() == theirs.read_bytes()
        assert b"Date" not in ours.read_bytes()


def test_variants_of_a_rule_have_its_colour_and_the_same_dashes_in_all_rules():
    rules, kinds = ("FedAvg", "FedAvg-n", "FedMGDA+"), ("", " protected", " longer")
    found = looks(rule + kind for kind in kinds for rule in rules)
    for rule in rules:
        assert len({found[rule + kind].color for kind in kinds}) == 1
        assert found[rule].color == looks([rule])[rule].color
    for kind in kinds:
        assert len({found[rule + kind].dashes for rule in rules}) == 1
    assert len(set(found.values())) == 9


@pytest.mark.parametrize("count", [1, 7, 12, 56])
def test_no_two_labels_look_alike(count):
    for rule in ("FedAvg (1.5, {})", "c = {}"):
        labels = [rule.format(number) for number in range(count)]
        assert len(set(looks(["FedMGDA+", *labels][:count]).values())) == count


def test_a_protected_rule_alone_has_the_colour_of_its_rule():
    found = looks(["FedAvg", "FedMGDA+ protected"])
    assert found["FedMGDA+ protected"].color == looks(["FedMGDA+"])["FedMGDA+"].color
