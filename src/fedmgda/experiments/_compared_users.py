"""Whom a comparison is about: users over all seeds, or those of each seed apart.

The one place that says when clients of several runs are the same users. `Run.users` says who they
are; where the seed deals the rows, "client 1" of one seed and "client 1" of another are strangers,
and a mean over them is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fedmgda.experiments._reader import Run

__all__ = ["ComparedUser", "a_seed", "are_same_users", "compared_users", "user_label"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedUser:
    """One user.

    Attributes:
        client: Its number.
        name: What it is called.
        seed: The seed whose client it is; None if it is the same user in all of them.
    """

    client: int
    name: str
    seed: int | None = None

    def among(self, by_seed: Mapping[int, T]) -> dict[int, T]:
        """Return what there is of this user, by seed: of all of them, or of its own."""
        return {seed: one for seed, one in by_seed.items() if self.seed in {None, seed}}


def are_same_users(users: Iterable[tuple[str, ...] | None]) -> bool:
    """Tell whether clients of one number are the same users in several runs.

    Args:
        users: `Run.users` of each; None where it is not known, so that nobody can say so.

    >>> are_same_users([("north", "south"), ("north", "south")]), are_same_users([None, None])
    (True, False)
    """
    known = list(users)
    return len(known) < 2 or (None not in known and len(set(known)) == 1)


def compared_users(runs: Sequence[Run], names: Sequence[Sequence[str]]) -> list[ComparedUser]:
    """Return the users of runs that differ in the seed only: each once, or those of each seed.

    Args:
        runs: The runs.
        names: What the clients of each are called.
    """
    if are_same_users(run.users for run in runs):
        return [ComparedUser(client=client, name=name) for client, name in enumerate(names[0])]
    return [
        ComparedUser(client=client, name=name, seed=run.spec.seed)
        for run, called in zip(runs, names, strict=True)
        for client, name in enumerate(called)
    ]


def user_label(name: str, seed: int | None) -> str:
    """Return what a user is called beside those of other seeds.

    >>> user_label("client 3", 1), user_label("north", None)
    ('client 3 (seed 1)', 'north')
    """
    return name if seed is None else f"{name} (seed {seed})"


def a_seed(
    users: Sequence[ComparedUser], seeds: Iterable[int], count: Callable[[list[int]], float]
) -> float:
    """Return a count of users, the mean over seeds where each has users of its own.

    Args:
        users: All of them.
        seeds: The seeds that count.
        count: What is asked about the users at those places.
    """
    apart = users[0].seed is not None
    groups = [
        [place for place, user in enumerate(users) if user.seed == seed]
        for seed in (seeds if apart else (None,))
    ]
    found = [count(group) for group in groups]
    return float(np.mean(found)) if apart else found[0]
