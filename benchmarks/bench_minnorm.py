"""Time the min-norm solver and the Gram matrix against plain ways to do the same.

Absolute times depend on the machine and on what else it does; the ratios, taken within one run,
are what may be compared. `nnls` solves less: epsilon = 1 only, with no rule for which λ it returns
where many are optimal, and no certificate.
"""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import piqp
import scipy
from scipy.optimize import nnls

from fedmgda.minnorm import gramian, min_norm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

RESULTS = Path(__file__).parent / "results" / "minnorm.json"
QP_SIZES = ((10, 200), (100, 20), (1000, 3))  # users, repetitions
GRAM_SIZES = ((10, 800_000, 9), (100, 200_000, 5), (1000, 20_000, 3))  # m, d, repetitions


def best_ms(repeats: int, *works: Callable[[], object]) -> list[float]:
    """Return the shortest time of each work in milliseconds, after one unmeasured run.

    The works take turns, so that all of them meet the same neighbours, and the shortest time counts
    because other processes can only add to it.
    """
    best = [float("inf")] * len(works)
    for repeat in range(repeats + 1):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            if repeat:
                best[i] = min(best[i], 1e3 * (time.perf_counter() - start))
    return best


def unit_gramian(family: str, num_clients: int) -> NDArray[np.float64]:
    """Return the `(m, m)` Gram matrix of unit updates: independent, or each one present twice."""
    rows = np.random.default_rng(num_clients).normal(size=(num_clients, 4 * num_clients)) + 0.1
    if family == "duplicates":
        rows[1::2] = rows[::2]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def nnls_lam(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return λ from the non-negative least-squares form of the problem at epsilon = 1."""
    system = np.vstack([factor, np.ones(factor.shape[1])])
    target = np.zeros(len(system))
    target[-1] = 1.0
    solution: NDArray[np.float64] = nnls(system, target)[0]
    return solution / float(solution.sum())


def bench_min_norm(family: str, num_clients: int, repeats: int) -> dict[str, Any]:
    """Time `min_norm` and SciPy's `nnls` (its factorisation given for free) on one problem."""
    gram = unit_gramian(family, num_clients)
    values, vectors = np.linalg.eigh(gram)
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    solution, other = min_norm(gram), nnls_lam(factor)
    ours, theirs = best_ms(repeats, lambda: min_norm(gram), lambda: nnls_lam(factor))
    return {
        "family": family,
        "m": num_clients,
        "min_norm_ms": ours,
        "nnls_ms": theirs,
        "nnls_over_min_norm": theirs / ours,
        "relative_gap": solution.gap / solution.norm**2,
        "nnls_relative_gap": float(1 - (gram @ other).min() / (other @ gram @ other)),
    }


def bench_gramian(num_clients: int, num_params: int, repeats: int) -> dict[str, Any]:
    """Time `gramian` on float32 updates against one matrix product in float64 and in float32."""
    updates = np.random.default_rng(1).normal(size=(num_clients, num_params)).astype(np.float32)

    def double() -> NDArray[np.float64]:
        wide = updates.astype(np.float64)
        return wide @ wide.T

    ours, float64, float32 = best_ms(
        repeats, lambda: gramian(updates), double, lambda: updates @ updates.T
    )
    exact = double()
    return {
        "m": num_clients,
        "d": num_params,
        "gramian_ms": ours,
        "float64_ms": float64,
        "float32_ms": float32,
        "float64_over_gramian": float64 / ours,
        "gramian_over_float32": ours / float32,
        "relative_error": float(np.abs(gramian(updates) - exact).max() / exact.max()),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows with equal keys as aligned text."""
    lines = [list(rows[0]), *([_text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Measure, print two tables and write them with the versions and cores they depend on."""
    families = ("independent", "duplicates")
    solver = [bench_min_norm(family, *size) for family in families for size in QP_SIZES]
    product = [bench_gramian(*size) for size in GRAM_SIZES]
    environment = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "piqp": piqp.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
    }
    print(f"min_norm against scipy.optimize.nnls\n{table(solver)}\n")
    print(f"gramian against one matrix product\n{table(product)}")
    record = {"environment": environment, "min_norm": solver, "gramian": product}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
