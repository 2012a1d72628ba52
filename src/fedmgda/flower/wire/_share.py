"""What the server tells a node that has a file of its own, and by what both know the schema."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, final

from fedmgda.experiments import read_encoder
from fedmgda.flower.wire._messages import WireError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.data import Encoder, GivenSchema

__all__ = ["Share", "schema_digest"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What the server tells a node that has a file of its own.

    Attributes:
        ids: The id of each of the node's clients that take part, by name.
        num_clients: How many clients there are on all nodes.
        encoder: How rows become features, everywhere alike; None before that is known.
        class_weights: By what the loss of each class is multiplied, by name; None means 1.
        fingerprint: What stands for the data of all nodes.
    """

    ids: Mapping[str, int]
    num_clients: int
    encoder: Encoder | None = None
    class_weights: Mapping[str, float] | None = None
    fingerprint: str = ""

    @classmethod
    def of(cls, table: Any) -> Self:
        """Read what the server sent; raises a `WireError` for anything else."""
        try:
            ids, encoder, weights = table["ids"], table["encoder"], table["class_weights"]
            share = cls(
                ids={str(name): int(client) for name, client in ids.items()},
                num_clients=int(table["num_clients"]),
                encoder=None if encoder is None else read_encoder(json.dumps(encoder).encode()),
                class_weights=None
                if weights is None
                else {k: float(w) for k, w in weights.items()},
                fingerprint=str(table["fingerprint"]),
            )
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise WireError("the question has no share of this node's clients") from error
        if not all(0 <= client < share.num_clients for client in share.ids.values()):
            raise WireError("the ids of the clients are not below their number")
        return share


def schema_digest(schema: GivenSchema) -> str:
    """Return what stands for a schema."""
    return hashlib.sha256(json.dumps(asdict(schema), sort_keys=True).encode()).hexdigest()
