"""Vega-Lite specs as plain values; the page's script gives them their rows, colours and width.

No text of a run ever enters a spec: names are data, never field names and never expressions. Where
a scale is `RUNS` the script puts the runs that are drawn and their colours; in `meant` it puts the
colours of the theme.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "RUNS",
    "STROKES",
    "Chart",
    "Spec",
    "Value",
    "curve",
    "lines_in_bins",
    "meant",
    "number",
    "text",
    "whole",
]

Spec: TypeAlias = dict[str, Any]

RUNS: Spec = {"$runs": True}

STROKES: Spec = {
    "title": None,
    "symbolType": "stroke",
    "symbolOpacity": 1,
    "symbolStrokeWidth": 3,
    "symbolSize": 260,
}


def meant(**colors: str) -> Spec:
    """Return a scale of a few kinds, each in a colour of the theme.

    Args:
        colors: For each kind good, bad, plain, quiet or warn; "_" in a kind stands for a space.
    """
    return {"$meant": {kind.replace("_", " "): color for kind, color in colors.items()}}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """How values of a kind are shown.

    Attributes:
        label: Beside an axis.
        format: Of d3, in a tooltip: ".1%" for shares.
        axis: Of d3, beside an axis; without a precision, which follows from the step. Of a
            logarithm it is ",~r", which on a linear axis takes a digit too few now and then.
        ticks: Where an axis has its ticks; None where that follows from what is drawn.
    """

    label: str
    format: str = ".3~g"
    axis: str = ",~f"
    ticks: tuple[float, ...] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One drawing.

    Attributes:
        name: Unique in a page.
        title: What is shown, as a sentence or a clause.
        description: For those who do not see it: what is where.
        table: The name of the table it draws.
        spec: Vega-Lite, without data.
        where: The rows that are drawn, by column and cell.
        choose: The column of which one value is drawn at a time, chosen by the reader.
        choose_label: What the choice is called.
        wide: Whether it takes the whole width of a page.
        canvas: Whether it has so many marks that they are painted and not drawn.
        runs: Whether only the runs that the reader has chosen are drawn.
        lanes: The columns whose different cells have a lane each, one below the other.
        step: The height of a lane; 0 where the spec has a height.
        most: How many lanes there are at most.
    """

    name: str
    title: str
    description: str
    table: str
    spec: Spec
    where: Mapping[str, str] | None = None
    choose: str | None = None
    choose_label: str = ""
    wide: bool = False
    canvas: bool = False
    runs: bool = True
    lanes: tuple[str, ...] = ()
    step: int = 0
    most: int | None = None

    def encoded(self) -> dict[str, Any]:
        """Return what the page's script needs of it."""
        return {
            "name": self.name,
            "table": self.table,
            "description": self.description,
            "spec": self.spec,
            "where": dict(self.where or {}),
            "choose": self.choose,
            "canvas": self.canvas,
            "runs": self.runs,
            "lanes": list(self.lanes),
            "step": self.step,
            "most": self.most,
        }


def number(field: str, title: str, value: Value | None = None, **more: Any) -> Spec:
    """Return the encoding of a number."""
    shown = value or Value(label=title)
    axis = {"title": title, "format": shown.axis}
    return {"field": field, "type": "quantitative", "axis": axis, **more}


def whole(field: str) -> Spec:
    """Return the encoding of a count, whose axis has no halves."""
    axis = {"title": field, "format": ",d", "tickMinStep": 1}
    return {"field": field, "type": "quantitative", "axis": axis}


def text(field: str, title: str = "", form: str | None = None) -> Spec:
    """Return a line of a tooltip."""
    line: Spec = {"field": field, "title": title or field}
    return line | ({"type": "quantitative", "format": form} if form else {"type": "nominal"})


def _run_color() -> Spec:
    return {
        "color": {"field": "run", "type": "nominal", "scale": RUNS, "legend": STROKES},
        "strokeDash": {
            "field": "run",
            "type": "nominal",
            "scale": {"$dashes": True},
            "legend": STROKES,
        },
    }


def curve(
    y: Value, *, x: str = "round", zero: bool = False, scale: Spec | None = None, height: int = 260
) -> Spec:
    """Return lines over rounds, with a band from the lowest to the highest seed."""
    y_scale = scale or {"zero": zero}
    across = {
        "field": x,
        "type": "quantitative",
        "axis": {"title": "round", "format": "d", "tickMinStep": 1},
        "scale": {"nice": False},
    }

    def up(field: str) -> Spec:
        axis: Spec = {"title": y.label, "format": y.axis}
        if y.ticks is not None:
            axis["values"] = list(y.ticks)
        return {"field": field, "type": "quantitative", "axis": axis, "scale": y_scale}

    rounds = [text("round", "round", "d")]
    if x == "first round":
        rounds = [text("first round", "from round", "d"), text("last round", "to round", "d")]
    tooltip = [
        text("run"),
        *rounds,
        text("mean", y.label, y.format),
        text("low", "lowest", y.format),
        text("high", "highest", y.format),
    ]
    color = _run_color()
    fill = {"color": {**color["color"]}}
    return {
        "width": "container",
        "height": height,
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.16, "aria": False, "interpolate": "linear"},
                "encoding": {"x": across, "y": up("low"), "y2": {"field": "high"}, **fill},
            },
            {
                "mark": {"type": "line", "strokeWidth": 2, "clip": True},
                "encoding": {"x": across, "y": up("mean"), **color},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "aria": False, "opacity": 0},
                "encoding": {
                    "x": across,
                    "y": up("mean"),
                    "color": color["color"],
                    "tooltip": tooltip,
                },
            },
        ],
    }


def lines_in_bins(y: Value, *, scale: Spec | None = None, zero_line: bool = False) -> Spec:
    """Return lines over bins of rounds, with a band from the least to the largest of a bin."""
    spec = curve(y, x="first round", scale=scale, height=200)
    if zero_line:
        rule = {
            "mark": {"type": "rule", "strokeDash": [2, 3], "aria": False},
            "encoding": {"y": {"datum": 0}},
        }
        spec["layer"].insert(0, rule)
    return spec
