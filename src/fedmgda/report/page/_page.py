"""One HTML file from run folders: opens from disk, loads nothing, needs no server."""

from __future__ import annotations

import base64
import hashlib
import resource
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, final

from fedmgda._errors import MissingDependencyError, StoreError
from fedmgda._files import read_part
from fedmgda._text import printable
from fedmgda.report.page._answers import answers
from fedmgda.report.page._body import page_body
from fedmgda.report.page._facts import facts_table, group_facts, measure_of
from fedmgda.report.page._first_screen import headline, progress_line
from fedmgda.report.page._html import Markup, element, joined, json_script
from fedmgda.report.page._joined import compare_groups
from fedmgda.report.page._section import Context, Section
from fedmgda.report.page._sections import all_sections
from fedmgda.report.page._source import read_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.report.page._facts import GroupFacts
    from fedmgda.report.page._joined import Joined
    from fedmgda.report.page._section import LeftOut
    from fedmgda.report.page._source import Source

__all__ = ["Page", "build_page", "is_page"]

_MARK = '<meta name="generator" content="fedmgda report">'
_ADDRESSES = (
    68 << 30
)  # bytes: what the JavaScript engine behind the pictures reserves, and a little


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
        compared: What came of comparing them, so that the next page need not do it again.
    """

    html: str
    conclusions: dict[str, str]
    broken: tuple[str, ...]
    waiting: str | None
    going_on: bool
    compared: Joined


def build_page(
    paths: Sequence[Path],
    *,
    metric: str | None = None,
    refresh: int | None = None,
    before: Page | None = None,
) -> Page:
    """Make a page from run folders.

    Args:
        paths: Run folders, or folders of runs.
        metric: What users are compared by; what goes with the data if None.
        refresh: After how many seconds the page should look for a newer one of itself.
        before: The page that was made before of the same folders; comparisons are taken from it
            unless a run has been finished since.

    Raises:
        FedmgdaError: If none of the folders can be opened.
        MissingDependencyError: If the library that draws is not installed.
    """
    script = vega_script()
    source = read_source(paths)
    joined_runs = compare_groups(source, metric, before.compared if before else None)
    measure = measure_of(source)
    facts = [group_facts(group, measure, joined_runs) for group in source.groups]
    context = Context(source=source, joined=joined_runs, measure=measure)
    parts = list(all_sections(context))
    going_on = bool(source.going_on)
    body = page_body(source, facts, answers(facts, joined_runs), parts, measure)
    data = _data(source, facts, parts, measure)
    settings = {"refresh": refresh if going_on else None}
    return Page(
        html=_document(headline(source), body, json_script("page-data", data | settings), script),
        conclusions={one.name: one.sentence for one in facts if one.sentence},
        broken=source.broken,
        waiting=progress_line(source),
        going_on=going_on,
        compared=joined_runs,
    )


def is_page(path: Path) -> bool:
    """Tell whether a file is a page that this module made, by how it begins."""
    with suppress(StoreError):
        return _MARK.encode() in read_part(path, 0, 400)
    return False


@cache
def vega_script() -> str:
    """Return the library that draws: Vega, Vega-Lite and vega-embed, from the installed package.

    Raises:
        MissingDependencyError: If it is not installed.
        MemoryError: If it cannot be used within the limit of addresses.
    """
    try:
        import vl_convert  # noqa: PLC0415 (optional, and slow to import)
    except ImportError as error:
        raise MissingDependencyError(
            "A report needs vl-convert-python; install it with: pip install 'fedmgda[report]'."
        ) from error
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= limit < _ADDRESSES:  # its engine would end the whole process
        raise MemoryError(
            f"a report reserves {_ADDRESSES >> 30} GiB of addresses, and the limit of this process "
            f"is {limit >> 30}; raise it (ulimit -v unlimited)"
        )
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
