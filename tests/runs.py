"""Small runs, and carrying a run to its end, importable by the processes that tests start."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from fedmgda.experiments import RunFolder, Spec, execute, open_run, parse, resolve
from fedmgda.experiments._tag import spec_tag

RESULTS = (
    "rounds.jsonl", "gram.bin", "evaluations.jsonl", "summary.json", "clients.csv",
    "model.safetensors", "predictions.npz", "partition.npz",
)  # fmt: skip
"""The files that must be the same, byte for byte, however a run came to its end."""

FORMAT_1 = Path(__file__).parent / "data" / "format-1"
"""A run of six rounds that version 0.1 made: `finished`, and `stopped` by kill -9 after three."""


def carry_on(path):
    for _ in execute(RunFolder.open(path)):
        pass


def results(path):
    found = (path / "DONE", *(path / name for name in RESULTS))
    return {file.name: file.read_bytes() for file in found if file.exists() or file == found[0]}


def small_spec(**table):
    """Return a spec that takes tens of milliseconds."""
    base = {
        "rounds": 6,
        "data": {"num_clients": 4},
        "model": {"hidden": [2]},
        "clients": {"per_round": 2},
        "evaluation": {"every": 2},
        "engine": {"checkpoint_seconds": 0.0},
    }
    return resolve(parse(Spec, base | table))


def finished_run(path, **table):
    folder = RunFolder.create(path, small_spec(**table))
    carry_on(path)
    return folder


def stopped_run(path, after=3, **table):
    """Return a run that was dropped after a round, as if its process had gone."""
    folder = RunFolder.create(path, small_spec(**table))
    steps = execute(folder)
    for step in steps:
        if step.round_num == after:
            break
    steps.close()
    return folder


def copy_of(folder, target):
    shutil.copytree(folder, target)
    return target


def mark_finished(path):
    """Mark a folder as finished whose run is not, without the digest of any result."""
    done = {"format": 2, "spec": spec_tag(open_run(path).spec), "files": {}}
    (path / "DONE").write_text(json.dumps(done))
