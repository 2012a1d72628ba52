"""What a reader does with the page: points, searches, downloads, goes through it by keyboard."""

import csv
import json
from statistics import fmean

import pytest

from fedmgda.experiments import open_run

# Everything that can have the focus, in the order of the document.
REACHABLE = """
() => [...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")]
  .filter((one) => one.checkVisibility() && !one.disabled)
  .map((one) => (one.id || one.textContent.trim()).slice(0, 80))
"""
FOCUSED = """
() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  return {
    name: (one.id || one.textContent.trim()).slice(0, 80),
    visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    end: one === document.body,
  };
}
"""


def rows_of(page, name):
    """Return the numbers of a section as the page keeps them."""
    table = json.loads(page.locator("#page-data").text_content())["tables"][name]
    columns = [
        cells
        if isinstance(cells, list)
        else [None if code is None else cells["levels"][code] for code in cells["codes"]]
        for cells in table["data"]
    ]
    return [dict(zip(table["columns"], row, strict=True)) for row in zip(*columns, strict=True)]


def test_pointing_at_a_dot_names_the_user(report, opened):
    page = opened(report)
    dot = page.locator("#chart-strip .mark-symbol.role-mark path").nth(3)
    datum = page.evaluate(
        """() => {
          const view = window.drawn["chart-strip"];
          const symbols = [];
          const walk = (mark) => {
            if (mark.marktype === "symbol") symbols.push(...mark.items);
            mark.items?.forEach((item) => item.items?.forEach(walk));
          };
          walk(view.scenegraph().root);
          return {user: symbols[3].datum.user, run: symbols[3].datum.run};
        }"""
    )
    dot.scroll_into_view_if_needed()
    dot.hover(force=True)
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    said = tip.inner_text()
    assert "user" in said
    assert datum["run"] in said
    users = {row["user"] for row in rows_of(page, "users")}
    assert any(user in said for user in users)


@pytest.mark.parametrize("asked", ["client 3", "CLIENT 3"])
def test_searching_a_user_tells_its_story_under_every_run(report, opened, asked):
    page = opened(report)
    search = page.get_by_label("User", exact=True)
    search.fill(asked)
    search.press("Enter")
    facts = page.locator("#story-facts")
    facts.get_by_text("client 3 at the end of every run").wait_for()
    runs = {row["run"] for row in rows_of(page, "story-end") if row["user"] == "client 3"}
    assert len(runs) == 6
    first = facts.locator("table").first
    assert set(first.locator("tbody td:first-child, tbody th").all_inner_texts()) == runs
    page.wait_for_timeout(300)
    drawn = page.evaluate(
        "window.drawn['chart-story-curve'].data('source_0').map((row) => [row.user, row.run])"
    )
    assert {user for user, _ in drawn} == {"client 3"}
    assert {run for _, run in drawn} == runs


def test_a_user_that_is_not_there_is_said_to_be_unknown(report, opened):
    page = opened(report)
    search = page.get_by_label("User", exact=True)
    search.fill("hospital <7>")
    search.press("Enter")
    page.get_by_text('There is no user called "hospital <7>" here.').wait_for()


def test_clicking_a_dot_leads_to_the_story_of_its_user(report, opened):
    page = opened(report)
    page.locator("#chart-strip .mark-symbol.role-mark path").first.click(force=True)
    page.locator("#story-facts caption").first.wait_for()
    name = page.get_by_label("User", exact=True).input_value()
    page.get_by_text(f"{name} at the end of every run").wait_for()
    page.wait_for_function(
        "document.getElementById('story').getBoundingClientRect().top < innerHeight"
    )


def test_every_download_is_the_numbers_of_its_section(report, opened, tmp_path):
    page = opened(report)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    buttons = page.locator("button.csv")
    assert buttons.count() >= 10
    for place in range(buttons.count()):
        button = buttons.nth(place)
        name = button.get_attribute("data-table")
        with page.expect_download() as waiting:
            button.click()
        assert waiting.value.suggested_filename == f"{name}.csv"
        waiting.value.save_as(tmp_path / name)
        page.wait_for_timeout(150)  # of more than ten in a second Chromium drops the others
        with (tmp_path / name).open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        expected = rows_of(page, name)
        assert len(found) == len(expected) > 0
        for got, row in zip(found, expected, strict=True):
            assert got.keys() == row.keys()
            for column, cell in row.items():
                assert same(got[column], cell), (name, column)


def same(text, cell):
    if cell is None:
        return text == ""
    if isinstance(cell, str):
        return text.removeprefix("'") == cell
    return float(text) == cell


def test_the_downloaded_accuracies_are_those_of_the_runs(sweep, report, opened):
    page = opened(report)
    shown = {
        row["user"]: row["value"]
        for row in rows_of(page, "users")
        if row["run"] == "FedAvg_attack=no"
    }
    seeds = [open_run(sweep / f"FedAvg_attack=no_seed={seed}").clients for seed in (0, 1)]
    assert shown == {
        f"client {clients[0].client_id}": pytest.approx(
            fmean(client.test_accuracy for client in clients), rel=1e-4
        )
        for clients in zip(*seeds, strict=True)
    }


def test_tab_reaches_every_control_in_order_and_shows_where_it_is(report, opened):
    page = opened(report)
    expected = page.evaluate(REACHABLE)
    visited = []
    for _ in range(len(expected) + 2):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        if found["end"]:
            break
        assert found["visible"], found
        assert found["inside"], found
        visited.append(found["name"])
    assert visited == expected
    assert {"theme", "user-search"} <= set(visited)


def test_keys_work_every_control(report, opened):
    page = opened(report)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main", "past the links"
    page.locator("#theme").focus()
    page.keyboard.press("Space")
    page.locator("html[data-theme=dark]").wait_for()
    summary = page.locator("#users summary").first
    summary.focus()
    page.keyboard.press("Enter")
    page.locator("#users .rows table").wait_for()
    box = page.get_by_role("checkbox").first
    box.focus()
    page.keyboard.press("Space")
    hidden = json.loads(page.locator("#page-data").text_content())["runs"][0]
    assert not box.is_checked()
    page.locator("#chart-strip[data-drawn=dark]").wait_for()
    page.wait_for_timeout(500)
    drawn = page.evaluate("window.drawn['chart-strip'].data('source_0').map((row) => row.run)")
    assert hidden not in drawn
    assert len(set(drawn)) == 5
    select = page.locator("select[data-chart]").first
    before = select.input_value()
    select.focus()
    page.keyboard.press("ArrowDown")
    assert select.input_value() != before
