"""Time the min-norm solver against others, and say how good each answer is.

All solvers take turns in one process, so this script runs in the environment of the peers, with the
library on its path, and with one thread for linear algebra: times are those of the processor.
`nnls` and torchjd solve less: epsilon = 1 only, no rule for which λ to return where many are
optimal, and no certificate. The gap of every answer is computed here, the same way for all, after
clipping and rescaling it into the simplex.

The cone problem of the same rows takes its turns with the min-norm solver alone. Crowds are many
more rows than they are long; there all solvers start from the rows.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from _measure import machine, median_seconds, text_table, write_result
from _solvers import peers, peers_of_rows
from fedmgda.minnorm import min_norm, min_norm_of_rows, nearest_in_cone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from _solvers import Solver

SIZES = ((10, 51), (100, 11), (1000, 3))  # users, repetitions
CROWDS = ((1000, 26, 21), (10_000, 100, 3))  # users, parameters, repetitions
FAMILIES = ("independent", "duplicates", "conflicting")
CROWDED = (*FAMILIES, "common")
DRIFTS = {"conflicting": 0.01, "common": 1.0}


def unit_rows(family: str, num_clients: int, num_params: int) -> NDArray[np.float64]:
    """Return unit updates, of shape `(m, d)`.

    Args:
        family: "independent", "duplicates" (each row twice), "conflicting" (no common direction
            but a small one) or "common" (a direction that serves all).
        num_clients: m.
        num_params: d.
    """
    rng = np.random.default_rng(num_clients)
    rows = rng.normal(size=(num_clients, num_params)) + DRIFTS.get(family, 0.1)
    if family == "duplicates":
        rows[1::2] = rows[::2]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def unit_gramian(family: str, num_clients: int) -> NDArray[np.float64]:
    """Return the `(m, m)` Gram matrix of unit updates that are four times as long as many."""
    rows = unit_rows(family, num_clients, 4 * num_clients)
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
    """Time all solvers on one problem, taking turns, by the processor's clock."""
    gram = unit_gramian(family, num_clients)
    solvers: dict[str, Solver] = {"fedmgda": lambda matrix: np.array(min_norm(matrix).lam)}
    solvers |= others
    works = {name: partial(solve, gram) for name, solve in solvers.items()}
    seconds = median_seconds(works, repeats, time.process_time)
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


def bench_crowd(
    family: str, num_clients: int, num_params: int, repeats: int
) -> list[dict[str, Any]]:
    """Time all solvers on many short rows, by the processor's clock; the gap is beside ‖g_i‖² = 1.

    A family that needs no direction (0 is in the hull) has no gap relative to ‖d‖².
    """
    rows = unit_rows(family, num_clients, num_params)
    solvers: dict[str, Solver] = {"fedmgda": lambda matrix: np.array(min_norm_of_rows(matrix).lam)}
    solvers |= peers_of_rows(num_clients)[0]
    works = {name: partial(solve, rows) for name, solve in solvers.items()}
    seconds = median_seconds(works, repeats, time.process_time)
    lines = []
    for name, solve in solvers.items():
        lam = np.maximum(solve(rows), 0.0)
        direction = lam / lam.sum() @ rows
        slopes = rows @ direction
        lines.append(
            {
                "family": family,
                "m": num_clients,
                "d": num_params,
                "solver": name,
                "ms": 1e3 * seconds[name],
                "over_ours": seconds[name] / seconds["fedmgda"],
                "norm": float(np.linalg.norm(direction)),
                "gap": float(direction @ direction - slopes.min()),
            }
        )
    return lines


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


def products(facts: dict[str, Any], *, quick: bool = False) -> None:
    """Measure all solvers on Gram matrices."""
    others, missing = peers()
    sizes, families = (SIZES[:2], FAMILIES[:1]) if quick else (SIZES, FAMILIES)
    rows = [row for family in families for size in sizes for row in bench(family, *size, others)]
    print(text_table(rows))
    for name, reason in missing.items():
        print(f"{name} is not measured: {reason}")
    if not quick:
        write_result("minnorm", {"machine": facts, "rows": rows, "missing": missing})


def crowds(facts: dict[str, Any]) -> None:
    """Measure the solvers on many short rows."""
    rows = [row for size in CROWDS for family in CROWDED for row in bench_crowd(family, *size)]
    print(text_table(rows))
    missing = {str(m): peers_of_rows(m)[1] for m, *_ in CROWDS}
    write_result("crowds", {"machine": facts, "rows": rows, "missing": missing})


def cones(facts: dict[str, Any], *, quick: bool = False) -> None:
    """Measure the cone problem."""
    sizes, families = (SIZES[:2], FAMILIES[:1]) if quick else (SIZES, FAMILIES)
    rows = [bench_cone(family, *size) for family in families for size in sizes]
    print(text_table(rows))
    if not quick:
        write_result("cones", {"machine": facts, "rows": rows})


def main() -> None:
    """Measure the named parts, or all, print their tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one family, m <= 100; write nothing")
    parser.add_argument("parts", nargs="*", help="products, crowds or cones; all if none is named")
    arguments = parser.parse_args()
    if arguments.quick:
        products(machine(), quick=True)
        cones(machine(), quick=True)
        return
    for part in (products, crowds, cones):
        if not arguments.parts or part.__name__ in arguments.parts:
            part(machine())


if __name__ == "__main__":
    main()
