"""Charts over rounds: average and worst, who improved, what was held, the certificate."""

from __future__ import annotations

from fedmgda.report.page._charts import Chart, Spec, Value, curve, lines_in_bins, meant, text

__all__ = ["average_charts", "certificate_charts", "idle_chart", "improved_chart", "pareto_chart"]


def average_charts(measure: str, value: Value, span: tuple[float, float]) -> list[Chart]:
    """Return the average user, and the worst 5 %, over rounds, on one scale."""
    found = []
    for name, of, whom in (
        ("average", "average", "The average user"),
        ("worst", "worst 5 %", "The worst 5 % of users"),
    ):
        found.append(
            Chart(
                name=name,
                title=f"{whom}: test {measure} over rounds",
                description=f"A line for each run: test {measure} after each evaluated round.",
                table="rounds",
                where={"measure": of},
                spec=curve(value, scale={"domain": _with_room(span), "nice": False}),
            )
        )
    return found


def _with_room(span: tuple[float, float]) -> list[float]:
    """Return a scale whose ends are no line's: half of one there would not be seen."""
    room = 0.02 * (span[1] - span[0]) or 0.01
    return [span[0] - room, span[1] + room]


def improved_chart() -> Chart:
    """Return the share of participants that a round left no worse off."""
    scale = {"domain": [0, 101]}  # so that a line at 100 is seen whole
    return Chart(
        name="improved",
        title="Participants that a round left with no higher training loss",
        description="A line for each run, in percent of a round's participants, smoothed.",
        table="improved",
        wide=True,
        spec=curve(Value(label="percent of participants", format=".3~g"), scale=scale),
    )


def idle_chart() -> Chart:
    """Return in which rounds nothing moved, or the step went against somebody."""
    scale = meant(held="plain", stalled="warn", failed="quiet", against_somebody="bad")
    return Chart(
        name="idle",
        lanes=("run", "kind"),
        step=26,
        title="Rounds that were held, stalled, failed, or went against a participant",
        description="A strip for each run and kind; the darker, the more rounds of a span.",
        table="idle",
        wide=True,
        spec={
            "width": "container",
            "transform": [
                {"calculate": "datum.run + ': ' + datum.kind", "as": "lane"},
                {"calculate": "datum['last round'] + 1", "as": "end"},
            ],
            "mark": {"type": "rect"},
            "encoding": {
                "x": {
                    "field": "first round", "type": "quantitative",
                    "axis": {"title": "round", "format": "d", "grid": False, "tickMinStep": 1},
                    "scale": {"nice": False, "zero": False},
                },
                "x2": {"field": "end"},
                "y": {"field": "lane", "type": "nominal", "axis": {"title": None}, "sort": None},
                "color": {"field": "kind", "type": "nominal", "scale": scale,
                          "legend": {"title": None}},
                "opacity": {"field": "percent", "type": "quantitative", "legend": None,
                            "scale": {"domain": [0, 100], "range": [0, 1]}},
                "tooltip": [
                    text("run"), text("kind"), text("first round", "from round", "d"),
                    text("last round", "to round", "d"), text("rounds", "such rounds", "d"),
                    text("percent", "percent of rounds", ".3~g"),
                ],
            },
        },
    )  # fmt: skip


# A symmetric logarithm has even ticks by itself, of which most would stand on top of each other.
_DECADES = tuple(10.0**power for power in range(-3, 7))
_BOTH_SIDES = (*(-one for one in reversed(_DECADES)), 0.0, *_DECADES)
_TINY = (0.0, *(10.0**power for power in range(-17, 1)))

_CERTIFICATE: dict[str, tuple[Value, str, Spec]] = {
    "norm": (Value(label="‖d‖", axis=",~r"), "Length of the common direction", {"type": "log"}),
    "min_inner": (
        Value(label="min ⟨gᵢ, d⟩", axis=",~r", ticks=_BOTH_SIDES),
        "The participant that is served least: below 0, the step goes against it",
        {"type": "symlog", "constant": 1e-3},
    ),
    "gap": (
        Value(label="duality gap", axis="~g", ticks=_TINY),
        "How far λ is from the exact answer",
        {"type": "symlog", "constant": 1e-17},
    ),
    "omega": (
        Value(label="ω"),
        "Room for a step that serves all, in protected rounds",
        {"zero": True},
    ),
}


def certificate_charts(parts: set[str]) -> list[Chart]:
    """Return a chart for each part of the certificate that is known."""
    return [
        Chart(
            name=f"certificate-{part.replace('_', '-')}",
            title=title,
            description="A line for each run: mean over a span of rounds; the band is its range.",
            table="certificate",
            where={"part": part},
            spec=lines_in_bins(value, scale=scale, zero_line=part == "min_inner"),
        )
        for part, (value, title, scale) in _CERTIFICATE.items()
        if part in parts
    ]


def pareto_chart() -> Chart:
    """Return the distance from Pareto stationarity over rounds."""
    return Chart(
        name="pareto-residual",
        title="Pareto residual min ‖Jλ‖: 0 where nobody can gain without another's loss",
        description="A line for each run: the residual after each evaluated round.",
        table="pareto",
        wide=True,
        spec=curve(Value(label="min ‖Jλ‖", axis=",~r"), scale={"type": "log"}),
    )
