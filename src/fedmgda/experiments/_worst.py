"""The clients that are served worst, each with how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda.experiments._class_weights import known_weights
from fedmgda.experiments._client_losses import client_losses
from fedmgda.metrics import wilson

if TYPE_CHECKING:
    from fedmgda.experiments._reader import Run
    from fedmgda.experiments._rows import ClientResult

__all__ = ["ClientLine", "recorded_clients", "worst_clients"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLine:
    """One client and what its test examples can say.

    Attributes:
        client_id: Its id.
        name: What it is called.
        test_examples: How many test examples it has.
        accuracy: The share that is classified correctly; NaN for a regression.
        interval: Wilson's 95 % interval for that share; None for a regression.
        loss: The mean test loss.
        error: Its standard error; NaN where it is not known.
        rounds_sacrificed: In how many rounds the step went against it; None where not counted.
        rounds_overridden: In how many a protected step raised its loss; None where none is.
        rounds_opposed: In how many its loss rose at a length that was tried; likewise.
    """

    client_id: int
    name: str
    test_examples: int
    accuracy: float
    interval: tuple[float, float] | None
    loss: float
    error: float
    rounds_sacrificed: int | None
    rounds_overridden: int | None = None
    rounds_opposed: int | None = None


def worst_clients(run: Run, count: int) -> list[ClientLine]:
    """Return the clients with the largest test losses, the largest first.

    Args:
        run: A run that has been evaluated.
        count: How many clients at most.
    """
    worst, errors = _by_loss(run)[:count], dict[int, float]()
    found = run.predictions()
    if found is not None and worst:
        weights, sums = None, run.target_sums
        if run.spec.clients.class_weights is not None and sums is not None:
            weights = known_weights(run.spec, sums, run.class_names)
        losses = client_losses(found, [client.client_id for client in worst], None, weights)
        errors = {int(i): float(e) for i, e in zip(losses.client_ids, losses.errors, strict=True)}
    return [_line(client, errors.get(client.client_id, math.nan)) for client in worst]


def recorded_clients(run: Run) -> list[ClientLine]:
    """Return all clients as `worst_clients` does, by their table alone: no loss has an error."""
    return [_line(client, math.nan) for client in _by_loss(run)]


def _by_loss(run: Run) -> list[ClientResult]:
    clients = [client for client in run.clients if client.test_examples > 0]
    # A loss that is not finite is the worst of all.
    return sorted(clients, key=lambda one: (math.isfinite(one.test_loss), -one.test_loss))


def _line(client: ClientResult, error: float) -> ClientLine:
    interval = None
    if math.isfinite(client.test_accuracy):
        right = round(client.test_accuracy * client.test_examples)
        interval = wilson(right, client.test_examples)
    return ClientLine(
        client_id=client.client_id,
        name=client.name or f"client {client.client_id}",
        test_examples=client.test_examples,
        accuracy=client.test_accuracy,
        interval=interval,
        loss=client.test_loss,
        error=error,
        rounds_sacrificed=client.rounds_sacrificed,
        rounds_overridden=client.rounds_overridden,
        rounds_opposed=client.rounds_opposed,
    )
