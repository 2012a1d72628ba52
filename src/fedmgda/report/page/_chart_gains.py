"""Charts of pairs of runs: what each user has under both, and what it gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.report.page._chart_users import NAMED
from fedmgda.report.page._charts import Chart, Spec, Value, meant, number, text

if TYPE_CHECKING:
    from fedmgda.report.page._table import Table

__all__ = ["dumbbells", "gain_chart"]

_FEW = 12  # users who need not stand close to each other
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
    axis = {"title": None, "labels": users <= NAMED, "ticks": False, "grid": users <= NAMED}
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


def _step(users: int) -> int:
    """Return the height of a user: as much as there is room for."""
    return 26 if users <= _FEW else 14 if users <= NAMED else 7


def dumbbells(table: Table, value: Value) -> Chart:
    """Return for each user what it has there and here, joined by a line."""
    users = len(set(table.column("user")))
    y = _by_gain(users)
    x = number("theirs", value.label, value, scale={"zero": False})
    there = {"filled": False, "size": 34, "strokeWidth": 1.5, "opacity": 1}
    return Chart(
        name="dumbbells",
        lanes=("user",),
        step=_step(users),
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
        "encoding": {"x": {"datum": 0, "type": "quantitative", "axis": x["axis"] | {"grid": True}}},
    }
    sure = ", with its 95 % interval" if known else " (no interval below ten test rows)"
    return Chart(
        name="gain",
        lanes=("user",),
        step=_step(users),
        title=f"What each user gains{sure}",
        description="A dot for each user right of zero where it gains; a bar for its interval.",
        table="gains",
        choose="pair",
        choose_label="Compare",
        runs=False,
        spec={
            "width": "container",
            "layer": [
                zero,
                *({**layer, "encoding": {
                    "y": _by_gain(users), "color": _CALL,
                    "tooltip": _gain_tooltip(value), **layer["encoding"],
                }}
                for layer in (
                    *([bars] if known else []),
                    {
                        "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
                        "encoding": {"x": x},
                    },
                )),
            ],
        },
    )  # fmt: skip
