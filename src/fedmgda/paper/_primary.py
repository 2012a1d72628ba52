"""The primary comparisons: eight, fixed before anybody saw a result on their seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, final

from fedmgda.paper._comparison import cell_name
from fedmgda.paper._statistics import holm, paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.paper._comparison import Line
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = [
    "PRIMARIES",
    "SEEDS",
    "Decision",
    "Primary",
    "Sample",
    "Word",
    "decide",
    "is_whole",
    "samples",
]

Word: TypeAlias = Literal["holds", "refuted", "undecided"]

SEEDS = frozenset(range(6, 16))
"""The seeds primary comparisons are decided on; nothing was chosen on them."""
_LEVEL = 0.05


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Primary:
    """A claim: over the seeds, the rows of `plus` minus those of `minus` are above zero.

    Attributes:
        name: P1 to P8.
        claim: What is claimed, in words.
        study: The study that has its rows; empty for one that this version does not have yet.
        metric: What is measured.
        plus: The rows that are added, as reports call them.
        minus: The rows that are subtracted.
        rounds: After how many rounds it is asked.
    """

    name: str
    claim: str
    study: str = ""
    metric: str
    plus: tuple[str, ...] = ()
    minus: tuple[str, ...] = ()
    rounds: int = 500


class _Rows(TypedDict):
    plus: tuple[str, ...]
    minus: tuple[str, ...]


def _rows(first: str, second: str) -> _Rows:
    return {"plus": (first,), "minus": (second,)}


# Where the plan names no data, F-MNIST at b = 10 is meant: only P6 says digits. One comparison on
# each of two data sets would be two.
PRIMARIES = (
    Primary(
        name="P1", claim="FedMGDA+ ends above FedAvg in the average", study="fmnist-rules",
        metric="late_average", **_rows("FedMGDA+", "FedAvg"),
    ),
    Primary(
        name="P2", claim="FedMGDA+ ends above FedMGDA in the average", study="fmnist-rules",
        metric="late_average", **_rows("FedMGDA+", "FedMGDA"),
    ),
    Primary(
        name="P3", claim="FedMGDA+ learns faster than FedAvg-n", study="fmnist-rules",
        metric="curve_average", **_rows("FedMGDA+", "FedAvg-n"),
    ),
    Primary(
        name="P4", claim="FedMGDA+ improves more participants than FedAvg-n",
        study="fmnist-rules", metric="improved", **_rows("FedMGDA+", "FedAvg-n"),
    ),
    Primary(
        name="P5", claim="epsilon = 0.1 ends above FedAvg (raw updates, non-iid)",
        study="fig1-fmnist", metric="late_average",
        **_rows("non-iid, epsilon 0.1", "non-iid, epsilon 0.0"),
    ),
    Primary(
        name="P6", claim="scaling by 10 costs q-FedAvg (q = 2) more than FedAvg (digits)",
        study="digits-attack", metric="late_average", rounds=150,
        plus=("q-FedAvg (q = 2), c = 1", "FedAvg, c = 10"),
        minus=("q-FedAvg (q = 2), c = 10", "FedAvg, c = 1"),
    ),
    Primary(
        name="P7", claim="protection lifts the worst 5 % of FedMGDA+", study="protected-fmnist",
        metric="late_worst5", **_rows("FedMGDA+ protected", "FedMGDA+"),
    ),
    Primary(
        name="P8", claim="protection lifts the average of FedMGDA+", study="protected-fmnist",
        metric="late_average", **_rows("FedMGDA+ protected", "FedMGDA+"),
    ),
)  # fmt: skip
"""All of them; Holm's correction is over their number, whether or not they have been run."""


Sample: TypeAlias = "Mapping[int, float]"
"""For each seed, what a comparison comes to."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the seeds say of a primary comparison.

    Attributes:
        primary: The comparison.
        mean: Over the seeds.
        low: The lower end of Holm's interval; NaN where all seeds agree to the last digit.
        high: Its upper end.
        p_adjusted: The p-value after Holm.
        word: The verdict.
        smallest: The mean from which on these seeds, at their spread, would have decided.
    """

    primary: Primary
    mean: float
    low: float
    high: float
    p_adjusted: float
    word: Word
    smallest: float


def samples(study: Study, setting: Setting, lines: Sequence[Line]) -> dict[str, Sample]:
    """Return the primary comparisons of a study, seed by seed, as far as its runs have come.

    Args:
        study: The study.
        setting: How large it was run; there are none in a setting that the plan does not mean.
        lines: Its fixed metrics.
    """
    rounds = setting.rounds or study.rounds
    if setting.changes or setting.compat != "paper":
        return {}
    found = {(cell_name(study, line.cell), line.metric): line.values for line in lines}
    result: dict[str, Sample] = {}
    for primary in PRIMARIES:
        plus = [found.get((row, primary.metric), {}) for row in primary.plus]
        minus = [found.get((row, primary.metric), {}) for row in primary.minus]
        here = (primary.study, primary.rounds) == (study.name, rounds)
        if here and all([*plus, *minus]):
            seeds = sorted(SEEDS.intersection(*plus, *minus))
            result[primary.name] = {
                seed: sum(row[seed] for row in plus) - sum(row[seed] for row in minus)
                for seed in seeds
            }
    return result


def is_whole(sample: Sample) -> bool:
    """Whether a comparison may be decided, and looked at: every one of its seeds is there."""
    return sample.keys() == SEEDS


def decide(found: Mapping[str, Sample]) -> list[Decision]:
    """Decide what has all its seeds, by Holm's intervals over all primary comparisons.

    A comparison that is missing counts as if its p-value were 1: whatever it turns out to be, what
    is decided now stays decided, and only an "undecided" may still change.

    The interval of a comparison is Student's t at the level at which Holm's procedure tests it: the
    k-th smallest p-value of n at 0.05 / (n - k + 1), and from the first that fails on at the level
    of that one. So it excludes zero exactly where the adjusted p-value is below 0.05.

    Args:
        found: The comparisons by name.
    """
    whole = {p: found[p.name] for p in PRIMARIES if is_whole(found.get(p.name, {}))}
    tests = {
        p: paired_difference(sample, dict.fromkeys(sample, 0.0)) for p, sample in whole.items()
    }
    values = [1.0 if math.isnan(gap.p) or gap.n < len(SEEDS) else gap.p for gap in tests.values()]
    missing = [1.0] * (len(PRIMARIES) - len(values))
    adjusted = holm([*values, *missing])[: len(values)]
    return [
        _decision(primary, sample, p, level)
        for (primary, sample), p, level in zip(
            whole.items(), adjusted, _levels(values), strict=True
        )
    ]


def _levels(values: Sequence[float]) -> list[float]:
    """Return the level at which Holm's procedure tests each of some of the primary p-values."""
    levels, remaining = [0.0] * len(values), len(PRIMARIES)
    for i in sorted(range(len(values)), key=values.__getitem__):
        levels[i] = _LEVEL / remaining
        if values[i] < levels[i]:
            remaining -= 1
    return levels


def _decision(primary: Primary, sample: Sample, p_adjusted: float, level: float) -> Decision:
    gap = paired_difference(sample, dict.fromkeys(sample, 0.0), confidence=1.0 - level)
    word: Word = "holds" if gap.low > 0.0 else "refuted" if gap.high < 0.0 else "undecided"
    return Decision(
        primary=primary, mean=gap.mean, low=gap.low, high=gap.high, p_adjusted=p_adjusted,
        word=word if gap.n == len(SEEDS) else "undecided", smallest=(gap.high - gap.low) / 2.0,
    )  # fmt: skip
