"""The largest page: 100 users, 2,000 rounds, eight runs."""

import pytest

from fedmgda.report.page import build_page
from large import large_runs


@pytest.mark.slow
def test_a_hundred_users_two_thousand_rounds_and_eight_runs_are_one_page_that_can_be_used(
    tmp_path, opened
):
    path = tmp_path / "page.html"
    path.write_text(build_page([large_runs(tmp_path / "runs")]).html, encoding="utf-8")
    assert path.stat().st_size < 10_000_000
    page = opened(path)
    assert page.locator(".chart[data-drawn]").count() == page.locator(".chart").count() >= 10
    search = page.get_by_label("User", exact=True)
    search.fill("client 99")
    search.press("Enter")
    page.locator("#story-facts").get_by_text("client 99 at the end of every run").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
