"""Charts of users: how each is served, what each gains, who steers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.report.page._charts import RUNS, STROKES, Chart, Spec, Value, meant, number, text

if TYPE_CHECKING:
    from fedmgda.report.page._table import Table

__all__ = [
    "dumbbells", "ecdf_chart", "gain_chart", "steering_chart", "strip_chart",
]  # fmt: skip

_NAMED = 60  # users whose names have room beside an axis
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
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
            "encoding": {
                "x": number("value", value.label, value, scale={"zero": False}),
                "y": number("share", "share of users", Value(label="share", axis=".0%")),
                "order": {"field": "value", "type": "quantitative"},
                "color": {
                    "field": "run", "type": "nominal", "scale": RUNS, "legend": STROKES,
                },
                "strokeDash": {
                    "field": "run", "type": "nominal", "scale": {"$dashes": True},
                    "legend": STROKES,
                },
            },
        },
    )  # fmt: skip


_CALLS = meant(
    better_beyond_chance="good", higher="plain", the_same="quiet", lower="warn",
    worse_beyond_chance="bad",
)  # fmt: skip
_CALL: Spec = {
    "field": "call",
    "type": "nominal",
    "scale": _CALLS,
    "legend": {"title": None, "symbolOpacity": 1},
}


def _by_gain(users: int) -> Spec:
    axis = {"title": None, "labels": users <= _NAMED, "ticks": False, "grid": users <= _NAMED}
    return {
        "field": "user",
        "type": "nominal",
        "sort": {"field": "gain", "op": "mean", "order": "ascending"},
        "axis": axis,
    }


def _gain_tooltip(value: Value) -> list[Spec]:
    return [
        text("user"), text("pair"), text("ours", "here", value.format),
        text("theirs", "there", value.format), text("gain", "gain", f"+{value.format}"),
        text("gain low", "95 % from", f"+{value.format}"),
        text("gain high", "95 % to", f"+{value.format}"),
        text("p worse", "p of being worse", ".3f"), text("test rows", "test rows", ",d"),
        text("call"),
    ]  # fmt: skip


def dumbbells(table: Table, value: Value) -> Chart:
    """Return for each user what it has there and here, joined by a line."""
    users = len(set(table.column("user")))
    y = _by_gain(users)
    x = number("theirs", value.label, value, scale={"zero": False})
    there = {"filled": False, "size": 34, "strokeWidth": 1.5, "opacity": 1}
    return Chart(
        name="dumbbells",
        lanes=("user",),
        step=14 if users <= _NAMED else 7,
        title="From there (open dot) to here (filled dot), who loses most first",
        description="A line for each user joins its value under the two runs.",
        table="gains",
        choose="pair",
        choose_label="Compare",
        runs=False,
        spec={
            "width": "container",
            "encoding": {"y": y, "color": _CALL, "tooltip": _gain_tooltip(value)},
            "layer": [
                {
                    "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.7, "aria": False},
                    "encoding": {"x": x, "x2": {"field": "ours"}},
                },
                {
                    "mark": {"type": "point", **there, "aria": False},
                    "encoding": {"x": x},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
                    "encoding": {"x": {**x, "field": "ours"}},
                },
            ],
        },
    )


def gain_chart(table: Table, value: Value) -> Chart:
    """Return what each user gains, with its interval."""
    users = len(set(table.column("user")))
    x = number("gain", "gain (to the right of 0: better off here)", value)
    bars: Spec = {
        "mark": {"type": "rule", "opacity": 0.55, "aria": False},
        "encoding": {"x": {**x, "field": "gain low"}, "x2": {"field": "gain high"}},
    }
    known = any(cell == cell for cell in table.column("gain low"))  # noqa: PLR0124 (NaN)
    zero: Spec = {
        "mark": {"type": "rule", "strokeWidth": 1.5, "aria": False, "$ink": True},
        "encoding": {"x": {"datum": 0}},
    }
    return Chart(
        name="gain",
        lanes=("user",),
        step=14 if users <= _NAMED else 7,
        title="What each user gains, with its 95 % interval",
        description="A dot for each user right of zero where it gains; a bar for its interval.",
        table="gains",
        choose="pair",
        choose_label="Compare",
        runs=False,
        spec={
            "width": "container",
            "layer": [
                {**layer, "encoding": {
                    "y": _by_gain(users), "color": _CALL,
                    "tooltip": _gain_tooltip(value), **layer["encoding"],
                }}
                for layer in (
                    *([bars] if known else []),
                    {
                        "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
                        "encoding": {"x": x},
                    },
                )
            ] + [zero],
        },
    )  # fmt: skip


def steering_chart(table: Table) -> Chart:
    """Return λ as a heat map of clients and rounds."""
    users = len(set(table.column("user")))
    return Chart(
        name="steering-map",
        lanes=("user",),
        step=14 if users <= _NAMED else 6,
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
                    "axis": {"title": "round", "format": "d", "grid": False},
                    "scale": {"nice": False, "zero": False},
                },
                "x2": {"field": "end"},
                "y": {
                    "field": "user", "type": "nominal",
                    "sort": {"field": "lambda", "op": "sum", "order": "descending"},
                    "axis": {"title": None, "labels": users <= _NAMED, "ticks": False},
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
