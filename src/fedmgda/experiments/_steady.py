"""Whether a model says the same of the same rows twice, without which no two losses compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import SpecError

if TYPE_CHECKING:
    from fedmgda.values import Clients

__all__ = ["check_steady"]


def check_steady(clients: Clients) -> None:
    """Refuse a model whose loss on a client's training rows is another one each time.

    The client with the fewest rows is asked, about the initial model twice.

    Raises:
        SpecError: With both losses.
    """
    sizes = clients.facts.sizes["train"]
    client = int(np.where(sizes > 0, sizes, np.inf).argmin())
    found = clients.evaluate(np.tile(clients.initial_params(), (2, 1)), (client,), "train")
    first, again = np.ravel(found.losses)
    if np.isfinite([first, again]).all() and first != again:
        raise SpecError(
            f"server.protect compares losses, and this model gives another one each time: "
            f"{first:.9g} and {again:.9g} on the training rows of client {client}. Switch off what "
            "is random in eval mode (F.dropout needs training=self.training), or leave "
            "server.protect out."
        )
