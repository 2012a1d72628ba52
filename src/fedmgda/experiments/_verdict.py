"""What became of a run, in words and numbers: the values that `summary.json` holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from fedmgda._json import json_field

__all__ = [
    "DIVERGED", "LEARNED", "MAY_HAVE_LEARNED", "NOT_LEARNED", "NOT_TESTED", "STOOD_STILL",
    "HeldRounds", "Stalls", "Verdict",
]  # fmt: skip

LEARNED, NOT_LEARNED, DIVERGED = "learned", "not learned", "diverged"
MAY_HAVE_LEARNED, STOOD_STILL, NOT_TESTED = "may have learned", "stood still", "not tested"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """The rounds in which the updates cancelled, and what one of them shows.

    Attributes:
        rounds: How many there were.
        participants: How many clients took part in the last of them.
        looked_at: The round whose Gram matrix was looked at; None where none was kept whole.
        blocking: Clients without whom the others of that round have a common direction, the one
            that matters most first; empty if no single client blocks.
        conflict: Clients that have no common direction among themselves, and would have one if
            any of them were missing.
    """

    rounds: int
    participants: int
    looked_at: int | None = None
    blocking: tuple[int, ...] = ()
    conflict: tuple[int, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRounds:
    """The rounds that protection held, and what they show.

    Attributes:
        rounds: How many there were.
        participants: How many clients took part in the last of them.
        why: What most of them were held for: no step serves all participants ("stationary"), the
            updates cancelled ("stalled"), somebody's loss rose at every length that was tried
            ("opposed"), or the step was none in the numbers of the model ("unmoved").
        opposing: Clients whose loss rose at every length in at least half of the rounds that were
            held for that; who did so most often first.
        looked_at: The round without a step for all whose Gram matrix was looked at, if any.
        blocking: As of `Stalls`, by the gradients of that round.
        conflict: Likewise.
    """

    rounds: int
    participants: int
    why: str
    opposing: tuple[int, ...] = ()
    looked_at: int | None = None
    blocking: tuple[int, ...] = ()
    conflict: tuple[int, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a run was worth it, from its records alone.

    Losses are test losses, averaged over the honest clients that have test examples.

    Attributes:
        outcome: "learned", "may have learned" where that is within chance, "not learned",
            "diverged", "stood still", or "not tested" where nobody has test examples.
        headline: The most important thing, in one sentence with what to change.
        sentences: Everything else that should be known, the most important first.
        hints: Keys to change, as after `-c`, the most promising first.
        loss: Of the trained model; None where it is not finite.
        initial_loss: Of the initial model.
        constant_loss: Of the predictor that says the same of every example; None where the sums
            of the training targets or the predictions were not kept.
        worse_than_constant: Clients whose loss is above the constant predictor's by more than t
            standard errors of the difference, over n >= 10 test examples: t is the 97.5 % quantile
            of Student's t with n - 1 degrees of freedom.
        worse_than_initial: Clients whose loss is above that of the initial model by more than t
            standard errors of their loss, likewise.
        few_test_examples: How many clients have fewer than ten.
        stalls: The rounds that stalled; None if there were none.
        held: The rounds that protection held; None if there were none.
    """

    outcome: str
    headline: str
    sentences: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    loss: float | None = None
    initial_loss: float | None = None
    constant_loss: float | None = None
    worse_than_constant: tuple[int, ...] = ()
    worse_than_initial: tuple[int, ...] = ()
    few_test_examples: int = 0
    stalls: Stalls | None = json_field(default=None, omit=True)  # noqa: RUF009
    held: HeldRounds | None = json_field(default=None, omit=True)  # noqa: RUF009

    @property
    def good(self) -> bool:
        """Whether a script may go on: the model is shown to have learned, or nobody is tested."""
        return self.outcome in {LEARNED, NOT_TESTED}
