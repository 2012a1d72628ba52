"""What a comparison of runs says: values, so that a terminal, a table and JSON say the same."""

from __future__ import annotations

import csv
import io
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from fedmgda._errors import StoreError
from fedmgda._files import read_part
from fedmgda._json import json_field
from fedmgda.experiments._compared_users import user_label
from fedmgda.metrics import DRAWS, LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fedmgda.experiments._verdict import Verdict

__all__ = [
    "Against",
    "ClientGain",
    "Comparison",
    "ProtectedRounds",
    "RunScore",
    "comparison_csv",
    "is_comparison_csv",
]

_FIRST = ("client", "test_rows")  # the columns that every comparison begins with


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedRounds:
    """What became of the rounds of a protected run, in percent of them, the mean over seeds.

    Attributes:
        with_step: Rounds in which the model moved.
        held: Rounds in which protection left it where it was.
        overridden: Rounds in which somebody's training loss rose, as they said it.
        improved: Participants whose training loss did not rise, as measured; None where it was not.
        improved_with_step: The same over the rounds with a step.
    """

    with_step: float
    held: float
    overridden: float
    improved: float | None = None
    improved_with_step: float | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore:
    """One run: how its clients are served, in the metric that was chosen.

    Attributes:
        name: What the run is called.
        seeds: Its seeds.
        pooled: The metric over all test rows, the mean over seeds.
        average: The mean over clients, each counted once, and over seeds.
        worst: The worst client, by its mean over seeds; where each seed has clients of its own,
            the mean over seeds of the worst of each.
        clients: For every client its value, the mean over seeds if it is the same user in all;
            NaN where it is not defined.
        low: The lower bounds of these values at 95 %, the mean likewise; NaN for few rows, but
            not of a share, whose interval is Wilson's.
        high: The upper bounds.
        found: Of two classes, how many rows of the positive one were found, over all seeds.
        protection: What protection made of its rounds; None without it.
        improved: Where a run that it is compared with is protected: participants whose training
            loss a round did not raise, in percent, as measured, the mean over seeds.
    """

    name: str
    seeds: tuple[int, ...]
    pooled: float
    average: float
    worst: float
    clients: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    found: int | None = None
    protection: ProtectedRounds | None = json_field(default=None, omit=True)  # noqa: RUF009
    improved: float | None = json_field(default=None, omit=True)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientGain:
    """What a client gains by the first run over another; negative where it loses.

    Attributes:
        client: What it is called.
        rows: Its test rows, over all its seeds.
        gain: The mean over its seeds of the difference of the metric, better being positive; NaN
            where it is not defined.
        low: Its lower bound at 95 %, by the bootstrap over rows; NaN for few of them.
        high: Its upper bound.
        p_worse: How often it is as bad or worse if the answers are swapped row by row.
        p_better: How often it is as good or better then.
        beyond_chance: "worse" or "better" where that is no more often than the level: beyond the
            chance of the test rows, for these two trained models.
        by_seed: The gain of every seed of its own.
        seed: The seed whose client it is, where each seed has other users; None if it is the same
            user in all of them.
    """

    client: str
    rows: int
    gain: float
    low: float
    high: float
    p_worse: float
    p_better: float
    beyond_chance: Literal["worse", "better"] | None
    by_seed: tuple[float, ...]
    seed: int | None = json_field(default=None, omit=True)

    @property
    def label(self) -> str:
        """What it is called beside clients of other seeds."""
        return user_label(self.client, self.seed)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """The first run against another.

    Counts of clients are the mean over seeds where each seed has clients of its own.

    Attributes:
        name: What the other is called.
        seeds: The seeds that both have.
        gain: The gain over all test rows, the mean over seeds.
        low: Its lower bound at 95 %.
        high: Its upper bound.
        gaining: How many clients gain.
        losing: How many lose.
        losing_by_chance: How many would lose, on average, if the two runs' answers were swapped
            row by row with a fair coin.
        losing_by_chance_95: What that number stays within in 95 of 100 such swaps.
        better: How many gain beyond the chance of the test rows.
        worse: How many lose beyond it.
        worse_by_chance: How many would be called so, on average, under such swaps.
        worse_by_chance_95: What that number stays within in 95 of 100 of them.
        losing_by_seed: How many lose, for every seed.
        worse_by_seed: How many lose beyond the chance of the test rows, for every seed.
        clients: Every client.
    """

    name: str
    seeds: tuple[int, ...]
    gain: float
    low: float
    high: float
    gaining: float
    losing: float
    losing_by_chance: float
    losing_by_chance_95: float
    better: float
    worse: float
    worse_by_chance: float
    worse_by_chance_95: float
    losing_by_seed: tuple[int, ...]
    worse_by_seed: tuple[int, ...]
    clients: tuple[ClientGain, ...]

    @property
    def apart(self) -> bool:
        """Whether each seed has clients of its own."""
        return any(client.seed is not None for client in self.clients)

    @property
    def known(self) -> float:
        """How many clients the metric is defined for."""
        count = sum(not math.isnan(client.gain) for client in self.clients)
        return count / len(self.seeds) if self.apart else count


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One run against others on the same test rows.

    Attributes:
        metric: The metric.
        clients: What the clients are called; where each seed has clients of its own, those of the
            first seed, then those of the next.
        rows: The test rows of each, over all its seeds.
        runs: Every run, the one that is compared with the others first.
        against: The first run against each of the others.
        conclusion: Whether the first run learned and how many clients are worse off than alone, in
            a sentence.
        verdict: What became of the first run, by its records; of its first seed.
        positive: Of two classes, what the one is called that recall and F1 are about.
        positives: How many test rows are of it, over all seeds.
        notes: Sentences the user should see.
        stalls: Sentences about the rounds of the first run that stalled, who blocked them and what
            to change; of the seed that has most of them.
        level: What swaps do no more often than this is beyond the chance of the test rows.
        draws: How many samples are behind intervals and tests.
    """

    metric: str
    clients: tuple[str, ...]
    rows: tuple[int, ...]
    runs: tuple[RunScore, ...]
    against: tuple[Against, ...]
    conclusion: str
    verdict: Verdict
    positive: str | None = None
    positives: int | None = None
    notes: tuple[str, ...] = ()
    stalls: tuple[str, ...] = ()
    level: float = LEVEL
    draws: int = DRAWS


def comparison_csv(found: Comparison) -> str:
    """Return every client of a comparison; what is not defined is an empty cell."""
    columns = list(_columns(found))
    text = io.StringIO()
    # Texts are quoted, so that no name can look like the end of a line.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    for place in range(len(found.clients)):
        cells = [values[place] for _, values in columns]
        writer.writerow(["" if cell is None or cell != cell else cell for cell in cells])  # noqa: PLR0124 (NaN)
    return text.getvalue()


def is_comparison_csv(path: Path) -> bool:
    """Tell whether a file is a table that `comparison_csv` made, by how it begins."""
    head = ",".join(f'"{name}"' for name in _FIRST).encode()
    with suppress(StoreError):
        return read_part(path, 0, len(head)) == head
    return False


def _columns(found: Comparison) -> Iterator[tuple[str, list[Any]]]:
    """Yield name and values of every column."""
    yield from zip(_FIRST, (list(found.clients), list(found.rows)), strict=True)
    apart = found.against[0].apart
    if apart:
        yield "seed", [client.seed for client in found.against[0].clients]
    for run in found.runs:
        yield run.name, list(run.clients)
        yield f"{run.name} low", list(run.low)
        yield f"{run.name} high", list(run.high)
    for other in found.against:
        head = f"gain over {other.name}"
        yield head, [client.gain for client in other.clients]
        yield f"{head} low", [client.low for client in other.clients]
        yield f"{head} high", [client.high for client in other.clients]
        yield f"{head} p_worse", [client.p_worse for client in other.clients]
        yield f"{head} p_better", [client.p_better for client in other.clients]
        yield f"{head} beyond_chance", [client.beyond_chance for client in other.clients]
        several = len(other.seeds) > 1 and not apart
        for place, seed in enumerate(other.seeds if several else ()):
            yield f"{head} seed={seed}", [client.by_seed[place] for client in other.clients]
