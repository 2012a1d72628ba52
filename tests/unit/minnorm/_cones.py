"""Seeded instances of the cone problem: rows of every family, steps and bounds of every kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm import min_norm
from unit.minnorm._instances import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Matrix, Vector

KAPPAS = (0.0, 0.05, 0.5, 0.9, 0.999)
# From here on rounding in K decides whether a step that is worth something to everyone exists.
LEAST_COSINE = 1e-6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cone:
    name: str
    rows: Matrix
    step: Vector
    bound: float

    @property
    def gramian(self) -> Matrix:
        return self.rows @ self.rows.T

    @property
    def inner(self) -> Vector:
        return self.rows @ self.step


def _step(rng: np.random.Generator, rows: Matrix) -> Vector:
    """Return a step of any relation to the rows: foreign, mean, opposed, one row, inside, zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = rows / np.where(lengths > 0.0, lengths, 1.0)
    kind = rng.integers(6)
    if kind == 0:
        step = rng.normal(size=rows.shape[1])
    elif kind == 1:
        step = units.mean(axis=0)
    elif kind == 2:
        step = -units.mean(axis=0) + 0.1 * rng.normal(size=rows.shape[1])
    elif kind == 3:
        step = -units[rng.integers(len(units))]
    elif kind == 4:
        step = rng.dirichlet(np.ones(len(units))) @ units
    else:
        step = np.zeros(rows.shape[1])
    return np.ldexp(step, int(rng.choice([0, 0, 0, -60, 60])))


def _bound(rows: Matrix, step: Vector, kappa: float) -> float:
    """Return kappa times the most that a step so long can be worth to everyone, or 0."""
    solution = min_norm(rows @ rows.T)
    longest = float(np.linalg.norm(rows, axis=1).max())
    if not solution.norm > LEAST_COSINE * longest:
        return 0.0
    return kappa * solution.norm * float(np.linalg.norm(step))


def cones(count: int, seed: int, largest: int) -> Iterator[Cone]:
    """Yield feasible problems: families and kappas in turn, sizes 1 to `largest`, mostly small."""
    names = list(FAMILIES)
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        m = round(float(largest) ** (rng.random() ** 1.5))
        name = names[number % len(names)]
        rows = FAMILIES[name](rng, m)
        step = _step(rng, rows)
        kappa = KAPPAS[number // len(names) % len(KAPPAS)]
        yield Cone(name=name, rows=rows, step=step, bound=_bound(rows, step, kappa))
