"""What a strategy knows between asking the clients of somebody's Flower app and hearing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from flwr.app import Message, MessageType

from fedmgda._random import Stream, generator
from fedmgda.federation import UniformSampler
from fedmgda.flower.strategy._received import Asked, receive

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flwr.app import ArrayRecord, RecordDict
    from flwr.serverapp import Grid

    from fedmgda.flower.strategy._known_nodes import KnownNodes
    from fedmgda.flower.strategy._model_arrays import ModelArrays
    from fedmgda.flower.strategy._received import Received

__all__ = ["DrawnExchanges", "share_of"]


def share_of(num_clients: int, fraction: float, least: int) -> int:
    """Return how many clients a fraction is, at least so many, and never more than there are.

    >>> share_of(5, 0.5, 1), share_of(5, 0.5, 4), share_of(1, 0.5, 2)
    (2, 4, 1)
    """
    return min(max(int(num_clients * fraction), least, 1), num_clients)


@final
class DrawnExchanges:
    """Who is asked, drawn by the seed over client ids, and what they said.

    A node whose client is not known is asked along, so that it says who it is; its answer counts
    if its client was drawn.

    Attributes:
        nodes: Which node holds which client.
        arrays: Where the arrays of the model lie.
        sampler: Who trains in a round.
        everyone: Whether all clients are asked, whoever is drawn.
    """

    def __init__(
        self,
        nodes: KnownNodes,
        arrays: ModelArrays,
        *,
        per_round: int,
        seed: int,
        timeout: float,
    ) -> None:
        self.nodes, self.arrays = nodes, arrays
        self.sampler = UniformSampler(num_clients=nodes.num_clients, per_round=per_round)
        self.everyone = False
        self._seed, self._timeout = seed, timeout
        self._asked: Asked | None = None

    def drawn(self, round_num: int) -> tuple[int, ...]:
        """Return who trains in a round, as the engine draws it."""
        return self.sampler(generator(self._seed, Stream.SAMPLING, round_num))

    def drawn_to_evaluate(self, round_num: int, count: int) -> tuple[int, ...]:
        """Return who evaluates after a round, another draw."""
        sampler = UniformSampler(num_clients=self.nodes.num_clients, per_round=count)
        return sampler(generator(self._seed, Stream.SAMPLING, round_num, 1))

    def ask_to_train(
        self, round_num: int, model: ArrayRecord, content: RecordDict, grid: Grid
    ) -> Sequence[Message]:
        """Return the messages that let the clients of a round train."""
        drawn = self.drawn(round_num)
        self.nodes.refresh(grid)
        if len(drawn) < self.nodes.num_clients and not self.everyone:
            self.nodes.ask(grid, self._timeout)
        return self._ask(round_num, drawn, model, content, MessageType.TRAIN)

    def ask_to_evaluate(
        self, round_num: int, count: int, model: ArrayRecord, content: RecordDict
    ) -> Sequence[Message]:
        """Return the messages that let so many clients evaluate a model after a round."""
        drawn = self.drawn_to_evaluate(round_num, count)
        return self._ask(round_num, drawn, model, content, MessageType.EVALUATE)

    def _ask(
        self,
        round_num: int,
        drawn: tuple[int, ...],
        model: ArrayRecord,
        content: RecordDict,
        kind: str,
    ) -> Sequence[Message]:
        if self.everyone:
            drawn = tuple(range(self.nodes.num_clients))
        messages = [
            Message(content=content, message_type=kind, dst_node_id=node, ttl=self._timeout)
            for node in (*self.nodes.holders(drawn), *self.nodes.strangers())
        ]
        self._asked = Asked(
            round_num=round_num,
            clients=drawn,
            messages=messages,
            params=self.arrays.vector(model),
            arrays=self.arrays,
        )
        return messages

    def hear(self, replies: Iterable[Message]) -> tuple[Asked, Received]:
        """Return the last exchange: what was sent, and what came back."""
        if self._asked is None:
            raise RuntimeError("Nobody was asked; a strategy configures before it aggregates.")
        return self._asked, receive(self._asked, replies, self.nodes)
