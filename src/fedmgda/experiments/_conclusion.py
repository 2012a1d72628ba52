"""The one sentence that must be read of a comparison: did it learn, and who pays for it?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedmgda.experiments._verdict import LEARNED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.experiments._comparison import Against
    from fedmgda.experiments._verdict import Verdict

__all__ = ["conclusion", "most_telling"]

_ROUNDED_TO_NOTHING, _FEW = 0.05, 1.5  # between them one digit behind the point is shown

_BUT = (
    "{count} of {known} {clients} {are} worse off than {what} (about {chance} would be by the "
    "chance of the test rows)"
)
_NO_MORE = (
    "{count} of {known} {clients} {are} worse off than {what}, as the chance of the test rows "
    "alone may make it (about {chance}, seldom more than {most})"
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


def _about_clients(other: Against) -> str:
    known = sum(not math.isnan(client.gain) for client in other.clients)
    what = {"alone": "alone", "constant": "with a constant"}.get(other.name, f"under {other.name}")
    form = _NO_MORE if other.worse else _NOBODY
    if _more_than_chance(other):
        form = _BUT
    chance = other.worse_by_chance
    return form.format(
        count=other.worse,
        known=known,
        clients="client" if known == 1 else "clients",
        are="is" if other.worse == 1 else "are",
        what=what,
        most=f"{other.worse_by_chance_95:.0f}",
        chance=f"{chance:.1f}" if _ROUNDED_TO_NOTHING <= chance < _FEW else f"{chance:.0f}",
    )


def _more_than_chance(other: Against) -> bool:
    return other.worse > other.worse_by_chance_95
