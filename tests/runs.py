"""Carrying a run to its end, importable by the processes that tests start and kill."""

from __future__ import annotations

from fedmgda.experiments import RunFolder, execute

RESULTS = (
    "rounds.jsonl", "gram.bin", "evaluations.jsonl", "summary.json", "clients.csv",
    "model.safetensors", "predictions.npz", "partition.npz",
)  # fmt: skip
"""The files that must be the same, byte for byte, however a run came to its end."""


def carry_on(path):
    for _ in execute(RunFolder.open(path)):
        pass


def results(path):
    found = (path / "DONE", *(path / name for name in RESULTS))
    return {file.name: file.read_bytes() for file in found if file.exists() or file == found[0]}
