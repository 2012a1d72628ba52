"""Ours alone, in under a minute: prints a table, writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from _data import export_w1
from _measure import machine, text_table
from bench_aggregation import bench_aggregation
from bench_local import bench_w2, bench_w3, clients_of_w3
from bench_minnorm import bench as bench_solver
from bench_w1 import ENGINES, run_once

if TYPE_CHECKING:
    from collections.abc import Iterator


def measured() -> Iterator[tuple[str, float, str]]:
    """Yield what, how much and in which unit."""
    data = export_w1()
    for engine in ENGINES[:2]:
        run: dict[str, Any] = run_once(engine, data, 4)
        if "error" in run:
            print(f"{engine.label}: {run['error']}")
            continue
        yield f"W1, {engine.label}: round", sorted(run["round_s"])[1], "s"
        yield f"W1, {engine.label}: start to end of first round", run["first_s"], "s"
    adult = bench_w2(1)
    yield "W2, Adult", adult["ours_rounds_per_s"], "rounds/s"
    yield "W2, Adult: plain torch over ours", adult["eager_over_ours"], "x"
    cifar = bench_w3(clients_of_w3()[0], 1)
    yield "W3, CIFAR-10 CNN, one thread", cifar["ours_samples_per_s"], "samples/s"
    yield "W3, CIFAR-10 CNN: plain torch over ours", cifar["plain_over_ours"], "x"
    for m, repeats in ((10, 21), (100, 5)):
        yield f"min-norm QP, m = {m}", bench_solver("independent", m, repeats, {})[0]["ms"], "ms"
    server = bench_aggregation(10, 800_000, 3)
    yield "aggregation, m = 10, d = 800,000", server["aggregation_ms"], "ms"


def main() -> None:
    """Print one line for each measurement."""
    torch.set_num_threads(1)
    facts = machine()
    print(f"{facts['cpu']}, {facts['cores']} cores, load {facts['load_average_before']}")
    rows = [{"what": what, "value": value, "unit": unit} for what, value, unit in measured()]
    print(text_table(rows))


if __name__ == "__main__":
    main()
