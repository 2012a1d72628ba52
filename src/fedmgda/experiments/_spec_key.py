"""How a key of a spec is declared: its default, what it means, and what it may be."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MOST_CLIENTS", "MOST_EPOCHS", "MOST_ROUNDS", "MOST_RUNS", "key"]

# What is larger is a slip of the keyboard, and would end when somebody ends it.
MOST_CLIENTS = 1_000_000
MOST_EPOCHS = 100_000
MOST_ROUNDS = 10_000_000
MOST_RUNS = 100_000  # of a sweep, each with a folder of its own


def key(  # noqa: PLR0913 (one for each thing that can be said of a key)
    default: Any,
    meaning: str,
    *,
    unset: str = "none",
    see: str = "",
    names: Iterable[str] = (),
    entry: bool = False,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """Declare a key; `parse` checks it by this, and `explain` and docs/keys.md tell it.

    Args:
        default: What it is if nobody says so; None means "what the rule, the data or `compat`
            says".
        meaning: What it does, with code in backticks: its only home.
        unset: What None stands for, in words.
        see: The page of docs/ that says more, with its anchor.
        names: The names it may be, those of a table of ours.
        entry: Whether it may be something of the user's own by its module.
        low: The smallest number, allowed.
        high: The largest, allowed.
        above: What the number must exceed.
        below: What it must stay below.
    """
    limits = {"low": low, "high": high, "above": above, "below": below}
    told = {"meaning": meaning, "unset": unset, "see": see}
    return field(
        default=default, metadata={**limits, **told, "names": tuple(names), "entry": entry}
    )
