"""What a reader does with the page: points, searches, downloads, goes through it by keyboard."""

import csv
import json

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


# Where the first mark that has something to tell is in a chart, drawn or painted.
TELLING = """
(name) => {
  const place = document.getElementById(name);
  place.scrollIntoView({ block: "center" });
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const inside = ([x, y]) => y > 60 && y < innerHeight && x > 0 && x < innerWidth;
  const canvas = place.querySelector("canvas");
  if (!canvas) {
    return [...place.querySelectorAll(".role-mark path")].filter((one) => one.__data__?.tooltip)
      .map((one) => middle(one.getBoundingClientRect())).find(inside);
  }
  const view = window.drawn[name];
  const [x0, y0] = view.origin();
  const box = canvas.getBoundingClientRect();
  const found = [];
  const walk = (mark, x, y) => mark.items?.forEach((item) => {
    const [left, top] = [box.left + x + item.x, box.top + y + item.y];
    if (item.tooltip) found.push([left + item.width / 2, top + item.height / 2]);
    item.items?.forEach((inner) => walk(inner, x + (item.x ?? 0), y + (item.y ?? 0)));
  });
  walk(view.scenegraph().root, x0, y0);
  return found.find(inside);
}
"""


@pytest.mark.parametrize("width", [1280, 360])
def test_pointing_at_a_mark_of_any_chart_tells_its_numbers(report, opened, width):
    page = opened(report, width=width)
    tip = page.locator("#vg-tooltip-element")
    for chart in json.loads(page.locator("#page-data").text_content())["charts"]:
        place = page.evaluate(TELLING, f"chart-{chart['name']}")
        assert place, chart["name"]
        page.mouse.move(*place)
        page.locator("#vg-tooltip-element.visible").wait_for()
        said = tip.inner_text()
        assert any(letter.isdigit() for letter in said), (chart["name"], said)
        assert "undefined" not in said
        assert "NaN" not in said
        page.mouse.move(1, 1)
        page.wait_for_function(
            "!document.querySelector('#vg-tooltip-element')?.classList.contains('visible')"
        )


@pytest.mark.parametrize(("asked", "width"), [("client 3 (seed 1)", 1280), ("CLIENT 3", 360)])
def test_searching_a_user_tells_its_story_under_every_run(report, opened, asked, width):
    page = opened(report, width=width)
    found = asked if "seed" in asked else "client 3 (seed 0)"
    search = page.get_by_label("User", exact=True)
    search.fill(asked)
    search.press("Enter")
    facts = page.locator("#story-facts")
    facts.get_by_text(f"{found} at the end of every run").wait_for()
    runs = {row["run"] for row in rows_of(page, "story-end") if row["user"] == found}
    assert len(runs) == 6
    first = facts.locator("table").first
    assert set(first.locator("tbody td:first-child, tbody th").all_inner_texts()) == runs
    page.wait_for_timeout(300)
    drawn = page.evaluate(
        "window.drawn['chart-story-curve'].data('source_0').map((row) => [row.user, row.run])"
    )
    assert {user for user, _ in drawn} == {found}
    assert {run for _, run in drawn} == runs


def test_a_user_that_is_not_there_is_said_to_be_unknown_and_nobody_else_is_drawn(report, opened):
    page = opened(report)
    search = page.get_by_label("User", exact=True)
    search.fill("hospital <7>")
    search.press("Enter")
    page.get_by_text('There is no user called "hospital <7>" here.').wait_for()
    chart = page.locator("#chart-story-curve")
    chart.get_by_text("Nothing to draw for this choice.").wait_for()
    assert chart.locator("svg").count() == 0
    search.fill("client 2 (seed 0)")
    search.press("Enter")
    chart.locator("svg").wait_for()


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
    assert shown == {  # the seed deals the digits: its clients are nobody else's
        f"client {client.client_id} (seed {seed})": pytest.approx(client.test_accuracy, rel=1e-4)
        for seed in (0, 1)
        for client in open_run(sweep / f"FedAvg_attack=no_seed={seed}").clients
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
