"""What the server knows of the files of its nodes, and tells each of them with a question."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import FedmgdaError
from fedmgda.experiments import to_toml, with_client_ids
from fedmgda.flower.server._grid_exchanges import READING, checked
from fedmgda.flower.server._statistics import Introduction
from fedmgda.flower.server._successors import refuse_others
from fedmgda.flower.wire._messages import Answer, Question, WireError
from fedmgda.flower.wire._share import Share, schema_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fedmgda._types import Indices, Vector
    from fedmgda.data import Encoder
    from fedmgda.experiments import Spec
    from fedmgda.flower.server._grid_exchanges import GridExchanges, Heard
    from fedmgda.flower.server._hello import Hello
    from fedmgda.flower.server._roster import NodeEvent
    from fedmgda.flower.server._successors import Said
    from fedmgda.values import ClientFacts, Predictions

__all__ = ["NodeFiles", "ask_who", "introduction_of"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeFiles:
    """What nodes with files of their own have in common.

    Attributes:
        spec: The spec, in which nothing is left to the data any more.
        ids: The id of each client, by name.
        encoder: How rows become features, on every node.
        target_sums: As `ClientFacts` has them; None where nodes kept something back.
        fingerprint: Changes when what the nodes said of their rows does.
        class_weights: By what the loss of each class is multiplied; None means 1.
        rows: For each node that was met its clients, and how many rows each of them trains,
            validates and tests on.
        events: Whom nodes claimed in vain.
        said: What the nodes said of their clients, by which those that take after them are known;
            none where keys decide.
    """

    spec: Spec
    ids: Mapping[str, int]
    encoder: Encoder
    target_sums: Vector | None
    fingerprint: str
    class_weights: Mapping[str, float] | None = None
    rows: dict[int, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    events: tuple[NodeEvent, ...] = ()
    said: tuple[Said, ...] = ()

    def meet(
        self, exchanges: GridExchanges, nodes: Iterable[int], round_num: int
    ) -> tuple[list[int], dict[int, str]]:
        """Ask nodes that are new who their clients are, and whether they are whom they follow.

        Returns:
            The nodes that have said so, and why others cannot take part; who did not answer is
            among neither.
        """
        nodes, refused = list(nodes), dict[int, str]()
        unknown = [node for node in nodes if node not in self.rows]
        came: dict[int, Introduction] = {}
        for node, answer in ask_who(exchanges, self.spec, unknown, round_num).items():
            try:
                came[node] = introduction_of(node, answer, self.spec)
            except (WireError, FedmgdaError) as error:
                if isinstance(answer, Answer):
                    refused[node] = str(error)
        others, silent = refuse_others(
            exchanges, self.spec, self.said, came, num_clients=len(self.ids), round_num=round_num
        )
        refused |= others
        for node in came.keys() - others.keys() - silent:
            self.rows[node] = came[node].rows
        return [node for node in nodes if node in self.rows], refused

    def header(self, node: int) -> dict[str, Any]:
        """Return what a question to a node carries because of its file."""
        spec = with_client_ids(self.spec, list(self.ids), len(self.ids))
        share = Share(
            ids=self._ids_of(node),
            num_clients=len(self.ids),
            encoder=self.encoder,
            class_weights=self.class_weights,
            fingerprint=self.fingerprint,
        )
        return {"spec": to_toml(spec), "share": asdict(share)}

    def check(self, node: int, hello: Hello) -> None:
        """Refuse a node that does not speak of the clients and rows that it was told of.

        Raises:
            WireError: If it does not.
        """
        if (hello.num_clients, hello.fingerprint) != (len(self.ids), self.fingerprint):
            raise WireError("it is not of the federation that the server knows")
        if {name: client for client, name in hello.named} != self._ids_of(node):
            raise WireError("it does not speak of the clients that were given to it")
        for client, name in hello.named:
            if hello.of_client(client) != self.rows[node][name]:
                raise WireError(f"client {name!r} has not as many rows as it had before")

    def _ids_of(self, node: int) -> dict[str, int]:
        return {name: self.ids[name] for name in self.rows.get(node, ()) if name in self.ids}

    def numbered(self, told: Predictions, sizes: Indices) -> Predictions:
        """Return single rows with numbers of their own among all clients.

        Args:
            told: The rows, numbered from 0 for each client.
            sizes: Of shape `(num_clients,)`: how many rows each client is tested on.
        """
        before = np.cumsum(sizes) - sizes
        return replace(told, rows=told.rows + before[told.clients])

    def facts(self, told: ClientFacts) -> ClientFacts:
        """Return what the nodes said of their clients, with what only the server knows."""
        return replace(
            told,
            rows=None,
            encoder=asdict(self.encoder),
            target_sums=self.target_sums,
            fingerprint=self.fingerprint,
        )


def ask_who(exchanges: GridExchanges, spec: Spec, nodes: Iterable[int], round_num: int) -> Heard:
    """Ask nodes who their clients are."""
    question = Question(phase="hello", header={"spec": to_toml(spec), "path": spec.clients.path})
    questions = dict.fromkeys(nodes, question)
    deadline = max(READING, spec.engine.client_timeout)
    return exchanges.ask(questions, round_num=round_num, deadline=deadline) if questions else {}


def introduction_of(node: int, answer: Answer | str, spec: Spec) -> Introduction:
    """Read who the clients of a node are.

    Raises:
        WireError: If it does not say so.
        DataError: If it says that its file does not fit; or a SpecError.
    """
    told = Introduction.of(checked(node, answer))
    if spec.data.schema is None or told.schema != schema_digest(spec.data.schema):
        raise WireError("it read its file by another schema")
    return told
