"""What the library holds itself to, as numbers that can be read off the results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Results = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Goal:
    """One line of the table.

    Attributes:
        what: What is measured.
        limit: The number it must reach, or must not exceed.
        value: The number in the results; whatever is missing there raises KeyError, with the
            reason where one is known.
        at_least: Whether the limit is a least value rather than a largest.
        unit: The unit of both.
    """

    what: str
    limit: float
    value: Callable[[Results], float]
    at_least: bool = True
    unit: str = "x"

    def judge(self, results: Results) -> tuple[str, str]:
        """Return the measured value and the verdict, as text."""
        try:
            value = self.value(results)
        except KeyError as missing:
            return f"not measured ({missing.args[0]})", "**no**"
        met = value >= self.limit if self.at_least else value <= self.limit
        return f"{value:.3g} {self.unit}".strip(), "yes" if met else "**no**"

    @property
    def wanted(self) -> str:
        """The limit as text."""
        return f"{'≥' if self.at_least else '≤'} {self.limit:g} {self.unit}".strip()


def w1_value(results: Results, label: str, column: str) -> float:
    """Return a number of an engine in the results of W1."""
    rows: dict[str, Any] = {row["engine"]: row for row in results["w1"]["engines"]}
    row = rows.get(label, {})
    if row.get(column) is None:
        raise KeyError(f"{label}: {row.get('failures', ['no such engine'])[-1]}")
    return float(row[column])


_TORCH = {
    "pfl, 2 processes": 1.35,
    "Flower": 1.8,
    "FedLab": 2.2,
    "pfl, 2 processes, helped": 1.0,
    "Flower, helped": 1.0,
    "FedLab, helped": 1.0,
}
_COMPILED = {
    "pfl, 2 processes": 4.0,
    "Flower": 5.5,
    "FedLab": 7.0,
    "pfl, 2 processes, helped": 3.0,
    "Flower, helped": 4.0,
}


def goals() -> Iterator[Goal]:
    """Yield all goals, in the order of the table."""
    yield from _w1("torch", _TORCH)
    yield from _w1("compiled", _COMPILED)
    yield Goal(
        "W2, Adult: faster than torch eager", 200, lambda r: r["local"]["w2"]["eager_over_ours"]
    )
    yield Goal("W2, Adult", 100, lambda r: r["local"]["w2"]["ours_rounds_per_s"], unit="rounds/s")
    yield Goal(
        "CIFAR-10 CNN, 2 processes: faster than the plain torch loop",
        1.4,
        lambda r: r["local"]["cifar_round"]["plain_over_ours"],
    )
    for path in ("compiled", "torch"):
        yield Goal(
            f"f_i of all participants before and after, share of a W1 round, {path} path",
            25,
            partial(_bookkeeping, path),
            at_least=False,
            unit="%",
        )
    for path in ("compiled", "torch"):
        yield Goal(
            f"protected round of W1 over one that measures who improved, {path} path, CPU time",
            3,
            partial(_protected, path),
            at_least=False,
        )
    yield from _minnorm()
    yield Goal(
        "cone problem with certificate, over min_norm of that size, slowest family",
        2,
        lambda r: max(row["over_min_norm"] for row in r["cones"]["rows"]),
        at_least=False,
    )
    yield from _server()


def _minnorm() -> Iterator[Goal]:
    yield Goal(
        "min-norm with certificate, m = 10, over a bare quadprog call, slowest family",
        5,
        _over_quadprog,
        at_least=False,
    )
    yield Goal(
        "min-norm with certificate, m = 1000, slowest family",
        60,
        lambda r: max(_own_ms(r["minnorm"]["rows"], 1000)),
        at_least=False,
        unit="ms",
    )
    for m, d, limit in ((1000, 26, 30.0), (10_000, 100, 1000.0)):
        yield Goal(
            f"min-norm with certificate, m = {m}, d = {d}, slowest family, CPU time",
            limit,
            lambda r, m=m: max(_own_ms(r["crowds"]["rows"], m)),
            at_least=False,
            unit="ms",
        )


def _own_ms(rows: Sequence[dict[str, Any]], num_clients: int) -> list[float]:
    own = [row for row in rows if row["m"] == num_clients and row["solver"] == "fedmgda"]
    return [float(row["ms"]) for row in own]


def _over_quadprog(results: Results) -> float:
    ratios = [
        1.0 / float(row["over_ours"])
        for row in results["minnorm"]["rows"]
        if row["m"] == 10 and row["solver"] == "quadprog"
    ]
    if not ratios:
        raise KeyError(results["minnorm"]["missing"].get("quadprog", "no row of quadprog"))
    return max(ratios)


def _bookkeeping(path: str, results: Results) -> float:
    rows = {row["path"]: row for row in results["local"]["evaluation"]}
    return 100 * float(rows[path]["bookkeeping_share"])


def _protected(path: str, results: Results) -> float:
    return max(row["ratio"] for row in results["protected"]["rows"] if row["path"] == path)


def _w1(path: str, factors: Mapping[str, float]) -> Iterator[Goal]:
    ours = f"fedmgda {path}"
    for peer, factor in factors.items():
        yield Goal(f"W1, {path} path: faster than {peer}", factor, _ratio(peer, ours))
    yield Goal(
        f"W1, {path} path: start to end of first round",
        4,
        lambda r: w1_value(r, ours, "first_s"),
        at_least=False,
        unit="s",
    )
    yield Goal(
        f"W1, {path} path: memory over pfl's",
        1,
        lambda r: w1_value(r, ours, "peak_mb") / w1_value(r, "pfl, 2 processes", "peak_mb"),
        at_least=False,
    )


def _ratio(peer: str, ours: str) -> Callable[[Results], float]:
    """Compare with the better of a peer's two lines, where it was tried on one thread as well."""

    def ratio(results: Results) -> float:
        known = {row["engine"]: row.get("round_s") for row in results["w1"]["engines"]}
        alone = known.get(f"{peer}, 1 thread") or float("inf")
        return min(w1_value(results, peer, "round_s"), alone) / w1_value(results, ours, "round_s")

    return ratio


def _server() -> Iterator[Goal]:
    yield Goal(
        "aggregation, m = 10, d = 8e5, share of a CIFAR-10 round",
        1,
        lambda r: 100 * r["aggregation"]["cifar_share"]["aggregation_share"],
        at_least=False,
        unit="%",
    )
    yield Goal(
        "aggregation, m = 100, d = 8e5, over one float32 GEMM",
        2,
        lambda r: r["aggregation"]["aggregation"][1]["over_gemm"],
        at_least=False,
    )
    yield Goal(
        "exponent of training time in participants",
        1.05,
        lambda r: r["scaling"]["exponents"]["participants train_s"],
        at_least=False,
        unit="",
    )
    yield Goal(
        "memory added by 10⁷ parameters, over one (m, d) matrix and five vectors of length d",
        1,
        _memory_ratio,
        at_least=False,
    )


def _memory_ratio(results: Results) -> float:
    small, large = results["scaling"]["params"][0], results["scaling"]["params"][-1]
    return (large["peak_mb"] - small["peak_mb"]) / (large["matrix_mb"] * 1.5)
