"""How sure the comparisons of `fedmgda compare` and the verdict of a run are, in simulations.

    python benchmarks/chance.py

The truth is known here: two models of equal quality, so that the true gain is 0, and whoever is
called worse is called so by chance. The numbers go to results/chance/simulated.csv, and from there
into docs/compare.md and docs/runs.md. It takes three minutes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from _measured import Measured, write_measured
from fedmgda.metrics import (
    LEVEL,
    Answers,
    Paired,
    SameRows,
    interval,
    paired,
    paired_over_seeds,
    t_quantile,
)
from fedmgda.metrics._intervals import bootstrap_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SEED = 20
CORRELATION = 0.7
INTERVAL_ROWS = (3, 5, 8, 10, 20, 50)
AUC_ROWS = ((10, 1), (20, 2), (10, 2))
RARE_ROWS = (10, 20)
SKEWED_ROWS = (10, 20)
SEED_COUNTS = (1, 3, 10, 20)
ROWS_OF_A_CLIENT, ROWS_OF_A_TEST = 100, 10
RARE, RARE_SQUARE, OFTEN_SQUARE = 0.1, 3.7, 0.7  # 0.1 * 3.7 + 0.9 * 0.7 = 1


def values(errors: NDArray[np.float64]) -> Answers:
    """Return the answers of a regression whose targets are 0."""
    return Answers(targets=np.zeros(len(errors)), predictions=errors, losses=errors**2)


def scores(targets: NDArray[np.int64], scored: NDArray[np.float64]) -> Answers:
    """Return the answers of a classifier of two classes."""
    odds = 1 / (1 + np.exp(-scored))
    return Answers(
        targets=targets,
        predictions=(odds > 0.5).astype(int),
        losses=np.ones(len(targets)),
        probabilities=np.stack([1 - odds, odds], axis=-1),
        num_classes=2,
        positive=1,
    )


def holds(bounds: tuple[float, float], truth: float) -> bool:
    """Tell whether an interval holds what is true."""
    return bounds[0] <= truth <= bounds[1]


def intervals_of_gains(repeats: int = 4000) -> Iterator[Measured]:
    """Two models with normal errors that correlate: how often is the true gain in the interval?"""
    for rows in INTERVAL_ROWS:
        rng = np.random.default_rng((SEED, 1, rows))
        held = 0
        for _ in range(repeats):
            one, other = rng.normal(size=(2, rows))
            other = CORRELATION * one + math.sqrt(1 - CORRELATION**2) * other
            # Also for fewer rows than any interval is shown for.
            found = paired("rmse", values(one), values(other), rng)
            held += holds(bootstrap_interval(found.samples), 0.0)
        yield Measured("interval of the gain", f"rows={rows}", "held", held / repeats, repeats)


def intervals_of_auc(repeats: int = 2000) -> Iterator[Measured]:
    """Normal scores one apart: how often do intervals hold the true AUC, and the true gain 0?"""
    truth = 0.5 * (1 + math.erf(0.5))
    for rows, positives in AUC_ROWS:
        rng = np.random.default_rng((SEED, 2, rows, positives))
        targets = (np.arange(rows) < positives).astype(np.int64)
        own = gain = 0
        for _ in range(repeats):
            one, other = (scores(targets, rng.normal(size=rows) + targets) for _ in range(2))
            own += holds(interval("auc", one, rng), truth)
            gain += holds(paired("auc", one, other, rng).interval, 0.0)
        case = f"rows={rows} positives={positives}"
        yield Measured("interval of the AUC", case, "held", own / repeats, repeats)
        yield Measured("interval of the AUC", case, "held the gain", gain / repeats, repeats)


def rare_large_errors(repeats: int = 4000) -> Iterator[Measured]:
    """Equal expected squared errors, one model's rarely large: how often is it called better?"""
    for rows in RARE_ROWS:
        rng = np.random.default_rng((SEED, 3, rows))
        better = 0
        for _ in range(repeats):
            square = np.where(rng.random(rows) < RARE, RARE_SQUARE, OFTEN_SQUARE)
            signs = rng.choice([-1.0, 1.0], rows)
            found = paired("rmse", values(signs * np.sqrt(square)), values(signs), rng)
            better += found.p_better <= LEVEL
        yield Measured("rare large errors", f"rows={rows}", "better", better / repeats, repeats)


def seeds_that_share_rows(repeats: int = 1000) -> Iterator[Measured]:
    """Two models of equal quality, each seed testing some of a client's rows."""
    for count in SEED_COUNTS:
        rng = np.random.default_rng((SEED, 4, count))
        together, anew = [], []
        for _ in range(repeats):
            errors = rng.normal(size=(2, ROWS_OF_A_CLIENT))
            chosen = [rng.permutation(ROWS_OF_A_CLIENT)[:ROWS_OF_A_TEST] for _ in range(count)]
            tests = [
                SameRows(rows=rows, ours=values(errors[0, rows]), theirs=values(errors[1, rows]))
                for rows in chosen
            ]
            together.append(paired_over_seeds("mae", tests, rng))
            anew.append(_as_if_apart(tests, rng))
        for way, found in (("", together), (" if drawn anew", anew)):
            worse = sum(pair.p_worse <= LEVEL for pair in found) / repeats
            held = sum(holds(pair.interval, 0.0) for pair in found) / repeats
            yield Measured("seeds", f"seeds={count}", f"worse{way}", worse, repeats)
            yield Measured("seeds", f"seeds={count}", f"held{way}", held, repeats)


def _as_if_apart(tests: list[SameRows], rng: np.random.Generator) -> Paired:
    """Return what several tests would say if no row were in two of them."""
    apart = [
        replace(test, rows=np.arange(ROWS_OF_A_TEST) + place * ROWS_OF_A_TEST)
        for place, test in enumerate(tests)
    ]
    return paired_over_seeds("mae", apart, rng)


def skewed_differences(repeats: int = 40_000) -> Iterator[Measured]:
    """Differences of mean 0: how often is their mean above 0 by more than t standard errors?"""
    for rows in SKEWED_ROWS:
        rng = np.random.default_rng((SEED, 5, rows))
        for kind, found in (
            ("normal", rng.normal(size=(repeats, rows))),
            ("long tail to the left", 1 - rng.exponential(size=(repeats, rows))),
        ):
            error = found.std(axis=1, ddof=1) / math.sqrt(rows)
            above = float(np.mean(found.mean(axis=1) > t_quantile(rows - 1) * error))
            yield Measured("differences", f"rows={rows}", kind, above, repeats)


STUDIES = (
    intervals_of_gains,
    intervals_of_auc,
    rare_large_errors,
    seeds_that_share_rows,
    skewed_differences,
)


def main() -> None:
    """Simulate everything and write it down."""
    rows = []
    for study in STUDIES:
        for row in study():
            print(f"{row.study}, {row.case}, {row.measure}: {row.value:.4g}", flush=True)
            rows.append(row)
    write_measured("simulated", rows, SEED)


if __name__ == "__main__":
    main()
