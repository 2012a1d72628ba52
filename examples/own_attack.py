"""An attack of one's own: random updates and exaggerated losses, as a file beside a spec.

Run it with: fedmgda run spec.toml -c attack.name=own_attack:Noise -c 'attack.options={ size = 3 }'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from fedmgda import Attack
from fedmgda.attacks import rows_of
from fedmgda.values import DenseUpdates

if TYPE_CHECKING:
    from fedmgda import Cohort
    from fedmgda._types import Vector
    from fedmgda.attacks import GeneratorOf


@final
@dataclass(frozen=True, kw_only=True)
class Noise(Attack):
    """Updates of random numbers, the same again for the same seed, round and client.

    Attributes:
        clients: Who is malicious, as `attack.clients` says.
        size: How large the numbers are.
        rise: By what the losses after a step are multiplied, where steps are protected.
    """

    clients: tuple[int, ...]
    size: float = 1.0
    rise: float = 1.0

    def tamper(self, cohort: Cohort, params: Vector, generator: GeneratorOf) -> Cohort:
        """Return what the server sees of the training: any part of the cohort may be false.

        `cohort.updates` and `cohort.losses` are there in every round; `cohort.gradients` and
        `cohort.before`, the gradient and the loss of the model the clients received, are not None
        where steps are protected.
        """
        del params
        updates = rows_of(cohort).copy()
        for row in self.rows(cohort):
            drawn = generator(cohort.client_ids[row]).normal(size=updates.shape[1])
            updates[row] = self.size * drawn
        return replace(cohort, updates=DenseUpdates(updates))

    def said_losses(self, client_id: int, before: float, losses: Vector) -> Vector:
        """Return what a malicious client says of its losses under the models that are tried.

        Leave the method out to have the truth told. `before` is what the client said of the model
        it received: a loss above it opposes the step.
        """
        del client_id, before
        return self.rise * losses
