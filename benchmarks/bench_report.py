"""The page of `fedmgda report` for the demo and for the largest runs it is made for.

Measured: seconds to build it (start of the command to its end, by wall clock and by processor), its
size, and in Chromium the seconds from opening the file until its words are shown, until its first
chart is drawn and until all are. The runs are real ones: those of the demo, and 100 users x 2,000
rounds x 8 variants of a tiny network. Those that are in .bench/report already are not run again.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from _measure import BENCH, machine, text_table, write_result
from chromium import find_chromium, launch
from fedmgda.experiments import RunFolder, demo_table, execute, plan_sweep
from large import ROUNDS, RULES, USERS, large_runs

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

RUNS = BENCH / "report"


def demo_runs(path: Path) -> Path:
    """Run what of the demo is not there."""
    for run in plan_sweep(demo_table()):
        for _ in execute(RunFolder.create(path / run.folder_name, run.spec)):
            pass
    return path


def built(runs: Path, page: Path) -> tuple[float, float]:
    """Make a page; return the seconds by wall clock and by processor."""
    command = [sys.executable, "-m", "fedmgda", "report", str(runs), "-o", str(page)]
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    cpu = after.children_user + after.children_system
    return (
        time.perf_counter() - start,
        cpu - before.children_user - before.children_system,
    )


def shown(browser: Browser, page: Path) -> tuple[float, float, float]:
    """Open a page; return the seconds until words, the first chart, and all charts are there."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(300_000)
    start = time.perf_counter()
    tab.goto(page.as_uri(), wait_until="commit")
    tab.locator(".chart[data-drawn]").first.wait_for()
    first = time.perf_counter() - start
    tab.locator("body[data-ready]").wait_for()
    ready = time.perf_counter() - start
    words = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    context.close()
    return words / 1000, first, ready


def measure(browser: Browser, what: str, runs: Path, repeats: int) -> dict[str, Any]:
    """Return a line of the table: medians."""
    page = RUNS / f"{runs.name}.html"
    builds = [built(runs, page) for _ in range(repeats)]
    views = [shown(browser, page) for _ in range(repeats)]
    wall, cpu = (statistics.median(column) for column in zip(*builds, strict=True))
    words, first, ready = (statistics.median(column) for column in zip(*views, strict=True))
    return {
        "what": what,
        "build_s": wall,
        "build_cpu_s": cpu,
        "size_mb": page.stat().st_size / 1e6,
        "words_s": words,
        "first_chart_s": first,
        "ready_s": ready,
    }


def main() -> None:
    """Measure both pages, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if find_chromium() is None:
        sys.exit("No Chromium or Chrome was found; the page of a report was not measured.")
    demo, large = demo_runs(RUNS / "demo"), large_runs(RUNS / "large")
    facts = machine()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        facts["packages"]["chromium"] = browser.version
        label = f"{USERS} users x {ROUNDS:,} rounds x {2 * len(RULES)} variants"
        rows = [
            measure(browser, "the demo", demo, options.repeats),
            measure(browser, label, large, options.repeats),
        ]
        browser.close()
    print(text_table(rows))
    write_result("report", {"machine": facts, "repeats": options.repeats, "rows": rows})


if __name__ == "__main__":
    main()
