"""HTML, with every text escaped in one place."""

from __future__ import annotations

import html
import json
import math
import re
from typing import TYPE_CHECKING, Any, final

from fedmgda._text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedmgda.report.page._table import Cell, Table

__all__ = ["Markup", "element", "joined", "json_script", "plain_table"]

_VOID = frozenset({"meta", "input", "br", "wbr"})


@final
class Markup(str):
    """Text that is HTML already; only this module makes it from what is not ours."""

    __slots__ = ()


def element(name: str, /, *inside: str | Markup | None, **attributes: str | bool | None) -> Markup:
    """Return an element; whatever is not `Markup` is text, and so are all attributes.

    Args:
        name: Of the element.
        inside: What it holds; None is nothing.
        attributes: By name, "_" standing for "-" and a last one for nothing, as in `class_`; None
            and False leave it out, True has no value.

    >>> element("p", "a < b", class_="x")
    '<p class="x">a &lt; b</p>'
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(inside)}</{name}>")


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(value)}"'


def joined(parts: Iterable[str | Markup | None]) -> Markup:
    """Return parts one behind the other, those that are not `Markup` as text."""
    return Markup(
        "".join(
            part if isinstance(part, Markup) else _escaped(part)
            for part in parts
            if part is not None
        )
    )


def _escaped(text: str) -> str:
    return html.escape(printable(text), quote=True)


def json_script(name: str, value: Any) -> Markup:
    r"""Return data for the page's script, in which nothing can end the element or a line.

    >>> json_script("d", ["</script>"])
    '<script type="application/json" id="d">["\\u003c/script\\u003e"]</script>'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(f'<script type="application/json" id="{_escaped(name)}">{text}</script>')


def plain_table(table: Table) -> Markup:
    """Return a table that needs no script; numbers stand right."""
    kinds = [_kind(table.column(column)) for column in table.columns]
    head = joined(
        element("th", _breakable(column), scope="col", class_=kind)
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    shares = [column in table.percent for column in table.columns]
    lines = (
        joined(
            element("th", _breakable(_shown(cell, share=share)), scope="row")
            if place == 0
            else element("td", _shown(cell, share=share), class_=kind)
            for place, (cell, share, kind) in enumerate(zip(row, shares, kinds, strict=True))
        )
        for row in table.rows
    )
    return element(
        "div",
        element(
            "table",
            element("caption", table.title),
            element("thead", element("tr", head)),
            element("tbody", joined(element("tr", line) for line in lines)),
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=table.title,
    )


def _breakable(name: str) -> Markup:
    """Return a name that may go on in the next line after each of its parts.

    >>> _breakable("server.lr")
    'server.<wbr>lr'
    """
    return Markup(element("wbr").join(joined([part]) for part in re.split(r"(?<=[._=/])", name)))


def _kind(cells: list[Cell]) -> str | None:
    """Tell a column of numbers, which stand right, from one of texts."""
    return "number" if any(isinstance(cell, int | float) for cell in cells) else None


def _shown(cell: Cell, *, share: bool) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, str):
        return cell
    if share:
        return f"{100 * cell:.1f} %"
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.3g}"
