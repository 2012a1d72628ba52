"""Nobody is kept out of the page: axe finds no serious fault in it."""

import pytest
from axe_playwright_python.sync_playwright import Axe


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing_serious(report, opened, width, scheme):
    page = opened(report, width=width, scheme=scheme)
    # One table of numbers stands for all, which are alike and would take it minutes.
    page.evaluate(
        "document.querySelectorAll('details:not(.numbers-of), #seconds .numbers-of')"
        ".forEach((one) => { one.open = true; })"
    )
    page.locator("#seconds .rows table").wait_for()
    found = Axe().run(page).response
    assert len(found["passes"]) > 20, "it looked"
    serious = [
        (fault["id"], fault["help"], [node["target"] for node in fault["nodes"]][:3])
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]
    assert serious == []
