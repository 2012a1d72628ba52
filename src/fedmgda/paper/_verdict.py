"""Does a number agree with the paper's? One stated rule, and when it has no basis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from fedmgda.paper._published import spread_of_twins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedmgda.paper._published import Number

__all__ = ["Verdict", "Word", "judge", "rule_text", "tolerance"]

Word: TypeAlias = Literal["agrees", "differs", "not comparable"]

_OF_ACCURACIES = 2.6  # SPEC 0.5 and 9.22: the spread of the averages of identical algorithms
_TWINS = ("std", "worst5", "best5")  # other measures, whose spread is read off the same rows


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The word, and why no other was possible; the reason is empty where the rule decided."""

    word: Word
    reason: str = ""


def tolerance(metric: str) -> float:
    """Return how far apart two numbers of the same algorithm may be, the published ± aside."""
    spread = spread_of_twins(metric) if metric in _TWINS else None
    return _OF_ACCURACIES if spread is None else round(spread, 1)


def judge(mean: float, published: Number | None, metric: str, obstacle: str = "") -> Verdict:
    """Compare a number with the published one.

    Args:
        mean: Ours, over seeds.
        published: The paper's, or None if it prints none.
        metric: What both are.
        obstacle: Why the rule has no basis here; empty if it has.
    """
    if published is None:
        return Verdict(word="not comparable", reason="the paper prints no number for this")
    if obstacle:
        return Verdict(word="not comparable", reason=obstacle)
    if not math.isfinite(mean):
        return Verdict(word="differs", reason="our model diverged")
    near = abs(mean - published.mean) <= tolerance(metric) + published.pm + 1e-9
    return Verdict(word="agrees" if near else "differs")


def rule_text(metrics: Iterable[str]) -> str:
    """State the rule and where its tolerances come from."""
    others = [metric for metric in metrics if metric in _TWINS]
    text = (
        f"A number agrees if it lies within {_OF_ACCURACIES} points plus the published ± of the "
        "published one: the paper's own tables give averages that far apart for algorithms that "
        "are identical (FedAvg and FedProx with one full-batch step, cifar-user-3)."
    )
    if others:
        listed = ", ".join(f"{tolerance(metric)} for {metric}" for metric in others)
        text += f" By the same count the tolerance is {listed}."
    return text
