"""The bias attack on whole runs: who reads a loss can be moved by it, and nobody else."""

from __future__ import annotations

import pytest

from fedmgda.experiments import RunFolder, Spec, execute, parse, resolve


def model_after(path, rule: str, bias: float) -> bytes:
    """Train 12 rounds with client 0 adding a bias to its loss; return the model's bytes."""
    table = {
        "rounds": 12,
        "data": {"num_clients": 6},
        "clients": {"per_round": 3},
        "evaluation": {"every": 12},
        "rule": {"name": rule},
        "attack": {"name": "bias-loss", "clients": [0], "bias": bias},
    }
    folder = RunFolder.create(path / f"{rule}-{bias}", resolve(parse(Spec, table)))
    for _ in execute(folder):
        pass
    return (folder.path / "model.safetensors").read_bytes()


@pytest.mark.parametrize("rule", ["fedmgda+", "fedavg", "fedavg-n", "fedmgda"])
def test_a_rule_that_reads_no_loss_ends_at_the_same_bits_for_every_bias(tmp_path, rule) -> None:
    assert len({model_after(tmp_path, rule, bias) for bias in (0.0, 1.0, 10_000.0)}) == 1


@pytest.mark.parametrize("rule", ["q-fedavg", "afl"])
def test_a_rule_that_reads_losses_is_moved_by_a_bias(tmp_path, rule) -> None:
    assert model_after(tmp_path, rule, 0.0) != model_after(tmp_path, rule, 10.0)
