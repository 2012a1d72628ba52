"""Every sentence of a verdict, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BLOCKED_BY_ONE", "BLOCKED_BY_SEVERAL", "BUFFERS", "CONFLICT", "CONSTANT", "DIVERGED",
    "FAILED", "FEWER", "FEW_EXAMPLES", "FEW_STALLED", "HELD", "INITIAL", "KEPT", "LEARNED",
    "MAY_HAVE_LEARNED", "NOBODY_WORSE", "NOT_LEARNED", "NOT_TESTED", "OVERCONFIDENT", "OVERSHOT",
    "QUARANTINED", "RISEN", "SACRIFICED", "SMALLER_BOX", "STALLED", "STOOD_STILL", "TOO_LONG_STEPS",
    "WORSE_THAN_CONSTANT", "WORSE_THAN_INITIAL", "listed", "number",
]  # fmt: skip

LEARNED = "It learned: test loss {loss}, averaged over {users} clients; {others}."
MAY_HAVE_LEARNED = (
    "It may have learned: test loss {loss}, averaged over {users} clients; {others}. With {rows} "
    "the difference is within chance."
)
NOT_LEARNED = (
    "It did not learn: test loss {loss}, averaged over {users} clients; {others}. Try {hint}."
)
DIVERGED = (
    "It diverged: test loss {loss}, averaged over {users} clients; {others}. The model is of no "
    "use. Try {hint} (now {now})."
)
STOOD_STILL = (
    "It stood still: no common direction among {participants} participants in {stalled} of "
    "{rounds} rounds. {cure}"
)
NOT_TESTED = "Nobody has test examples, so nobody can say whether it learned."
INITIAL = "{initial} before training"
CONSTANT = "{constant} for always predicting the {what}"

FEWER = "take fewer (-c {})"
SMALLER_BOX = "a smaller epsilon (-c {}), which may go against some"

STALLED = (
    "No common direction among {participants} participants in {stalled} of {rounds} rounds; the "
    "model hardly moved in them. {cure}"
)
BLOCKED_BY_ONE = "In round {round} {names} blocked: without it the others had a common direction."
BLOCKED_BY_SEVERAL = (
    "In round {round} {names} blocked: without any one of them the others had a common direction."
)
FEW_STALLED = "{stalled} of {rounds} rounds stalled: their participants had no common direction."
CONFLICT = (
    "In round {round} no single client blocked: {names} have no common direction even by "
    "themselves."
)
SACRIFICED = (
    "{rounds} of {all} rounds went against a participant, to first order; most often {names}."
)
OVERSHOT = (
    "No round went against a participant to first order; yet after a round only {improved} of the "
    "participants had no higher training loss, as steps are finite: a smaller server.lr narrows it."
)
RISEN = (
    "The loss was lowest after round {round}, {best}, and is {loss} now: keep the best round with "
    "-c evaluation.select=loss, or stop there."
)
KEPT = (
    "The model that is kept is the one of round {round}, selected on validation: test loss {loss}."
)
OVERCONFIDENT = (
    "More answers are right than before ({accuracy} on average), though the loss is above that of "
    "a constant: wrong answers are given with too much confidence."
)
WORSE_THAN_CONSTANT = (
    "Worse off than with a constant: {count} of {known} clients, {names}; about {chance} would be "
    "by chance."
)
WORSE_THAN_INITIAL = "Worse off than before training: {count} of {known} clients, {names}."
NOBODY_WORSE = "No client with {few} test rows or more is surely worse off than {what}."
FEW_EXAMPLES = (
    "{count} of {users} clients have fewer than {few} test rows, too few to judge them singly."
)
FAILED = "{count} of {rounds} rounds failed, and the model did not move in them: {reason}."
QUARANTINED = "{count} replies did not count, most often of {name}: {reason}."
HELD = "{count} steps were refused because somebody's loss would have risen."
BUFFERS = (
    "The model has running statistics (batch norm, {count} numbers): they are averaged over "
    "clients, and no promise of this method covers them."
)
TOO_LONG_STEPS = "{error} The usual cause is a learning rate that is too large: try -c {hint}"


def number(value: float | None) -> str:
    """Write a loss for people.

    >>> number(0.123456), number(None)
    ('0.123', 'not a number')
    """
    return "not a number" if value is None else f"{value:.3g}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Write some names, and how many more there are.

    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ('a and b', 'a, b, c, d, e and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])
