"""Charts of users: how each is served, and who steers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.report.page._charts import RUNS, STROKES, Chart, Spec, Value, number, text

if TYPE_CHECKING:
    from fedmgda.report.page._table import Table

__all__ = ["NAMED", "ecdf_chart", "steering_chart", "strip_chart"]

NAMED = 60  # users whose names have room beside an axis
_BARS = 40  # users of whom every interval can be drawn without hiding the others

_SCATTER: list[Spec] = [
    {"window": [{"op": "row_number", "as": "n"}], "groupby": ["run"]},
    {"calculate": "(datum.n * 0.618034) % 1", "as": "spread"},
]
_ACROSS: Spec = {
    "yOffset": {
        "field": "spread", "type": "quantitative", "scale": {"domain": [-0.25, 1.25]},
    }
}  # fmt: skip


def strip_chart(table: Table, value: Value) -> Chart:
    """Return every user as a dot, a row for each run."""
    users = len(set(table.column("user")))
    x = number("value", value.label, value, scale={"zero": False})
    tooltip = [
        text("user"), text("run"), text("value", value.label, value.format),
        text("low", "95 % from", value.format), text("high", "95 % to", value.format),
        text("test rows", "test rows", ",d"), text("kind"),
    ]  # fmt: skip
    y = {"field": "run", "type": "nominal", "axis": {"title": None}, "sort": None}
    color = {"field": "run", "type": "nominal", "scale": RUNS, "legend": None}
    intervals: list[Spec] = [
        {
            "mark": {"type": "rule", "opacity": 0.3, "aria": False},
            "encoding": {
                "x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, **_ACROSS,
                "color": color,
            },
        }
    ]  # fmt: skip
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 46, "opacity": 0.75, "cursor": "pointer"},
        "encoding": {
            "x": x, "y": y, **_ACROSS, "color": color, "tooltip": tooltip,
            "shape": {
                "field": "kind", "type": "nominal", "legend": None,
                "scale": {"domain": ["honest", "malicious"], "range": ["circle", "cross"]},
            },
        },
    }  # fmt: skip
    mean: Spec = {
        "mark": {"type": "tick", "thickness": 3, "size": 40, "aria": False, "$ink": True},
        "encoding": {"x": {**x, "aggregate": "mean"}, "y": y},
    }
    return Chart(
        name="strip",
        lanes=("run",),
        step=52,
        title=f"Every user's {value.label}; a line marks the mean",
        description=f"One dot for each user, from left to right by {value.label}; one row per run.",
        table="users",
        wide=True,
        spec={
            "width": "container",
            "transform": _SCATTER,
            "layer": [*(intervals if users <= _BARS else []), mean, points],
        },
    )


def ecdf_chart(value: Value) -> Chart:
    """Return the share of users up to each value."""
    return Chart(
        name="ecdf",
        title=f"Share of users with at most this {value.label}",
        description="A rising line for each run; further to the right is more for everybody.",
        table="users",
        wide=True,
        spec={
            "width": "container",
            "height": 240,
            "transform": [
                {
                    "window": [{"op": "cume_dist", "as": "share"}],
                    "sort": [{"field": "value"}],
                    "groupby": ["run"],
                }
            ],
            "encoding": {
                "x": number("value", value.label, value, scale={"zero": False}),
                "y": number("share", "share of users", Value(label="share", axis="~%")),
                "color": {
                    "field": "run", "type": "nominal", "scale": RUNS, "legend": STROKES,
                },
            },
            "layer": [
                {
                    "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
                    "encoding": {
                        "order": {"field": "value", "type": "quantitative"},
                        "strokeDash": {
                            "field": "run", "type": "nominal", "scale": {"$dashes": True},
                            "legend": STROKES,
                        },
                    },
                },
                {
                    "mark": {"type": "point", "size": 90, "opacity": 0, "aria": False,
                             "cursor": "pointer"},
                    "encoding": {
                        "tooltip": [
                            text("user"), text("run"), text("value", value.label, value.format),
                            text("share", "users up to here", ".0%"),
                        ],
                    },
                },
            ],
        },
    )  # fmt: skip


def steering_chart(table: Table) -> Chart:
    """Return λ as a heat map of clients and rounds."""
    users = len(set(table.column("user")))
    return Chart(
        name="steering-map",
        lanes=("user",),
        step=14 if users <= NAMED else 6,
        title="λ by client and round: who steers most is at the top",
        description="A row for each client, from the first round to the last; bright is much λ.",
        table="steering",
        choose="run",
        choose_label="Run",
        wide=True,
        canvas=True,
        runs=False,
        spec={
            "width": "container",
            "mark": {"type": "rect"},
            "transform": [{"calculate": "datum['last round'] + 1", "as": "end"}],
            "encoding": {
                "x": {
                    "field": "first round", "type": "quantitative",
                    "axis": {"title": "round", "format": "d", "grid": False, "tickMinStep": 1},
                    "scale": {"nice": False, "zero": False},
                },
                "x2": {"field": "end"},
                "y": {
                    "field": "user", "type": "nominal",
                    "sort": {"field": "lambda", "op": "sum", "order": "descending"},
                    "axis": {"title": None, "labels": users <= NAMED, "ticks": False},
                },
                "color": {
                    "field": "lambda", "type": "quantitative", "scale": {"scheme": "viridis"},
                    "legend": {"title": "mean λ", "format": ".2~f"},
                },
                "tooltip": [
                    text("user"), text("first round", "from round", "d"),
                    text("last round", "to round", "d"), text("lambda", "mean λ", ".3f"),
                    text("rounds", "rounds it took part", "d"),
                ],
            },
        },
    )  # fmt: skip
