"""What a node has: its part of data that every node can make, or a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, final

from fedmgda._errors import SpecError
from fedmgda.experiments import build_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedmgda.data import FederatedData
    from fedmgda.experiments import Spec
    from fedmgda.flower.wire._messages import Answer, Question

__all__ = ["BuiltIn", "Holding"]


class Holding(Protocol):
    """Where the rows of a node's clients come from, and what may be told of them."""

    def early(
        self, question: Question, spec: Spec
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return the answer, header and arrays, to what is asked before anybody can train."""

    def key(self, question: Question) -> str:
        """Return what the data depends on beside the spec."""

    def data(self, question: Question, spec: Spec) -> tuple[Spec, FederatedData]:
        """Return the spec as it is meant here, and the data; clients elsewhere may have no rows."""

    def clients(self, question: Question, num_clients: int) -> list[int]:
        """Return the clients of this node, rising."""

    def public(self, question: Question, spec: Spec, answer: Answer) -> Answer:
        """Return what may leave the node of an answer."""


@final
@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Data that every node can make: node p of n has the clients whose id leaves p, divided by n.

    Attributes:
        partition_id: p, from 0.
        num_partitions: n, the number of nodes among whom the clients are dealt.
    """

    partition_id: int
    num_partitions: int

    def __post_init__(self) -> None:
        """Refuse a node that is none of them."""
        if not 0 <= self.partition_id < self.num_partitions:
            raise SpecError(
                f"partition-id = {self.partition_id} must lie in 0..{self.num_partitions - 1}, as "
                f"num-partitions = {self.num_partitions}; correct the node's --node-config."
            )

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Self:
        """Return what Flower's node config says."""
        numbers = {}
        for key in ("partition-id", "num-partitions"):
            value = config.get(key)
            if isinstance(value, bool) or not isinstance(value, int):
                raise SpecError(
                    f"The node's --node-config must give {key}, a whole number, got {value!r}."
                )
            numbers[key] = value
        return cls(numbers["partition-id"], numbers["num-partitions"])

    def early(self, question: Question, spec: Spec) -> None:
        """Answer nothing: whoever has the data can train."""
        del question, spec

    def key(self, question: Question) -> str:
        """Return nothing: the spec says it all."""
        del question
        return ""

    def data(self, question: Question, spec: Spec) -> tuple[Spec, FederatedData]:
        """Return the data of all clients."""
        del question
        return spec, build_data(spec)[0]

    def clients(self, question: Question, num_clients: int) -> list[int]:
        """Return every n-th client, from p."""
        del question
        return list(range(self.partition_id, num_clients, self.num_partitions))

    def public(self, question: Question, spec: Spec, answer: Answer) -> Answer:
        """Return all of it: the data is everybody's."""
        del question, spec
        return answer
