"""Every sentence of a verdict, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AS_MEASURED", "BLOCKED_BY_ONE", "BLOCKED_BY_SEVERAL", "CONFLICT", "CONSTANT", "DIVERGED",
    "DIVERGED_ATTACKED",
    "EMPTY_STEPS", "ENDED", "FAILED", "FEW_EXAMPLES", "FEW_STALLED", "FULL_STEPS", "HELD",
    "INITIAL", "KEPT", "LEARNED", "LOSSES", "MAY_HAVE_LEARNED", "NOBODY_WORSE", "NOT_LEARNED",
    "NOT_MEASURED", "NOT_TESTED", "OVERCONFIDENT", "OVERRIDDEN", "OVERSHOT", "PROTECTED",
    "QUARANTINED", "RISEN", "SACRIFICED", "SCOPE", "STALLED", "STEPS", "STOOD_STILL",
    "STOOD_STILL_HELD", "TOO_LONG_STEPS", "WHY_HELD", "WHY_HELD_IN_SHORT", "WORSE_THAN_CONSTANT",
    "WORSE_THAN_INITIAL", "about_stalls", "buffers", "cured", "number",
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
DIVERGED_ATTACKED = (
    "It diverged under the attack {attack!r} of {attackers}: test loss {loss}, averaged over "
    "{users} honest clients; {others}. The model is of no use. Try {hint} (now {now})."
)
STOOD_STILL = (
    "It stood still: no common direction among {participants} participants in {stalled} of "
    "{rounds} rounds. {cure}"
)
NOT_TESTED = "Nobody has test examples, so nobody can say whether it learned."
INITIAL = "{initial} before training"
CONSTANT = "{constant} for always predicting the {what}"

STOOD_STILL_HELD = "It stood still: {held} of {rounds} rounds were held, {why}. {cure}"
LOSSES = "The model has test loss {loss}, averaged over {users} clients; {others}."

_CURES = {
    "clients.per_round": "take fewer (-c {})",
    "rule.epsilon": "a smaller epsilon (-c {}), which may go against some",
    "server.lr": "take another server step (-c {})",
    "server.protect.allow": "let {value} be overridden (-c {})",
    "server.protect": "do without protection (-c {})",
}
_EPSILON_OF_A_PROPOSAL = "take a smaller epsilon (-c {})"

_OF_STALLS = "common direction"  # what all sentences about stalls have, and no other
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
PROTECTED = (
    "In every one of {rounds} rounds no participant ended with a higher training loss, as they "
    "said it: {made}. {scope}"
)
OVERRIDDEN = (
    "In every one of {rounds} rounds at most {allow} (server.protect.allow) ended with a higher "
    "training loss, as they said it: {made}; somebody did in {over}, most often {names}. {scope}"
)
SCOPE = "Only each round's participants are meant, and it does not add up over rounds."
AS_MEASURED = (
    "Attackers may lie: as measured, an honest participant ended a step with a higher training "
    "loss {rose} of {known} times."
)
NOT_MEASURED = "Attackers may lie, and nothing was measured beside what participants said."
ENDED = (
    "The run ended after round {last} of {rounds}: stationary, {held} rounds in a row were held."
)
HELD = "{held} of {rounds} rounds were held, {why}. {cure}"
WHY_HELD = {
    "stationary": "no step serves all {participants} participants",
    "stalled": "the updates of {participants} participants cancel",
    "opposed": "by what was said the training loss of {names} rose at every length tried",
    "unmoved": "the steps were too short to change the model",
}
WHY_HELD_IN_SHORT = {
    "stationary": "no step serves all",
    "stalled": "the updates cancel",
    "opposed": "somebody's loss rose at every length",
    "unmoved": "the step changes nothing",
}
STEPS = (
    "Of {steps} {turned} turned, and they were made at {mean} of their length on average, {least} "
    "at least; {short} % below 1/16."
)
EMPTY_STEPS = "{count} of them next to nothing as the updates cancelled"
FULL_STEPS = "Of {steps} {turned} turned, and all were made at their full length."
_BUFFERS = (
    "The model has running statistics (batch norm, {count} numbers): they are averaged over "
    "clients, and no promise of this method covers them."
)
_BUFFERS_PROTECTED = (
    "The model has running statistics (batch norm, {count} numbers): they are averaged over "
    "clients, participants take their losses with them, and where they stand in the way of every "
    "length of a step they stay."
)
TOO_LONG_STEPS = "{error} The usual cause is a learning rate that is too large: try -c {hint}"


def number(value: float | None) -> str:
    """Write a loss for people.

    >>> number(0.123456), number(None)
    ('0.123', 'not a number')
    """
    return "not a number" if value is None else f"{value:.3g}"


def about_stalls(sentences: Sequence[str]) -> list[str]:
    """Return those sentences of a verdict that are about stalled rounds, and who blocked them.

    >>> about_stalls([FEW_STALLED.format(stalled=1, rounds=9), SCOPE])
    ['1 of 9 rounds stalled: their participants had no common direction.']
    """
    return [sentence for sentence in sentences if _OF_STALLS in sentence]


def buffers(count: int, *, protected: bool) -> str:
    """Say what becomes of the running statistics of a model."""
    return (_BUFFERS_PROTECTED if protected else _BUFFERS).format(count=count)


def cured(cures: Sequence[str], *, protected: bool = False) -> str:
    """Write what can be changed, each with its key, as a sentence.

    Args:
        cures: Overrides.
        protected: Whether a step is only a proposal, which cannot go against anybody.

    >>> cured(["clients.per_round=10", "server.lr=0.1"])
    'Take fewer (-c clients.per_round=10), or take another server step (-c server.lr=0.1).'
    """
    forms = _CURES | ({"rule.epsilon": _EPSILON_OF_A_PROPOSAL} if protected else {})
    told = []
    for cure in cures:
        key, _, value = cure.partition("=")
        told.append(forms[key].format(cure, value=value))
    told = told or ["name fewer clients", "other ones"]
    text = ", or ".join(part for part in (", ".join(told[:-1]), told[-1]) if part)
    return f"{text[0].upper()}{text[1:]}."
