"""`fedmgda demo`: the main job, end to end, and what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.cli._console import err, out, say
from fedmgda.cli._progress import leave_if_failed, watch_jobs
from fedmgda.cli._tables import rows_table
from fedmgda.experiments import Collection, demo_table, known_ids, open_run, plan_sweep, to_json
from fedmgda.report import Curve, demo_figure, write_picture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.experiments import Row

__all__ = ["run_demo"]

_CALM, _ATTACK = "no", "yes"


def run_demo(path: Path, jobs: int, *, as_json: bool) -> None:
    """Run the sweep of the demo, or what is left of it, and show the table and the picture."""
    collection = Collection(path, plan_sweep(demo_table()))
    if not as_json:
        say(
            err,
            "20 users hold two label-sorted shards of handwritten digits each; 10 of them train an "
            "MLP 64-32-10 in each of 150 rounds. Four rules, two seeds, with and without one user "
            "that inflates its loss 100 times.",
        )
    leave_if_failed(collection, watch_jobs(collection, jobs, quiet=as_json))
    rows = collection.write_table()
    curves = _curves(collection)
    picture = path / "demo.png"
    write_picture(demo_figure(curves), picture, dpi=150)
    if as_json:
        out.print_json(to_json(rows))
        return
    out.print(rows_table(rows))
    out.print()
    say(out, _findings(rows), wrap=True)
    out.print()
    say(out, f"Picture: {picture}")
    say(out, f"Table:   {path / 'summary.csv'} (and .md, .json)")
    say(out, f"Runs:    {path} (one folder each, with every round and user)")


def _curves(collection: Collection) -> list[Curve]:
    """Read from the run folders what the picture shows."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, run in enumerate(collection.runs):
        if collection.folders[index].done:
            groups.setdefault((run.cell["variant"], run.cell["attack"]), []).append(index)
    curves = []
    for (rule, attack), indices in groups.items():
        malicious = known_ids(collection.runs[indices[0]].spec.attack.clients)
        accuracies, improved = [], []
        for found in (open_run(collection.folders[index].path) for index in indices):
            last = found.evaluations[-1]
            accuracies += [
                100.0 * accuracy
                for client, accuracy in zip(last.client_ids, last.accuracies, strict=True)
                if client not in malicious
            ]
            improved.append([row.improved for row in found.rounds])
        curves.append(
            Curve(
                rule=rule,
                attacked=attack != _CALM,
                accuracies=np.array(accuracies),
                improved=np.array(improved, dtype=np.float64).mean(axis=0),
            )
        )
    return curves


def _findings(rows: Sequence[Row]) -> str:
    """Say in two sentences what the table shows, whatever it shows."""
    found = {(row.cell["variant"], row.cell["attack"]): row.means for row in rows}
    rules = list(dict.fromkeys(row.cell["variant"] for row in rows))

    def pair(rule: str, column: str) -> str:
        return f"{found[rule, _CALM][column]:.0f} to {found[rule, _ATTACK][column]:.0f}"

    accuracy = ", ".join(f"{pair(rule, 'average %')} under {rule}" for rule in rules)
    improved = ", ".join(f"{pair(rule, 'improved %')} under {rule}" for rule in rules)
    return (
        "When one user inflates its loss 100 times, the average accuracy of the honest users goes "
        f"from {accuracy} (percent, {rows[0].runs} seeds; each user is tested on 9 images, so a "
        "few points are noise). The share of participants that a round leaves no worse off goes "
        f"from {improved}."
    )
