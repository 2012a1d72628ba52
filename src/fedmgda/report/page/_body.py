"""The body of a page: sections, controls and the places that the script fills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.report.page._about import about_runs
from fedmgda.report.page._facts import facts_table
from fedmgda.report.page._first_screen import (
    answer_list,
    headline,
    problems,
    progress_line,
    verdicts,
    what_was_run,
)
from fedmgda.report.page._html import Markup, element, joined, plain_table
from fedmgda.report.page._section import LeftOut, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.report.page._answers import Answer
    from fedmgda.report.page._charts import Chart
    from fedmgda.report.page._facts import GroupFacts
    from fedmgda.report.page._source import Source
    from fedmgda.report.page._table import Table

__all__ = ["page_body"]

_MOST_RUNS = 8  # in one colour scale


def page_body(
    source: Source,
    facts: Sequence[GroupFacts],
    given: Sequence[Answer],
    parts: Sequence[Section | LeftOut],
    measure: str,
) -> Markup:
    """Return everything a reader sees, but for what the script draws."""
    sections = [part for part in parts if isinstance(part, Section)]
    left_out = [part for part in parts if isinstance(part, LeftOut)]
    header = element(
        "header",
        element("p", "fedmgda report", class_="brand"),
        element("button", "Dark", type="button", id="theme", aria_pressed="false"),
        element("h1", headline(source)),
        what_was_run(source, measure),
    )
    about = element(
        "section",
        element("h2", "Spec and environment", id="about-title"),
        about_runs(source),
        id="about",
        aria_labelledby="about-title",
    )
    main = element(
        "main",
        problems(source),
        _verdict(source, facts, given, measure),
        _run_choice(source),
        *(_section(section) for section in sections),
        about,
        _left_out(left_out),
        id="main",
        tabindex="-1",
    )
    return joined(
        [
            element("a", "Skip to the results", href="#main", class_="skip"),
            header,
            _contents(sections),
            main,
            element("footer", element("p", "Made by fedmgda report from the run folders alone.")),
        ]
    )


def _verdict(
    source: Source, facts: Sequence[GroupFacts], given: Sequence[Answer], measure: str
) -> Markup:
    waiting = progress_line(source)
    overview = facts_table(facts, measure)
    return element(
        "section",
        element("h2", "What became of it", id="verdict-title"),
        element("p", waiting, class_="waiting", role="status") if waiting else None,
        answer_list(given),
        element("h3", "Run by run"),
        verdicts(facts, source),
        element(
            "details",
            element("summary", "Every run in one line, as a table"),
            plain_table(overview),
            _csv_button(overview),
        ),
        id="verdict",
        aria_labelledby="verdict-title",
    )


def _contents(sections: Sequence[Section]) -> Markup:
    links = [("verdict", "Verdict"), *((one.name, one.short) for one in sections)]
    links.append(("about", "Spec"))
    items = joined(element("li", element("a", title, href=f"#{name}")) for name, title in links)
    return element("nav", element("ul", items), aria_label="Sections")


def _run_choice(source: Source) -> Markup | None:
    """Return boxes for the runs that are drawn, where there is a choice."""
    if len(source.groups) < 2:
        return None
    boxes = joined(
        element(
            "label",
            element("input", type="checkbox", name="run", value=str(place),
                    checked=place < _MOST_RUNS),
            element("span", class_="swatch", aria_hidden="true"),
            group.name,
        )
        for place, group in enumerate(source.groups)
    )  # fmt: skip
    hint = f" (at most {_MOST_RUNS} at a time)" if len(source.groups) > _MOST_RUNS else ""
    return element(
        "fieldset", element("legend", f"Runs that are drawn{hint}"), boxes, id="run-choice"
    )


def _section(section: Section) -> Markup:
    title = f"{section.name}-title"
    search = None
    if section.search:
        search = element(
            "p",
            element("label", "User ", for_="user-search"),
            element("input", type="search", id="user-search", list="user-names",
                    autocomplete="off", placeholder="name of a user"),
            element("datalist", id="user-names"),
            class_="search",
        )  # fmt: skip
    return element(
        "section",
        element("h2", section.title, id=title),
        *(element("p", sentence, class_="lead") for sentence in section.lead),
        search,
        element("div", id="story-facts", aria_live="polite") if section.search else None,
        plain_table(section.shown) if section.shown is not None else None,
        *_drawings(section),
        *(_numbers(table) for table in section.tables),
        id=section.name,
        aria_labelledby=title,
    )


def _drawings(section: Section) -> list[Markup]:
    """Return the charts; those that are chosen together have one choice, above them."""
    shared = {(chart.table, chart.choose) for chart in section.charts}
    above = len(shared) == 1 < len(section.charts)
    first = section.charts[:1] if above else ()
    figures = [_figure(chart, choice=not above) for chart in section.charts]
    return [
        *(c for chart in first if (c := _choice(chart))),
        element("div", *figures, class_="charts"),
    ]


def _choice(chart: Chart) -> Markup | None:
    if not chart.choose or not chart.choose_label:
        return None
    return element(
        "label",
        f"{chart.choose_label} ",
        element("select", data_chart=chart.name, data_column=chart.choose),
        class_="choice",
    )


def _figure(chart: Chart, *, choice: bool) -> Markup:
    return element(
        "figure",
        element("figcaption", chart.title),
        _choice(chart) if choice else None,
        element("div", class_="chart", id=f"chart-{chart.name}", data_chart=chart.name),
        class_="wide" if chart.wide else None,
    )


def _csv_button(table: Table) -> Markup:
    return element(
        "button", f"Download {table.name}.csv", type="button", class_="csv", data_table=table.name
    )


def _numbers(table: Table) -> Markup:
    return element(
        "details",
        element("summary", f"The numbers: {table.title} ({len(table.rows):,} rows)"),
        _csv_button(table),
        element("div", class_="rows", data_table=table.name),
        class_="numbers-of",
    )


def _left_out(parts: Sequence[LeftOut]) -> Markup | None:
    if not parts:
        return None
    items = (element("li", element("strong", part.title), f" {part.why}") for part in parts)
    return element(
        "section",
        element("h2", "What is not shown, and why", id="left-out-title"),
        element("ul", joined(items)),
        id="left-out",
        aria_labelledby="left-out-title",
    )
