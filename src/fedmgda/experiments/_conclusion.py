"""The one sentence that must be read of a comparison: did it learn, and who pays for it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.experiments._sentences import about_stalls
from fedmgda.experiments._verdict import LEARNED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.experiments._comparison import Against
    from fedmgda.experiments._verdict import Verdict

__all__ = ["conclusion", "in_seeds", "most_telling", "of_clients", "stalled"]

_ROUNDED_TO_NOTHING, _FEW = 0.05, 1.5  # between them one digit behind the point is shown

_BUT = (
    "{count} {are} worse off than {what} (about {chance} would be by the chance of the test rows)"
)
_NO_MORE = (
    "{count} {are} worse off than {what}, as the chance of the test rows alone may make it (about "
    "{chance}, seldom more than {most})"
)
_NOBODY = "no client is worse off than {what} beyond the chance of the test rows"


def most_telling(against: Sequence[Against]) -> Against:
    """Return the run that counts most: `alone`, as one need not join, or the first."""
    alone = (other for other in against if other.name.rpartition("/")[2] == "alone")
    return next(alone, against[0])


def conclusion(verdicts: Mapping[int, Verdict], other: Against) -> str:
    """Say whether the run learned, and how many clients are worse off than without it.

    Args:
        verdicts: What became of the run, by seed.
        other: What it is held against.
    """
    clients = _about_clients(other)
    failed = [(seed, one) for seed, one in verdicts.items() if one.outcome != LEARNED]
    if failed:
        seed, verdict = failed[0]
        where = f"Seed {seed}: " if len(verdicts) > 1 else ""
        return f"{where}{verdict.headline} {clients[0].upper()}{clients[1:]}."
    everywhere = f" in all {len(verdicts)} seeds" if len(verdicts) > 1 else ""
    joint = ", but" if _more_than_chance(other) else ";"
    return f"It learned{everywhere}{joint} {clients}."


def stalled(verdicts: Mapping[int, Verdict]) -> tuple[str, ...]:
    """Return what is said of stalled rounds, of the seed that has most of them."""
    found = {seed: one for seed, one in verdicts.items() if one.stalls is not None}
    if not found:
        return ()
    worst = max(found, key=lambda seed: getattr(found[seed].stalls, "rounds", 0))
    said = about_stalls(found[worst].sentences)
    where = f"Seed {worst}: " if len(verdicts) > 1 and said else ""
    return tuple([where + said[0], *said[1:]] if said else [])


def of_clients(count: float, other: Against, who: str = "client") -> str:
    """Say how many clients of all, a seed where each seed has clients of its own."""
    users = f"{in_seeds(other.known)} {who}{'' if other.known == 1 else 's'}"
    return f"{in_seeds(count)} of {users}{' a seed' if other.apart else ''}"


def in_seeds(count: float) -> str:
    """Write a count that may be a mean over seeds.

    >>> in_seeds(3), in_seeds(3.0), in_seeds(7 / 2), in_seeds(7 / 3)
    ('3', '3', '3.5', '2.3')
    """
    return f"{count:.1f}".removesuffix(".0")


def _about_clients(other: Against) -> str:
    what = {"alone": "alone", "constant": "with a constant"}.get(other.name, f"under {other.name}")
    form = _NO_MORE if other.worse else _NOBODY
    if _more_than_chance(other):
        form = _BUT
    chance = other.worse_by_chance
    return form.format(
        count=of_clients(other.worse, other),
        are="is" if other.worse == 1 else "are",
        what=what,
        most=in_seeds(other.worse_by_chance_95)
        if other.apart
        else f"{other.worse_by_chance_95:.0f}",
        chance=f"{chance:.1f}" if _ROUNDED_TO_NOTHING <= chance < _FEW else f"{chance:.0f}",
    )


def _more_than_chance(other: Against) -> bool:
    return other.worse > other.worse_by_chance_95
