from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def module(name: str) -> Any:
    return importlib.import_module(name)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_the_fitted_exponent_is_that_of_a_power_law(power: float) -> None:
    sizes = np.array([10.0, 30.0, 100.0, 1000.0])
    assert module("_growth").fitted_exponent(sizes, 7.0 * sizes**power) == pytest.approx(power)


def test_works_take_turns_and_the_first_turn_does_not_count() -> None:
    order: list[str] = []
    works = {name: lambda name=name: order.append(name) for name in "abc"}
    seconds = module("_measure").take_turns(works, 2)
    assert "".join(order) == "abc" * 3
    assert [len(times) for times in seconds.values()] == [2, 2, 2]


def test_a_part_is_replaced_and_the_prose_around_it_stays() -> None:
    page = "before\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nafter\n"
    filled = module("write_report").fill(page, {"x": "| 1 |\\2"})
    assert filled == "before\n<!-- bench:x -->\n| 1 |\\2\n<!-- /bench:x -->\nafter\n"


def test_a_part_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="one part 'y', found 0"):
        module("write_report").fill("nothing here", {"y": ""})


def test_every_part_of_the_page_has_a_place_and_every_place_a_part() -> None:
    report = module("write_report")
    page = report.PAGE.read_text(encoding="utf-8")
    places = re.findall("<!-- bench:([a-z0-9]+) -->", page)
    assert sorted(places) == sorted(report.PARTS)


def test_a_goal_is_met_at_its_limit_and_not_beyond() -> None:
    goal = module("_goals").Goal
    least = goal("speed", 2.0, lambda r: r["x"])
    most = goal("share", 2.0, lambda r: r["x"], at_least=False)
    assert [least.judge({"x": x})[1] for x in (1.9, 2.0, 2.1)] == ["**no**", "yes", "yes"]
    assert [most.judge({"x": x})[1] for x in (1.9, 2.0, 2.1)] == ["yes", "yes", "**no**"]


def test_a_peer_that_failed_is_named_with_its_reason_and_counts_as_not_met() -> None:
    goals = module("_goals")
    engines = [
        {"engine": "fedmgda torch", "round_s": 1.0},
        {"engine": "Flower", "failures": ["no space left"]},
    ]
    results = {"w1": {"engines": engines}}
    wanted = "W1, torch path: faster than Flower"
    goal = next(goal for goal in goals.goals() if goal.what == wanted)
    assert goal.judge(results) == ("not measured (Flower: no space left)", "**no**")


def test_the_gap_is_zero_at_the_optimum_only() -> None:
    gap = module("bench_minnorm").relative_gap
    gram = np.diag([1.0, 3.0])
    assert gap(gram, np.array([0.75, 0.25])) == pytest.approx(0.0, abs=1e-15)
    assert gap(gram, np.array([0.5, 0.5])) == pytest.approx(0.5)


def test_an_engine_counts_with_the_median_of_its_good_runs() -> None:
    row = module("bench_w1")._row(
        "x",
        [
            {"first_s": 9.0, "round_s": [1.0, 5.0, 2.0], "versions": {}},
            {"error": "it did not end"},
            {"first_s": 7.0, "round_s": [4.0], "versions": {}},
            {"first_s": 7.0, "round_s": [99.0], "versions": {}, "peak_mb": 12.0},
        ],
    )
    assert (row["round_s"], row["first_s"], row["peak_mb"]) == (3.0, 8.0, 12.0)
    assert row["failures"] == ["it did not end"]


def test_an_engine_that_says_nothing_is_reported_with_its_last_words(tmp_path: Path) -> None:
    launch = module("_launch")
    script = tmp_path / "broken.py"
    script.write_text("raise SystemExit('no such peer')", encoding="utf-8")
    assert launch.launch(Path(sys.executable), [str(script)]) == {"error": "no such peer"}


def test_the_rounds_of_an_engine_are_the_gaps_between_their_ends(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text('print(\'{"ends": [5.0, 5.5, 7.5], "versions": {}}\')', encoding="utf-8")
    run = module("_launch").launch(Path(sys.executable), [str(script)])
    assert run["round_s"] == [0.5, 2.0]
