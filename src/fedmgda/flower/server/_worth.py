"""What the numbers of single clients can be: who says what cannot be true has failed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fedmgda.flower.server._fields import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fedmgda._types import Split
    from fedmgda.values import ClientFacts

__all__ = ["Rows", "Worth", "gradient_worth", "score_worth", "sorted_out"]

Rows: TypeAlias = "dict[int, dict[str, NDArray[Any]]]"
"""For each client its part of every array."""

Worth: TypeAlias = "Callable[[int, Mapping[str, NDArray[Any]]], str | None]"
"""Says why what a client sent cannot be; None where it can."""


def sorted_out(rows: Rows, reasons: Mapping[int, str], worth: Worth) -> tuple[Rows, dict[int, str]]:
    """Return rows and reasons, in which whoever sent what cannot be has a reason and no row."""
    bad = {client: why for client, row in rows.items() if (why := worth(client, row)) is not None}
    return {i: row for i, row in rows.items() if i not in bad}, {**reasons, **bad}


def score_worth(facts: ClientFacts, split: Split) -> Worth:
    """Return what losses and accuracies can be; of a model that diverged a loss is no number."""
    sizes, classes = facts.sizes[split], facts.num_classes is not None

    def why(client: int, row: Mapping[str, NDArray[Any]]) -> str | None:
        losses, shares = row["losses"], row["accuracies"]
        if not sizes[client]:
            silent = np.isnan(losses).all() and np.isnan(shares).all()
            return None if silent else "it tells of examples that it does not have"
        known = losses[np.isfinite(losses)]
        if not float(np.abs(known).max(initial=0.0)) <= LARGEST:
            return f"its loss is {_odd(known):g}"
        if classes and not ((shares >= 0.0) & (shares <= 1.0)).all():
            return f"its accuracy is {float(np.ravel(shares)[0]):g}"
        if not classes and not np.isnan(shares).all():
            return "it tells an accuracy where there are no classes"
        return None

    return why


def gradient_worth(client: int, row: Mapping[str, NDArray[Any]]) -> str | None:  # noqa: ARG001
    """Say why a gradient cannot be one."""
    for name in ("updates", "losses", "num_examples"):
        if not float(np.abs(row[name]).max(initial=0.0)) <= LARGEST:
            what = {"updates": "its gradient has an entry that", "losses": "its loss"}
            return f"{what.get(name, 'its number of examples')} is {_odd(row[name]):g}"
    return None


def _odd(values: NDArray[Any]) -> float:
    """Return the first of some numbers that is too large or none."""
    flat = np.ravel(values).astype(np.float64)
    return float(flat[~(np.abs(flat) <= LARGEST)][0])
