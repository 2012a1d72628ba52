"""The page of a sweep as a browser shows it: every chart drawn, at every width, in both themes."""

import json

import pytest

# What a chart shows: the values its library holds, and the marks or painted points one can see.
SHOWN = """
() => [...document.querySelectorAll(".chart")].map((place) => {
  const view = window.drawn[place.id];
  const canvas = place.querySelector("canvas");
  const points = canvas?.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const marks = [...place.querySelectorAll(".role-mark path, .role-mark line")];
  const visible = (mark) => {
    const box = mark.getBoundingClientRect();
    return box.width + box.height > 0;
  };
  return {
    chart: place.id,
    rows: view ? view.data("source_0").length : 0,
    marks: canvas ? points.filter((value, n) => n % 4 === 3 && value > 0).length
      : marks.filter(visible).length,
    fits: [canvas ?? place.querySelector("svg"), ...place.querySelectorAll("svg text")]
      .every((one) => one.getBoundingClientRect().right
        <= place.getBoundingClientRect().right + 2),
    apart: [...place.querySelectorAll(".role-axis-label")].every((axis) => {
      const texts = [...axis.querySelectorAll("text")].map((one) => one.textContent);
      const labels = texts.filter(Boolean);
      return new Set(labels).size === labels.length;
    }),
  };
})
"""


def data_of(page):
    return json.loads(page.locator("#page-data").text_content())


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn_and_nothing_is_wider_than_the_window(report, opened, width, scheme):
    page = opened(report, width=width, scheme=scheme)
    shown = page.evaluate(SHOWN)
    assert {one["chart"] for one in shown} == {
        f"chart-{c['name']}" for c in data_of(page)["charts"]
    }
    assert len(shown) >= 15
    assert [one for one in shown if not one["rows"] or not one["marks"]] == []
    assert [one["chart"] for one in shown if not one["fits"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [one["chart"] for one in shown if not one["apart"]] == []
    shown = page.locator("#chart-strip .role-axis-label text").all_text_contents()
    cut = [label.partition("…") for label in shown if "%" not in label]
    assert len(set(cut)) == 6, "told apart"
    for (start, _, end), run in zip(cut, data_of(page)["runs"], strict=True):
        assert run.startswith(start)
        assert run.endswith(end)


def luminance(color):
    red, green, blue = (int(part) for part in color[4:-1].split(",")[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def brightness(page):
    """Return how bright the paper and the words of the body are, and those of a chart's axis."""
    body = [
        page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    ]
    axis = page.locator("#chart-strip .role-axis-label text").first
    return [
        luminance(color) for color in (*body, axis.evaluate("one => getComputedStyle(one).fill"))
    ]


def test_the_theme_follows_the_system_and_the_button_has_the_last_word(report, opened):
    paper, words, axis = brightness(opened(report, scheme="light"))
    assert paper > 200
    assert max(words, axis) < 100
    page = opened(report, scheme="dark")
    paper, words, axis = brightness(page)
    assert paper < 60
    assert min(words, axis) > 130
    page.emulate_media(color_scheme="light")
    page.locator("#chart-strip[data-drawn=light]").wait_for()
    assert brightness(page)[0] > 200, "nobody has chosen yet"
    page.get_by_role("button", name="Dark").click()
    for chart in data_of(page)["charts"]:
        page.locator(f"#chart-{chart['name']}[data-drawn=dark]").wait_for()
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    paper, words, axis = brightness(page)
    assert paper < 60
    assert min(words, axis) > 130
    page.reload()
    page.locator("body[data-ready]").wait_for()
    assert brightness(page)[0] < 60, "remembered"


def test_on_paper_there_are_the_charts_and_no_controls(report, opened):
    page = opened(report)
    page.emulate_media(media="print")
    assert page.locator("nav, #theme, .csv, select").filter(visible=True).count() == 0
    assert page.locator(".chart svg").filter(visible=True).count() >= 15
    assert page.locator("details:not([open])").filter(visible=True).count() == 0, "nobody can open"
    heads = page.locator(".scroll thead th, #story-facts thead th")
    assert heads.filter(visible=True).count() > 10
    assert set(heads.evaluate_all("all => all.map((one) => getComputedStyle(one).position)")) == {
        "static"
    }, "a head that sticks hides the first row of a sheet"
