"""Charts of what was logged: who blocked, one user's story, attacks, quarantine, time."""

from __future__ import annotations

from fedmgda.report.page._charts import (
    RUNS,
    Chart,
    Spec,
    Value,
    curve,
    lines_in_bins,
    meant,
    number,
    text,
    whole,
)

__all__ = [
    "attack_users_chart",
    "attack_weight_chart",
    "blocking_chart",
    "quarantine_chart",
    "seconds_chart",
    "story_chart",
]

_RUN: Spec = {"field": "run", "type": "nominal", "axis": {"title": None}, "sort": None}


def blocking_chart(users: int) -> Chart:
    """Return whom rounds went against, and who opposed them."""
    return Chart(
        name="blocking-bars",
        lanes=("user",),
        step=16,
        most=25,
        title="Rounds that went against a client, or that it opposed",
        description="A bar for each client, as long as the number of such rounds.",
        table="blocking",
        choose="run",
        choose_label="Run",
        runs=False,
        wide=True,
        spec={
            "width": "container",
            "transform": [
                {"window": [{"op": "row_number", "as": "place"}],
                 "sort": [{"field": "rounds", "order": "descending"}]},
                {"filter": f"datum.place <= {min(users, 25)}"},
            ],
            "mark": {"type": "bar", "cursor": "pointer"},
            "encoding": {
                "x": whole("rounds"),
                "y": {"field": "user", "type": "nominal", "axis": {"title": None},
                      "sort": {"field": "rounds", "op": "sum", "order": "descending"}},
                "color": {"field": "what", "type": "nominal", "legend": {"title": None},
                          "scale": {"$palette": True}},
                "tooltip": [
                    text("user"), text("what"), text("rounds", "rounds", "d"),
                    text("of its rounds", "of its rounds", "d"),
                ],
            },
        },
    )  # fmt: skip


def story_chart(value: Value, *, bands: bool) -> Chart:
    """Return one user's curve under every run, and its range over seeds where it has one."""
    spec = curve(value)
    area, line, points = spec["layer"]
    points["mark"] = {"type": "point", "filled": True, "size": 40, "opacity": 1}
    points["encoding"]["tooltip"] = [
        text("run"), text("user"), text("round", "round", "d"),
        text("value", value.label, value.format),
        *([text("low", "lowest seed", value.format), text("high", "highest seed", value.format)]
          if bands else []),
    ]  # fmt: skip
    for layer in (line, points):
        layer["encoding"]["y"] = {**layer["encoding"]["y"], "field": "value"}
    spec["layer"] = [area, line, points] if bands else [line, points]
    return Chart(
        name="story-curve",
        title=f"This user's {value.label} over rounds",
        description="A line for each run: the chosen user after each evaluated round.",
        table="story",
        wide=True,
        choose="user",
        choose_label="",
        spec=spec,
    )


def attack_users_chart(value: Value) -> Chart:
    """Return honest and malicious users apart."""
    kinds = meant(honest="plain", malicious="bad")
    return Chart(
        name="attack-users",
        lanes=("run",),
        step=46,
        title=f"{value.label.capitalize()} of honest and malicious users",
        description="A dot for each user and seed; malicious ones are crosses.",
        table="attack",
        wide=True,
        spec={
            "width": "container",
            "mark": {"type": "point", "filled": True, "size": 50, "opacity": 0.7},
            "encoding": {
                "x": number("value", value.label, value, scale={"zero": False}),
                "y": _RUN,
                "yOffset": {"field": "kind", "type": "nominal"},
                "color": {"field": "kind", "type": "nominal", "scale": kinds,
                          "legend": {"title": None}},
                "shape": {"field": "kind", "type": "nominal", "legend": {"title": None},
                          "scale": {"domain": ["honest", "malicious"],
                                    "range": ["circle", "cross"]}},
                "tooltip": [
                    text("user"), text("kind"), text("run"), text("seed"),
                    text("value", value.label, value.format),
                ],
            },
        },
    )  # fmt: skip


def attack_weight_chart() -> Chart:
    """Return the share of λ that attackers had."""
    return Chart(
        name="attack-lambda",
        title="Share of λ that the attackers had",
        description="A line for each run: how much weight attackers had in the step.",
        table="attack-weight",
        wide=True,
        spec=lines_in_bins(
            Value(label="share of λ", format=".1%", axis="~%"), scale={"zero": True}
        ),
    )


def quarantine_chart() -> Chart:
    """Return how many replies did not count, by reason."""
    return Chart(
        name="quarantine-reasons",
        lanes=("reason",),
        step=24,
        title="Replies that did not count, by reason",
        description="A bar for each reason.",
        table="quarantine-reasons",
        wide=True,
        spec={
            "width": "container",
            "mark": {"type": "bar"},
            "encoding": {
                "x": whole("replies"),
                "y": {"field": "reason", "type": "nominal", "sort": "-x",
                      "axis": {"title": None}},
                "color": {"field": "run", "type": "nominal", "scale": RUNS,
                          "legend": {"title": None}},
                "tooltip": [text("run"), text("reason"), text("replies", "replies", ",d")],
            },
        },
    )  # fmt: skip


def seconds_chart() -> Chart:
    """Return where the time of a round went."""
    return Chart(
        name="seconds-bars",
        lanes=("run",),
        step=30,
        title="Seconds a round, by phase",
        description="A bar for each run, divided by the phases of a round.",
        table="seconds",
        wide=True,
        spec={
            "width": "container",
            "mark": {"type": "bar"},
            "encoding": {
                "x": number("seconds a round", "seconds a round"),
                "y": _RUN,
                "color": {"field": "phase", "type": "nominal", "legend": {"title": None},
                          "scale": {"$palette": True}},
                "tooltip": [
                    text("run"), text("phase"),
                    text("seconds a round", "seconds a round", ".3~g"),
                    text("seconds", "seconds in all", ",.3~f"), text("rounds", "rounds", ",d"),
                ],
            },
        },
    )  # fmt: skip
