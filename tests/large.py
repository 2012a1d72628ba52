"""The largest runs that a page is made for: 100 users, 2,000 rounds, eight variants.

They are real runs, of a network as small as can be, so that they take a minute and not an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.experiments import RunFolder, Spec, parse, resolve
from runs import carry_on

if TYPE_CHECKING:
    from pathlib import Path

USERS, ROUNDS = 100, 2000
RULES = ("fedavg", "fedavg-n", "fedmgda+", "q-fedavg")
ATTACKS = {"honest": {"name": "none"}, "attacked": {"name": "scale-loss", "clients": [0, 1]}}


def large_runs(path: Path, *, users: int = USERS, rounds: int = ROUNDS) -> Path:
    """Make eight runs in a folder, ten users a round and a hundred evaluations each."""
    for rule in RULES:
        for name, attack in ATTACKS.items():
            table = {
                "rounds": rounds,
                "data": {"name": "digits", "partition": "shards", "num_clients": users},
                "model": {"name": "mlp", "hidden": [4]},
                "clients": {"per_round": 10, "batch_size": 10, "client_lr": 0.05},
                "rule": {"name": rule},
                "attack": attack,
                "evaluation": {"every": max(1, rounds // 100)},
                "engine": {"checkpoint_seconds": 3600.0},
            }
            spec = resolve(parse(Spec, table))
            carry_on(RunFolder.create(path / f"{rule} {name}", spec).path)
    return path
