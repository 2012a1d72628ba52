"""A question about some clients, as one message to each of the nodes that answer for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.flower.server._grid_exchanges import checked
from fedmgda.flower.wire._messages import Question, WireError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Vector
    from fedmgda.flower.server._gather import Asked
    from fedmgda.flower.server._grid_exchanges import GridExchanges, Heard
    from fedmgda.flower.server._node_files import NodeFiles
    from fedmgda.flower.server._roster import Roster
    from fedmgda.flower.wire._messages import Answer

__all__ = ["NodeQuestions", "Replies"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """What came of a question.

    Attributes:
        heard: What the nodes answered.
        asked: The clients that each was asked about.
        absent: The clients that nobody could be asked about, with the reason.
    """

    heard: Heard
    asked: Asked
    absent: dict[int, str]


@final
class NodeQuestions:
    """Asks the nodes of clients; one that was silent is not asked again in the same round."""

    def __init__(
        self,
        exchanges: GridExchanges,
        roster: Roster,
        header: Mapping[str, Any],
        files: NodeFiles | None,
    ) -> None:
        """Begin before the first round.

        Args:
            exchanges: How nodes are asked.
            roster: Who answers for whom.
            header: What every question carries, the deadline among it.
            files: What is known of the nodes' own files, where they have some.
        """
        self._exchanges, self._roster = exchanges, roster
        self._header, self._files = header, files
        self._round_num = 0
        self._silent: dict[int, str] = {}

    def begin(self, round_num: int) -> None:
        """Begin a round, in which everybody is asked again."""
        self._round_num, self._silent = round_num, {}

    def ask(
        self,
        phase: str,
        header: Mapping[str, Any],
        params: Vector | Matrix,
        client_ids: Sequence[int],
        known: Mapping[int, float] | None = None,
    ) -> Replies:
        """Ask the nodes of some clients.

        Args:
            phase: What for.
            header: What the phase needs.
            params: The model, or several.
            client_ids: The clients.
            known: Losses of the model that are known, by client.
        """
        asked: dict[int, list[int]] = {}
        absent: dict[int, str] = {}
        for client in map(int, client_ids):
            node = self._roster.holder(client)
            if node is None:
                absent[client] = "no node answers for it"
            elif node in self._silent:
                absent[client] = f"{self._silent[node]}, earlier in this round"
            else:
                asked.setdefault(node, []).append(client)
        model = np.ascontiguousarray(params, np.float32)
        questions = {
            node: Question(
                phase=phase,
                header={**self._header_of(node), **header, "client_ids": clients},
                arrays={"params": model, **_losses_of(clients, known or {})},
            )
            for node, clients in asked.items()
        }
        return Replies(self._ask(questions), asked, absent)

    def refuse(self, replies: Replies, reasons: Mapping[int, str]) -> None:
        """Write down why the answers of nodes do not count, where no round tells of it."""
        for node, why in reasons.items():
            self._roster.doubt(node, replies.asked[node], why, self._round_num)

    def refuse_clients(self, replies: Replies, reasons: Mapping[int, str]) -> None:
        """Write down why what clients sent does not count, where no round tells of it."""
        for node, clients in replies.asked.items():
            for client in clients:
                if client in reasons:
                    self._roster.doubt(node, [client], reasons[client], self._round_num)

    def ask_initial(self) -> Answer:
        """Ask the node of client 0 for its hello, with the initial model.

        Raises:
            WireError: If there is no answer.
        """
        node = self._roster.holder(0)
        if node is None:
            raise WireError("no node answers for it")
        header = {**self._header_of(node), "initial": True}
        answer = self._ask({node: Question(phase="hello", header=header)})[node]
        return checked(node, answer, strict=False)

    def _header_of(self, node: int) -> dict[str, Any]:
        """Return what every question to a node carries."""
        return {**self._header, **({} if self._files is None else self._files.header(node))}

    def _ask(self, questions: Mapping[int, Question]) -> Heard:
        if not questions:
            return {}
        deadline = self._header["deadline"]
        heard = self._exchanges.ask(questions, round_num=self._round_num, deadline=deadline)
        self._silent |= {node: said for node, said in heard.items() if isinstance(said, str)}
        return heard


def _losses_of(clients: Sequence[int], known: Mapping[int, float]) -> dict[str, NDArray[Any]]:
    """Return the losses that are known of a node's own clients: nobody else's are its business."""
    told = [client for client in clients if client in known]
    if not told:
        return {}
    losses = np.array([known[client] for client in told], np.float64)
    return {"known_ids": np.array(told, np.int64), "known_losses": losses}
