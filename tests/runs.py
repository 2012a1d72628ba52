"""Carrying a run to its end, importable by the processes that tests start and kill."""

from __future__ import annotations

from fedmgda.experiments import RunFolder, execute

RESULTS = ("rounds.jsonl", "evaluations.jsonl", "summary.json", "model.safetensors")
"""The files that must be the same, byte for byte, however a run came to its end."""


def carry_on(path):
    for _ in execute(RunFolder.open(path)):
        pass


def results(path):
    return {name: (path / name).read_bytes() for name in RESULTS}
