"""What users gain by one run over another, and what the chance of the test rows makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.experiments._compared_users import a_seed
from fedmgda.experiments._comparison import Against, ClientGain
from fedmgda.metrics import LEVEL, SameRows, paired_over_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fedmgda._types import Flags, Indices
    from fedmgda.experiments._compared import Side
    from fedmgda.experiments._compared_users import ComparedUser
    from fedmgda.metrics import Paired

__all__ = ["Pairs", "gains_over", "places_of", "rows_of"]

Pairs: TypeAlias = "Mapping[int, tuple[Side, Side]]"
"""Two runs, by their seed."""


def gains_over(name: str, users: Sequence[ComparedUser], by_seed: Pairs, draws: int) -> Against:
    """Hold one run against another.

    Args:
        name: The metric.
        users: Whom it is about.
        by_seed: The two runs of every seed that both have.
        draws: How many samples are behind intervals and tests.
    """
    tests = [user.among(by_seed) for user in users]
    means = [
        _pair(name, test.values(), user.client, draws)
        for user, test in zip(users, tests, strict=True)
    ]
    singly = [
        {
            seed: mean if len(test) == 1 else _pair(name, [pair], user.client, draws)
            for seed, pair in test.items()
        }
        for user, test, mean in zip(users, tests, means, strict=True)
    ]
    clients = tuple(map(_client_gain, users, tests, means, singly))
    whole = _pair(name, by_seed.values(), None, draws)
    gains = np.array([mean.gain for mean in means])
    losing = np.array([mean.loses_by_chance() for mean in means])  # of shape (users, draws)
    worse = np.array([mean.worse_by_chance() for mean in means])
    called = np.array([client.beyond_chance or "" for client in clients])

    def count(who: Flags) -> float:
        return a_seed(users, by_seed, lambda places: int(who[places].sum()))

    def by_chance(who: Flags, of: Callable[[Indices], Any]) -> float:
        # Seeds share rows: over several the mean of their 95 % is never too small.
        return a_seed(users, by_seed, lambda places: float(of(who[places].sum(axis=0))))

    def most(counts: Indices) -> Any:
        return np.percentile(counts, 95)

    each = [[mine[seed] for mine in singly if seed in mine] for seed in by_seed]
    return Against(
        name=next(iter(by_seed.values()))[1].label,
        seeds=tuple(mine.seed for mine, _ in by_seed.values()),
        gain=whole.gain,
        low=whole.interval[0],
        high=whole.interval[1],
        gaining=count(gains > 0),
        losing=count(gains < 0),
        losing_by_chance=by_chance(losing, np.mean),
        losing_by_chance_95=by_chance(losing, most),
        better=count(called == "better"),
        worse=count(called == "worse"),
        worse_by_chance=by_chance(worse, np.mean),
        worse_by_chance_95=by_chance(worse, most),
        losing_by_seed=tuple(sum(pair.gain < 0 for pair in pairs) for pairs in each),
        worse_by_seed=tuple(sum(pair.p_worse <= LEVEL for pair in pairs) for pairs in each),
        clients=clients,
    )


def _client_gain(
    user: ComparedUser, test: Pairs, mean: Paired, singly: Mapping[int, Paired]
) -> ClientGain:
    low, high = mean.interval
    called: Literal["worse", "better"] | None = "worse" if mean.p_worse <= LEVEL else None
    if mean.p_better <= LEVEL:
        called = "better"
    return ClientGain(
        client=user.name,
        rows=sum(rows_of(mine, user.client) for mine, _ in test.values()),
        gain=mean.gain,
        low=low,
        high=high,
        p_worse=mean.p_worse,
        p_better=mean.p_better,
        beyond_chance=called,
        by_seed=tuple(pair.gain for pair in singly.values()),
        seed=user.seed,
    )


def _pair(
    name: str, pairs: Collection[tuple[Side, Side]], client: int | None, draws: int
) -> Paired:
    """Compare on the rows of a client, or on all of them, over those seeds together."""
    tests, firsts = list[SameRows](), list[int]()
    for mine, other in pairs:
        places = np.arange(len(mine.rows)) if client is None else places_of(mine, client)
        ours, theirs = mine.answers.take(places), other.answers.take(places)
        tests.append(SameRows(rows=mine.rows[places], ours=ours, theirs=theirs))
        firsts += mine.rows[places[:1]].tolist()
    key = () if client is None else (min(firsts, default=0) + 1,)
    seed = next((mine.seed for mine, _ in pairs), 0)
    rng = generator(seed, Stream.COMPARISON, *key)
    return paired_over_seeds(name, tests, rng, draws)


def places_of(side: Side, client: int) -> Indices:
    """Return where the rows of a client are."""
    return np.flatnonzero(side.clients == client)


def rows_of(side: Side, client: int) -> int:
    """Return how many rows a client is tested on."""
    return int(np.sum(side.clients == client))
