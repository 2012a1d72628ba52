"""Seeded instances of the min-norm problem: every family of degeneracy, any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedmgda._types import Matrix, Vector

EPSILONS = (0.0, 0.01, 0.1, 0.5, 1.0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    name: str
    rows: Matrix
    center: Vector | None
    epsilon: float

    @property
    def gramian(self) -> Matrix:
        return self.rows @ self.rows.T


def on_grid(rows: Matrix) -> Matrix:
    """Round to 12 binary places: inner products of such rows are exact in float64."""
    return np.round(rows * 4096.0) / 4096.0


def _rows_scaled(rng: np.random.Generator, m: int, d: int, decades: tuple[float, float]) -> Matrix:
    powers = np.round(rng.uniform(*decades, size=m) * np.log2(10.0))
    return np.ldexp(on_grid(rng.normal(size=(m, d))), powers.astype(int)[:, None])


def _common(rng: np.random.Generator, m: int) -> Matrix:
    return on_grid(rng.normal(size=(m, m + 5)) + rng.uniform(0.1, 2.0))


def _conflicting(rng: np.random.Generator, m: int) -> Matrix:
    rows = on_grid(rng.normal(size=(m, m + 5)))
    return np.where(np.arange(m)[:, None] % 3 == 2, rows - on_grid(rows.mean(axis=0)), rows)


def _more_users_than_parameters(rng: np.random.Generator, m: int) -> Matrix:
    return on_grid(rng.normal(size=(m, max(1, m // 4))) + rng.choice([0.0, 2.0]))


def _rank_one(rng: np.random.Generator, m: int) -> Matrix:
    direction = on_grid(rng.normal(size=4))
    return np.outer(rng.integers(1, 9, size=m) * rng.choice([1, -1], size=m), direction)


def _rank_one_one_sided(rng: np.random.Generator, m: int) -> Matrix:
    return np.outer(rng.integers(1, 9, size=m), on_grid(rng.normal(size=4))).astype(np.float64)


def _duplicates(rng: np.random.Generator, m: int) -> Matrix:
    return _common(rng, m)[rng.integers(0, max(1, m // 2), size=m)]


def _near_duplicates(rng: np.random.Generator, m: int) -> Matrix:
    rows = _duplicates(rng, m)
    return rows + np.round(rng.normal(size=rows.shape)) * 2.0**-20


def _zero_rows(rng: np.random.Generator, m: int) -> Matrix:
    return _common(rng, m) * (rng.random(m) > 0.3)[:, None]


def _all_zero(rng: np.random.Generator, m: int) -> Matrix:
    return np.zeros((m, int(rng.integers(1, 5))))


def _antiparallel(rng: np.random.Generator, m: int) -> Matrix:
    half = on_grid(rng.normal(size=((m + 1) // 2, m + 2)))
    return np.concatenate((half, -half))[:m]


def _ratio_1e4(rng: np.random.Generator, m: int) -> Matrix:
    return _rows_scaled(rng, m, m + 5, (-4.0, 0.0))


def _ratio_1e25(rng: np.random.Generator, m: int) -> Matrix:
    return _rows_scaled(rng, m, m + 5, (-10.0, 15.0))


def _few_scales(rng: np.random.Generator, m: int) -> Matrix:
    powers = rng.choice([-33, 0, 50], size=m)
    return np.ldexp(_more_users_than_parameters(rng, m), powers[:, None])


def _ill_conditioned(rng: np.random.Generator, m: int) -> Matrix:
    spectrum = np.ldexp(1.0, -np.arange(m + 1) * 20 // (m + 1))
    return on_grid(rng.normal(size=(m, m + 1))) * spectrum


def _unit(rng: np.random.Generator, m: int) -> Matrix:
    rows = rng.normal(size=(m, m + 5)) + rng.choice([0.0, 0.3])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _unit_in_a_plane(rng: np.random.Generator, m: int) -> Matrix:
    angle = rng.uniform(0.0, rng.choice([1.0, 2 * np.pi]), size=m)
    return np.stack((np.cos(angle), np.sin(angle)), axis=1)


def _tiny(rng: np.random.Generator, m: int) -> Matrix:
    return _common(rng, m) * 2.0**-400


def _huge(rng: np.random.Generator, m: int) -> Matrix:
    return _conflicting(rng, m) * 2.0**400


FAMILIES: dict[str, Callable[[np.random.Generator, int], Matrix]] = {
    family.__name__.strip("_").replace("_", " "): family
    for family in (
        _common,
        _conflicting,
        _more_users_than_parameters,
        _rank_one,
        _rank_one_one_sided,
        _duplicates,
        _near_duplicates,
        _zero_rows,
        _all_zero,
        _antiparallel,
        _ratio_1e4,
        _ratio_1e25,
        _few_scales,
        _ill_conditioned,
        _unit,
        _unit_in_a_plane,
        _tiny,
        _huge,
    )
}

# Beyond these ratios of norms no certificate from K alone can be small against ‖d‖².
WILD = ("ratio 1e25", "few scales")


def _center(rng: np.random.Generator, m: int) -> Vector | None:
    kind = rng.integers(4)
    if kind <= 1:
        return None
    center = rng.dirichlet(np.ones(m)) if kind == 2 else rng.integers(0, 4, size=m) + 0.0
    if not center.any():
        center[0] = 1.0
    return center / center.sum()


def instances(count: int, seed: int, largest: int) -> Iterator[Instance]:
    """Yield instances: families and epsilons in turn, sizes 1 to `largest`, mostly small."""
    names = list(FAMILIES)
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        m = round(float(largest) ** (rng.random() ** 1.5))
        name = names[number % len(names)]
        yield Instance(
            name=name,
            rows=FAMILIES[name](rng, m),
            center=_center(rng, m),
            epsilon=EPSILONS[number // len(names) % len(EPSILONS)],
        )
