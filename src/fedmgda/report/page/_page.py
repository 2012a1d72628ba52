"""One HTML file from run folders: opens from disk, loads nothing, needs no server."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, final

from fedmgda._errors import MissingDependencyError
from fedmgda._text import printable
from fedmgda.report.page._facts import facts_table, group_facts, measure_of
from fedmgda.report.page._first_screen import (
    about_runs,
    headline,
    problems,
    progress_line,
    verdicts,
    what_was_run,
)
from fedmgda.report.page._html import Markup, element, joined, json_script, plain_table
from fedmgda.report.page._joined import compare_groups
from fedmgda.report.page._section import Context, LeftOut, Section
from fedmgda.report.page._sections import all_sections
from fedmgda.report.page._source import read_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.report.page._charts import Chart
    from fedmgda.report.page._facts import GroupFacts
    from fedmgda.report.page._source import Source
    from fedmgda.report.page._table import Table

__all__ = ["Page", "build_page", "is_page"]

_MARK = '<meta name="generator" content="fedmgda report">'
_MOST_RUNS = 8  # in one colour scale


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page and what a terminal says of it.

    Attributes:
        html: The file.
        conclusions: The sentences that must be read, by the names of the runs.
        broken: A sentence for everything that is missing or broken.
        waiting: How far the runs are that are not finished; None if all are.
        going_on: Whether some process works on one of them.
    """

    html: str
    conclusions: dict[str, str]
    broken: tuple[str, ...]
    waiting: str | None
    going_on: bool


def build_page(
    paths: Sequence[Path], *, metric: str | None = None, refresh: int | None = None
) -> Page:
    """Make a page from run folders.

    Args:
        paths: Run folders, or folders of runs.
        metric: What users are compared by; what goes with the data if None.
        refresh: After how many seconds the page should look for a newer one of itself.

    Raises:
        FedmgdaError: If none of the folders can be opened.
        MissingDependencyError: If the library that draws is not installed.
    """
    script = vega_script()
    source = read_source(paths)
    joined_runs = compare_groups(source, metric)
    measure = measure_of(source)
    facts = [group_facts(group, measure, joined_runs) for group in source.groups]
    context = Context(source=source, joined=joined_runs, measure=measure)
    parts = list(all_sections(context))
    going_on = bool(source.going_on)
    body = _body(source, facts, parts, measure)
    data = _data(source, facts, parts, measure)
    settings = {"refresh": refresh if going_on else None}
    return Page(
        html=_document(headline(source), body, json_script("page-data", data | settings), script),
        conclusions={one.name: one.sentence for one in facts if one.sentence},
        broken=source.broken,
        waiting=progress_line(source),
        going_on=going_on,
    )


def is_page(path: Path) -> bool:
    """Tell whether a file is a page that this module made, by how it begins."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return _MARK in file.read(400)
    except OSError:
        return False


@cache
def vega_script() -> str:
    """Return the library that draws: Vega, Vega-Lite and vega-embed, from the installed package.

    Raises:
        MissingDependencyError: If it is not installed.
    """
    try:
        import vl_convert  # noqa: PLC0415 (optional, and slow to import)
    except ImportError as error:
        raise MissingDependencyError(
            "A report needs vl-convert-python; install it with: pip install 'fedmgda[report]'."
        ) from error
    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # both have defaults
    return bundle.replace("</script", "<\\/script")


def _own(name: str) -> str:
    return (files("fedmgda.report.page") / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _document(title: str, body: Markup, data: Markup, vega: str) -> str:
    own = _own("page.js")
    # Nothing is loaded, and no script runs but these two: a name that looks like one cannot.
    policy = (
        f"default-src 'none'; script-src {_digest(vega)} {_digest(own)}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = joined(
        [
            element("meta", charset="utf-8"),
            Markup(_MARK),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("title", f"{title} – fedmgda report"),
            Markup(f"<style>{_own('page.css')}</style>"),
        ]
    )
    scripts = Markup(f"<script>{vega}</script>\n<script>{own}</script>")
    page = joined([element("head", head), element("body", body, data, scripts)])
    return f'<!doctype html>\n<html lang="en">{page}</html>\n'


def _body(
    source: Source,
    facts: Sequence[GroupFacts],
    parts: Sequence[Section | LeftOut],
    measure: str,
) -> Markup:
    sections = [part for part in parts if isinstance(part, Section)]
    left_out = [part for part in parts if isinstance(part, LeftOut)]
    waiting = progress_line(source)
    overview = facts_table(facts, measure)
    header = element(
        "header",
        element("p", "fedmgda report", class_="brand"),
        element("button", "Dark", type="button", id="theme", aria_pressed="false"),
        element("h1", headline(source)),
    )
    first = element(
        "section",
        element("h2", "What became of it", id="verdict-title"),
        element("p", waiting, class_="waiting", role="status") if waiting else None,
        verdicts(facts, source),
        element("h3", "What was run"),
        what_was_run(source, measure),
        element(
            "details",
            element("summary", "Every run in one line, as a table"),
            plain_table(overview.columns, overview.rows, overview.title),
            _csv_button(overview),
        ),
        id="verdict",
        aria_labelledby="verdict-title",
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
        first,
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


def _contents(sections: Sequence[Section]) -> Markup:
    links = [("verdict", "What became of it"), *((one.name, one.title) for one in sections)]
    links.append(("about", "Spec and environment"))
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
        element("div", *(_figure(chart) for chart in section.charts), class_="charts"),
        *(_numbers(table) for table in section.tables),
        id=section.name,
        aria_labelledby=title,
    )


def _figure(chart: Chart) -> Markup:
    choice = None
    if chart.choose and chart.choose_label:
        choice = element(
            "label",
            f"{chart.choose_label} ",
            element("select", data_chart=chart.name, data_column=chart.choose),
            class_="choice",
        )
    return element(
        "figure",
        element("figcaption", chart.title),
        choice,
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


def _data(
    source: Source,
    facts: Sequence[GroupFacts],
    parts: Sequence[Section | LeftOut],
    measure: str,
) -> dict[str, object]:
    sections = [part for part in parts if isinstance(part, Section)]
    tables = [facts_table(facts, measure), *(t for section in sections for t in section.tables)]
    charts = [chart for section in sections for chart in section.charts]
    return {
        "runs": [printable(group.name) for group in source.groups],
        "measure": measure,
        "tables": {table.name: table.encoded() for table in tables},
        "charts": [chart.encoded() for chart in charts],
    }
