"""Time the min-norm solver against others, and say how good each answer is.

All solvers take turns in one process, so this script runs in the environment of the peers, with the
library on its path. `nnls` and torchjd solve less: epsilon = 1 only, no rule for which λ to return
where many are optimal, and no certificate. The gap of every answer is computed here, the same way
for all, after clipping and rescaling it into the simplex.

The cone problem of the same rows takes its turns with the min-norm solver alone.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from _measure import machine, median_seconds, text_table, write_result
from _solvers import peers
from fedmgda.minnorm import min_norm, nearest_in_cone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from _solvers import Solver

SIZES = ((10, 51), (100, 11), (1000, 3))  # users, repetitions
FAMILIES = ("independent", "duplicates", "conflicting")


def unit_gramian(family: str, num_clients: int) -> NDArray[np.float64]:
    """Return the `(m, m)` Gram matrix of unit updates.

    Args:
        family: "independent", "duplicates" (each row twice) or "conflicting" (no common direction
            but a small one).
        num_clients: m.
    """
    rng = np.random.default_rng(num_clients)
    drift = 0.01 if family == "conflicting" else 0.1
    rows = rng.normal(size=(num_clients, 4 * num_clients)) + drift
    if family == "duplicates":
        rows[1::2] = rows[::2]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    gram: NDArray[np.float64] = rows @ rows.T
    return gram


def relative_gap(gram: NDArray[np.float64], lam: NDArray[np.float64]) -> float:
    """Return by how much ‖d‖² may exceed its minimum, over ‖d‖²; λ is first made feasible."""
    lam = np.maximum(lam, 0.0)
    lam = lam / lam.sum()
    pulled = gram @ lam
    return float(1.0 - pulled.min() / (lam @ pulled))


def bench(
    family: str, num_clients: int, repeats: int, others: dict[str, Solver]
) -> list[dict[str, Any]]:
    """Time all solvers on one problem, taking turns."""
    gram = unit_gramian(family, num_clients)
    solvers: dict[str, Solver] = {"fedmgda": lambda matrix: np.array(min_norm(matrix).lam)}
    solvers |= others
    works = {name: partial(solve, gram) for name, solve in solvers.items()}
    seconds = median_seconds(works, repeats)
    return [
        {
            "family": family,
            "m": num_clients,
            "solver": name,
            "ms": 1e3 * seconds[name],
            "over_ours": seconds[name] / seconds["fedmgda"],
            "relative_gap": relative_gap(gram, solve(gram)),
        }
        for name, solve in solvers.items()
    ]


def bench_cone(family: str, num_clients: int, repeats: int) -> dict[str, Any]:
    """Time the cone problem of a step that many users oppose, and min_norm of the same rows.

    By the processor's clock: both are short, and only their ratio counts.
    """
    gram = unit_gramian(family, num_clients)
    weights = np.random.default_rng(num_clients).normal(size=num_clients)  # z = Σ w_i u_i
    inner = gram @ weights
    bound = 0.9 * min_norm(gram).norm * float(np.sqrt(weights @ inner))
    works = {
        "min_norm": partial(min_norm, gram),
        "cone": partial(nearest_in_cone, gram, inner, bound),
    }
    seconds = median_seconds(works, repeats, time.process_time)
    solution = nearest_in_cone(gram, inner, bound)
    return {
        "family": family,
        "m": num_clients,
        "min_norm_ms": 1e3 * seconds["min_norm"],
        "cone_ms": 1e3 * seconds["cone"],
        "over_min_norm": seconds["cone"] / seconds["min_norm"],
        "violation": solution.violation / bound,
        "gap": solution.gap / solution.distance**2,
    }


def main() -> None:
    """Measure, print the tables and write them with the solvers that are missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one family, m <= 100; write nothing")
    parser.add_argument("--cones", action="store_true", help="only the cone problem")
    arguments = parser.parse_args()
    facts = machine()
    quick = arguments.quick
    sizes, families = (SIZES[:2], FAMILIES[:1]) if quick else (SIZES, FAMILIES)
    cones = [bench_cone(family, *size) for family in families for size in sizes]
    print(text_table(cones))
    if not quick:
        write_result("cones", {"machine": facts, "rows": cones})
    if arguments.cones:
        return
    others, missing = peers()
    rows = [row for family in families for size in sizes for row in bench(family, *size, others)]
    print(text_table(rows))
    for name, reason in missing.items():
        print(f"{name} is not measured: {reason}")
    if not quick:
        write_result("minnorm", {"machine": facts, "rows": rows, "missing": missing})


if __name__ == "__main__":
    main()
