"""What is published of Adult, judged again from its records alone."""

import pytest

from fedmgda.paper import open_published
from fedmgda.paper._text import agreement, lines_csv, welch_csv
from published import RESULTS, report


@pytest.mark.parametrize(
    ("name", "by_rule", "by_welch"),
    [("adult-bias-released-code", 57, 30), ("adult-bias-paper", 34, 16)],
)
def test_what_agrees_by_the_lenient_rule_and_what_by_welch(name, by_rule, by_welch):
    text = agreement(report(name).lines)
    assert f"By this rule {by_rule} of 57 numbers agree." in text
    assert f"{by_welch} of 57 are compatible with the published ones (p > 0.05" in text


@pytest.mark.parametrize("name", ["adult-bias-released-code", "adult-bias-paper"])
def test_the_tables_follow_from_the_records_to_the_byte(name):
    found = open_published(RESULTS / name)
    for file, made in (("adult-bias.csv", lines_csv), ("adult-bias-welch.csv", welch_csv)):
        assert (found.folder / file).read_text() == made(found.study, report(name).lines)


def test_nothing_is_counted_where_nothing_is_published():
    assert not agreement(report("digits-attack").lines)
