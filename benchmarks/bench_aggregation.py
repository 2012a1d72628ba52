"""Time the server's part of a round: the Gram matrix alone, then gate, Gram, QP and step."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from _data import random_images
from _measure import machine, median_seconds, text_table, write_result
from fedmgda import Cohort
from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.federation import Federation, UniformSampler, initial_state, run_round
from fedmgda.minnorm import gramian
from fedmgda.models import cifar_cnn
from fedmgda.rules import FedMGDA

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

GRAM_SIZES = ((10, 800_000, 9), (100, 800_000, 5), (1000, 20_000, 3))  # m, d, repetitions
CIFAR_USERS, CIFAR_SAMPLES = 10, 400


def random_updates(m: int, d: int) -> NDArray[np.float32]:
    """Return m float32 updates of length d with a common drift."""
    rows = np.random.default_rng(1).standard_normal((m, d), dtype=np.float32)
    rows += np.float32(0.1)
    return rows


def bench_gramian(m: int, d: int, repeats: int) -> dict[str, Any]:
    """Time `gramian` on float32 updates against one matrix product in float64 and in float32."""
    updates = random_updates(m, d)

    def double() -> NDArray[np.float64]:
        wide = updates.astype(np.float64)
        return wide @ wide.T

    seconds = median_seconds(
        {
            "ours": lambda: gramian(updates),
            "float64": double,
            "float32": lambda: updates @ updates.T,
        },
        repeats,
    )
    exact = double()
    error = np.abs(gramian(updates) - exact).max() / exact.max()
    return {
        "m": m,
        "d": d,
        "gramian_ms": 1e3 * seconds["ours"],
        "float64_ms": 1e3 * seconds["float64"],
        "float32_ms": 1e3 * seconds["float32"],
        "gramian_over_float32": seconds["ours"] / seconds["float32"],
        "relative_error": float(error),
    }


def server_round(updates: NDArray[np.float32]) -> Callable[[], object]:
    """Return a round whose clients answer at once: gate, Gram matrix, QP and step remain."""
    m, d = updates.shape
    # A new cohort in every call: one that is used again knows its Gram matrix already.
    federation = Federation(
        train_cohort=lambda _params, ids, _round_num: Cohort(
            client_ids=ids, updates=updates, num_examples=np.ones(m), losses=np.ones(m)
        ),
        rule=FedMGDA(),
        sampler=UniformSampler(num_clients=m, per_round=m),
        num_clients=m,
    )
    server = initial_state(federation, np.zeros(d, np.float32))
    return partial(run_round, federation, server)


def bench_aggregation(m: int, d: int, repeats: int) -> dict[str, Any]:
    """Time the whole aggregation against one float32 matrix product of its size."""
    updates = random_updates(m, d)
    works = {"ours": server_round(updates), "float32": lambda: updates @ updates.T}
    seconds = median_seconds(works, repeats)
    return {
        "m": m,
        "d": d,
        "aggregation_ms": 1e3 * seconds["ours"],
        "float32_gemm_ms": 1e3 * seconds["float32"],
        "over_gemm": seconds["ours"] / seconds["float32"],
    }


def bench_cifar_share(repeats: int) -> dict[str, Any]:
    """Time the aggregation of a CIFAR-10 round beside the round's training."""
    build = partial(cifar_cnn, 10)
    data = random_images((3, 32, 32), CIFAR_USERS, CIFAR_SAMPLES)
    training = LocalTraining(batch_size=10, client_lr=0.01)
    options: dict[str, Any] = {"workers": 2, "reported_loss": "during"}
    with ClientPool(data=data, build_model=build, training=training, seed=0, **options) as pool:
        params, ids = pool.initial_params(), tuple(range(CIFAR_USERS))
        works: dict[str, Callable[[], object]] = {
            "train": lambda: pool.train_cohort(params, ids, 1),
            "aggregation": server_round(random_updates(CIFAR_USERS, pool.num_params)),
        }
        seconds = median_seconds(works, repeats)
    return {
        "users": CIFAR_USERS,
        "samples_each": CIFAR_SAMPLES,
        "train_s": seconds["train"],
        "aggregation_ms": 1e3 * seconds["aggregation"],
        "aggregation_share": seconds["aggregation"] / (seconds["train"] + seconds["aggregation"]),
    }


def main() -> None:
    """Measure, print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    facts = machine() | {"threads": torch.get_num_threads()}
    record: dict[str, Any] = {
        "machine": facts,
        "gramian": [bench_gramian(*size) for size in GRAM_SIZES],
        "aggregation": [bench_aggregation(m, 800_000, repeats) for m in (10, 100)],
        "cifar_share": bench_cifar_share(3),
    }
    for name in ("gramian", "aggregation", "cifar_share"):
        rows = record[name]
        print(f"{name}\n{text_table(rows if isinstance(rows, list) else [rows])}\n")
    write_result("aggregation", record)


if __name__ == "__main__":
    main()
