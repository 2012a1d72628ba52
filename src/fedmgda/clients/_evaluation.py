"""How a model does for each client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from fedmgda._types import Vector

__all__ = ["Evaluation"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Loss and accuracy of one model for m clients on one split, in eval mode.

    Attributes:
        client_ids: The m clients, in the order of the other fields.
        losses: Of shape `(m,)`, the mean loss; NaN for a client without examples.
        accuracies: Of shape `(m,)`, the share of examples classified correctly, in [0, 1]; NaN for
            regression and for a client without examples.
        num_examples: Of shape `(m,)`, the size of each client's split.
    """

    client_ids: tuple[int, ...]
    losses: Vector
    accuracies: Vector
    num_examples: Vector
