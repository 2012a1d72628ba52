"""How the time grows with participants, parameters, users and workers, and where the limit is."""

from __future__ import annotations

import multiprocessing
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from _data import export_w1, random_images, random_rows, w1_data
from _growth import fitted_exponent
from _measure import RESULTS, machine, median_seconds, text_table, write_result
from _scaling_plot import plot_scaling
from bench_aggregation import random_updates, server_round
from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.federation import Federation, UniformSampler, initial_state, run_round
from fedmgda.models import fmnist_cnn, linear
from fedmgda.rules import FedMGDA

if TYPE_CHECKING:
    from collections.abc import Callable

PARTICIPANTS = (10, 30, 100, 300, 1000)
NUM_PARAMS = (10_000, 100_000, 1_000_000, 10_000_000)
USERS = (100, 1_000, 10_000, 100_000)
REPEATS = 3
# Two operations per product. Forward: 288,000 in the first convolution, 673,000 in the rest; twice
# that again backward, but for the gradient of the images. 10 users, 480 images each.
W1_GFLOP = (2 * 288_000 + 3 * 673_000) * 4_800 / 1e9


def bench_participants() -> list[dict[str, Any]]:
    """Time rounds of 10 to 1,000 participants with 20 images each, training and server apart."""
    rows = []
    data = random_images((1, 28, 28), max(PARTICIPANTS), 20)
    with _pool(data, partial(fmnist_cnn, 10), workers=os.cpu_count()) as pool:
        for m in PARTICIPANTS:
            federation = _federation(pool, max(PARTICIPANTS), m)
            server = initial_state(federation, pool.initial_params())
            records = [run_round(federation, server)[1] for _ in range(REPEATS + 1)][1:]
            train = float(np.median([record.seconds["train"] for record in records]))
            whole = float(np.median([sum(record.seconds.values()) for record in records]))
            rows.append({"participants": m, "train_s": train, "server_s": whole - train})
    return rows


def bench_params() -> list[dict[str, Any]]:
    """Time the server's part of a round of 10 participants, 10⁴ to 10⁷ parameters."""
    return [_alone(_params, d) for d in NUM_PARAMS]


def _params(d: int) -> dict[str, Any]:
    updates = random_updates(10, d)
    seconds = median_seconds({"server": server_round(updates)}, REPEATS)["server"]
    return {
        "d": d,
        "server_s": seconds,
        "updates_gb_per_s": updates.nbytes / seconds / 1e9,
        "peak_mb": _peak_mb(),
        "matrix_mb": updates.nbytes / 2**20,
    }


def bench_users() -> list[dict[str, Any]]:
    """Time rounds of 10 participants out of 100 to 100,000 tiny users."""
    return [_alone(_users, users) for users in USERS]


def _users(users: int) -> dict[str, Any]:
    data = random_rows(20, users, 5)
    size = sum(array.nbytes for array in (data.features, data.targets, *data.train))
    start = time.perf_counter()
    with _pool(data, partial(linear, 20, 2), workers=1) as pool:
        made = time.perf_counter() - start
        federation = _federation(pool, users, 10)
        server = initial_state(federation, pool.initial_params())
        seconds = median_seconds({"round": lambda: run_round(federation, server)}, 20)["round"]
    return {
        "users": users,
        "start_s": made,
        "round_s": seconds,
        "peak_mb": _peak_mb(),
        "data_mb": size / 2**20,
    }


def bench_workers() -> list[dict[str, Any]]:
    """Time W1 rounds on 1 worker up to one for each core, on both paths."""
    data = w1_data(export_w1())
    rows = []
    for workers in range(1, (os.cpu_count() or 1) + 1):
        seconds = {}
        for path in ("compiled", "torch"):
            with _pool(data, partial(fmnist_cnn, 10), workers=workers, path=path) as pool:
                federation = _federation(pool, 100, 10)
                server = initial_state(federation, pool.initial_params())
                work = partial(run_round, federation, server)
                seconds[f"{path}_s"] = median_seconds({"round": work}, REPEATS)["round"]
        rows.append({"workers": workers, **seconds})
    return rows


def bench_limits() -> dict[str, Any]:
    """Measure what the machine can do at best: float32 products and moving memory."""
    square = np.random.default_rng(0).standard_normal((2048, 2048), dtype=np.float32)
    source, goal = np.ones(1 << 26, np.float32), np.empty(1 << 26, np.float32)
    works = {"gemm": lambda: square @ square, "copy": lambda: np.copyto(goal, source)}
    seconds = median_seconds(works, 7)
    gflops = 2 * 2048**3 / seconds["gemm"] / 1e9
    return {
        "gemm_gflops": gflops,
        "copy_gb_per_s": 2 * source.nbytes / seconds["copy"] / 1e9,
        "w1_gflop": W1_GFLOP,
        "w1_at_gemm_peak_s": W1_GFLOP / gflops,
    }


def _alone(work: Callable[[int], dict[str, Any]], size: int) -> dict[str, Any]:
    """Do a work in a process of its own, so that its peak of memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as processes:
        return processes.apply(work, (size,))


def _peak_mb() -> float:
    # Not getrusage: its peak counts the process that started this one as well.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _pool(data: Any, build: Any, **options: Any) -> ClientPool:
    training = LocalTraining(batch_size=10, client_lr=0.01)
    options = {"reported_loss": "during", **options}
    return ClientPool(data=data, build_model=build, training=training, seed=0, **options)


def _federation(pool: ClientPool, users: int, per_round: int) -> Federation:
    return Federation(
        train_cohort=pool.train_cohort,
        rule=FedMGDA(),
        sampler=UniformSampler(num_clients=users, per_round=per_round),
        num_clients=users,
    )


def exponents(record: dict[str, Any]) -> dict[str, float]:
    """Return the power with which each time grows, fitted over the whole curve."""
    curves = (
        ("participants", "participants", "train_s"),
        ("participants", "participants", "server_s"),
        ("params", "d", "server_s"),
        ("users", "users", "round_s"),
        ("users", "users", "start_s"),
    )
    return {
        f"{what} {y}": fitted_exponent([r[x] for r in record[what]], [r[y] for r in record[what]])
        for what, x, y in curves
    }


def main() -> None:
    """Measure the curves, print them, write them and draw them."""
    record: dict[str, Any] = {"machine": machine(), "repeats": REPEATS}
    steps = (
        ("limits", bench_limits),
        ("participants", bench_participants),
        ("params", bench_params),
        ("users", bench_users),
        ("workers", bench_workers),
    )
    for name, bench in steps:
        record[name] = bench()
        rows = record[name] if isinstance(record[name], list) else [record[name]]
        print(f"{name}\n{text_table(rows)}\n", flush=True)
    best = min(row["compiled_s"] for row in record["workers"])
    record["limits"]["w1_share_of_gemm_peak"] = record["limits"]["w1_at_gemm_peak_s"] / best
    record["exponents"] = exponents(record)
    print(text_table([record["exponents"]]))
    write_result("scaling", record)
    plot_scaling(record, RESULTS / "scaling.png")


if __name__ == "__main__":
    main()
