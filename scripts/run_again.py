"""Run one cell of every published study again, by the sources of its commit and by those of now.

    FEDMGDA_DATA=CACHE python scripts/run_again.py results [STUDY ...]

A few rounds each. Writes into `again.json` whether the evaluations and the model are the same, and
makes `commits.md` anew: commits, seeds and quarantine of all studies (`--page` does only that).
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file

from fedmgda.paper import PublishedStudy, open_published, plan_study
from fedmgda.paper._metrics import measure
from fedmgda.paper._records import record_name

if TYPE_CHECKING:
    from fedmgda.experiments import PlannedRun

ROOT = Path(__file__).parents[1]
ROUNDS = 3
HEAD = (
    "study", "commit", "seeds", "rounds", "runs", "rounds with quarantine, %",
    "with an attacker, %", "run again",
)  # fmt: skip
ABOUT = f"""# Which commit made what, and whether it does so still

Written by `scripts/run_again.py`. Quarantine: the mean over all runs, in brackets the most of one \
run; the first records count quarantined participants, not rounds, and no attackers apart. Last \
column: one cell of the study, named there, was run for {ROUNDS} rounds by the sources of its \
commit and by those of the commit below the table, on one machine. *Same* means that all \
evaluations and every byte of the model are; else the largest differences of a user's accuracy \
and of a parameter."""


def study_folders(results: Path) -> list[Path]:
    """Return the folders of published studies."""
    return sorted(path.parent for path in results.rglob("setting.json"))


def cell_of(published: PublishedStudy, source: Path) -> PlannedRun:
    """Return the run that is made again: protected FedMGDA+, else FedMGDA+, else the first."""
    runs = plan_study(published.study, published.setting)
    kept = [run for run in runs if published.result(run) is not None]
    names = ["FedMGDA+ protected"] if knows(published, source) else []
    for name in [*names, "FedMGDA+"]:
        if found := [run for run in kept if run.cell.get("variant", "").startswith(name)]:
            return found[0]
    return kept[0]


def knows(published: PublishedStudy, source: Path) -> bool:
    """Whether sources have the study itself; else they have the one whose runs it shares."""
    return (source / "fedmgda" / "paper" / "specs" / f"{published.study.name}.toml").is_file()


def run_cell(published: PublishedStudy, chosen: PlannedRun, source: Path, out: Path) -> Path:
    """Run a cell with the sources of a folder, and return the folder of the run."""
    study, setting, seed = published.study, published.setting, chosen.seed
    words = ["reproduce", study.name if knows(published, source) else study.runs]
    words += ["--compat", setting.compat, "--rounds", str(ROUNDS)]
    words += ["--seeds", "1" if seed == 1 else f"{seed}-{seed}"]  # the first one is 1 or 6
    words += [word for row in chosen.cell.values() for word in ("-r", row)]
    words += [word for change in setting.changes for word in ("-c", change)]
    command = [sys.executable, "-m", "fedmgda", *words, "--jobs", "1", "--out", str(out)]
    surroundings = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, env=surroundings, check=True, stdout=subprocess.DEVNULL)
    return next(path.parent for path in out.glob("*/evaluations.jsonl"))


def sources_of(commit: str, folder: Path) -> Path:
    """Unpack the sources of a commit, once."""
    target = folder / commit
    if not target.is_dir():
        target.mkdir()
        words = ["git", "archive", "--format=tar", commit, "src"]
        packed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
        unpack = ["tar", "-x", "-C", str(target)]
        subprocess.run(unpack, input=packed, check=True)
    return target / "src"


def accuracies(run: Path) -> np.ndarray:
    """Return what all users have in all evaluations."""
    lines = (run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    return np.array([json.loads(line)["accuracies"] for line in lines], dtype=np.float64)


def compared(then: Path, now: Path) -> dict[str, Any]:
    """Compare the evaluations and the models of two runs."""
    models = [load_file(run / "model.safetensors") for run in (then, now)]
    gaps = [np.abs(models[0][name] - models[1][name]).max() for name in models[0]]
    users = np.abs(accuracies(then) - accuracies(now)).max()
    return {
        "model_then": digest(models[0]), "model_now": digest(models[1]),
        "accuracy_gap": float(users), "parameter_gap": float(max(gaps)),
    }  # fmt: skip


def digest(model: dict[str, np.ndarray]) -> str:
    """Return the digest of the parameters, whatever else a file says."""
    return hashlib.sha256(b"".join(model[name].tobytes() for name in sorted(model))).hexdigest()


def again(results: Path, folder: Path, scratch: Path) -> list[dict[str, Any]]:
    """Run a cell of a study by each of its commits, and by the sources of now."""
    head = ["git", "rev-parse", "HEAD"]
    here = subprocess.run(head, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    published, name = open_published(folder), str(folder.relative_to(results))
    found: list[dict[str, Any]] = []
    runs: dict[str, Path] = {}
    for commit in sorted({place.commit for place in published.environments if place.commit}):
        source, out = sources_of(commit, scratch), scratch / "runs" / name
        chosen = cell_of(published, source)
        if (key := chosen.folder_name) not in runs:
            runs[key] = run_cell(published, chosen, ROOT / "src", out / key)
        then = run_cell(published, chosen, source, out / commit)
        cell = {"study": name, "commit": commit, "now": here}
        cell |= {"cell": list(chosen.cell.values()), "seed": chosen.seed}
        found.append({**cell, **compared(then, runs[key])})
        print(json.dumps(found[-1]), flush=True)
    return found


def page(results: Path, facts: dict[str, Any]) -> str:
    """Write what every study was made by."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|---|--:|--:|--:|--:|---|"]
    for folder in study_folders(results):
        name = str(folder.relative_to(results))
        mine = [cell for cell in facts["cells"] if cell["study"] == name]
        lines.append("| " + " | ".join(_row(open_published(folder), name, mine)) + " |")
    now = ", ".join(sorted({cell["now"][:7] for cell in facts["cells"]}))
    why = "".join(f"\n- {study}: {text}" for study, text in facts["changes"].items())
    return f"{ABOUT}\n\n" + "\n".join(lines) + f"\n\nSources of now: {now}. What changed:\n{why}\n"


def _row(published: PublishedStudy, name: str, cells: list[dict[str, Any]]) -> list[str]:
    runs = plan_study(published.study, published.setting)
    found = [result for run in runs if (result := published.result(run)) is not None]
    seeds = sorted({result.run.seed for result in found})
    text = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else "".join(map(str, seeds))
    commits = sorted({place.commit[:7] for place in published.environments if place.commit})
    anybody = [measure(result, "quarantined", 1) for result in found]
    if not np.isfinite(anybody).any():
        anybody = [older_share(published, result.run) for result in found]
    attackers = [measure(result, "attackers_quarantined", 1) for result in found]
    return [
        f"[{name}]({name})", ", ".join(commits), text, str(published.setting.rounds),
        str(len(found)), _share(anybody), _share(attackers),
        "; ".join(map(_said, cells)) or "not yet",
    ]  # fmt: skip


def older_share(published: PublishedStudy, run: PlannedRun) -> float:
    """Return the quarantines of a run for every hundred rounds, from a record of the first kind."""
    kept = json.loads(lzma.decompress((published.folder / record_name(run)).read_bytes()))
    return 100.0 * kept["quarantined"] / len(kept["rounds"]["round"])


def _share(values: list[float]) -> str:
    known = [value for value in values if np.isfinite(value)]
    return f"{np.mean(known):.2f} ({max(known):.2f})" if known else "-"


def is_same(cell: dict[str, Any]) -> bool:
    """Whether all evaluations and every byte of the model are the same."""
    return bool(cell["model_then"] == cell["model_now"] and cell["accuracy_gap"] == 0.0)


def _said(cell: dict[str, Any]) -> str:
    where = f"{', '.join(cell['cell'])}, seed {cell['seed']}, {cell['commit'][:7]}"
    if is_same(cell):
        return f"{where}: same ({cell['model_now'][:8]})"
    return f"{where}: {100 * cell['accuracy_gap']:.2g} points, {cell['parameter_gap']:.1e}"


def main() -> None:
    """Run what is asked for, and write."""
    results, names = Path(sys.argv[1]), sys.argv[2:]
    path = results / "again.json"
    facts = json.loads(path.read_text()) if path.exists() else {"cells": [], "changes": {}}
    if names != ["--page"]:
        with tempfile.TemporaryDirectory() as scratch:
            for folder in study_folders(results):
                name = str(folder.relative_to(results))
                if names and name not in names:
                    continue
                others = [cell for cell in facts["cells"] if cell["study"] != name]
                cells = again(results, folder, Path(scratch))
                facts["cells"] = sorted([*others, *cells], key=lambda c: (c["study"], c["commit"]))
                path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    (results / "commits.md").write_text(page(results, facts), encoding="utf-8")


if __name__ == "__main__":
    main()
