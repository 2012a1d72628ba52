"""Meeting the nodes of a federation, until there is one for every client."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

from fedmgda._errors import FedmgdaError
from fedmgda._text import listed, one_line
from fedmgda.experiments import Interrupted
from fedmgda.flower.server._grid_exchanges import checked
from fedmgda.flower.server._hello import Hello
from fedmgda.flower.server._waiting import Waiting
from fedmgda.flower.wire._messages import Question, WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fedmgda.flower.server._grid_exchanges import GridExchanges, Heard
    from fedmgda.flower.server._node_files import NodeFiles
    from fedmgda.flower.server._roster import Roster
    from fedmgda.flower.wire._messages import Answer

__all__ = ["Greeter"]

_LOOK = 0.5  # seconds between two looks at who is connected
_GRACE = 0.5  # seconds that a round waits for who answers at once
_FIRST_ANSWER = 120.0  # seconds a node may take for its first answer: it loads torch and the data


@final
class Greeter:
    """Says hello to nodes that were not met before; who is of another federation stays outside.

    Attributes:
        hellos: What the nodes said of themselves.
    """

    def __init__(
        self,
        exchanges: GridExchanges,
        roster: Roster,
        header: Mapping[str, Any],
        files: NodeFiles | None = None,
    ) -> None:
        """Begin with nobody.

        Args:
            exchanges: How nodes are asked.
            roster: Told who answers for whom.
            header: What every question carries.
            files: What is known of the nodes' own files, where they have some.
        """
        self._exchanges, self._roster, self._header = exchanges, roster, header
        self._files = files
        self.hellos: dict[int, Hello] = {}
        self._refused: dict[int, str] = {}
        self._names: dict[int, str] = {}  # of clients, as the first that held them said
        self._ids: dict[str, int] = {}
        self._greeting: _Greeting | None = None

    def meet_all(self, num_nodes: int, seconds: float) -> dict[int, Hello]:
        """Wait for nodes until every client has one.

        Args:
            num_nodes: How many nodes there shall be at least.
            seconds: How long they may take to connect.

        Raises:
            FederationStalledError: If there are too few by then.
            SpecError: If the nodes say that the spec is wrong; or a DataError.
        """
        waiting = Waiting(num_nodes, seconds)
        greeted: set[int] = set()
        while True:
            online = self._exchanges.online()
            waiting.tell(online)
            new = self._roster.refresh(online, 0)
            self._take(self._greet(new, 0), 0, strict=True)
            missing = self._without_node()
            if not missing and len(self._roster.known) >= num_nodes:
                known = sorted(self._roster.known & self.hellos.keys())
                return {node: self.hellos[node] for node in known}
            # Who connected while others were loading torch is still to be heard.
            if waiting.is_over and not set(new) - greeted:
                raise self._too_few(waiting, missing)
            greeted |= set(new)
            self._exchanges.pause(_LOOK)

    def meet_new(self, round_num: int) -> None:
        """Take note of who is connected, and say hello to those that were not met before.

        No round waits for a node that is loading torch: it takes part when it has answered.
        """
        new = self._roster.refresh(self._exchanges.online(), round_num)
        if self._greeting is None and new:
            self._greeting = _Greeting(lambda: self._greet(new, round_num))
        if self._greeting is None:
            return
        self._greeting.join(_GRACE)
        if not self._greeting.is_alive():
            self._take(self._greeting.heard, round_num)
            self._greeting = None

    def _greet(self, nodes: Sequence[int], round_num: int) -> Heard:
        """Return what nodes say of themselves; or only why they cannot take part."""
        refused: dict[int, str] = {}
        own: dict[int, dict[str, Any]] = {}
        if nodes and self._files is not None:
            nodes, refused = self._files.meet(self._exchanges, nodes, round_num)
            own = {node: self._files.header(node) for node in nodes}
        if not nodes:
            return dict(refused)
        heard = self._exchanges.ask(
            {n: Question(phase="hello", header={**self._header, **own.get(n, {})}) for n in nodes},
            round_num=round_num,
            deadline=max(self._header["deadline"], _FIRST_ANSWER),
        )
        # Who did not answer was not met, and is greeted again.
        answers = {node: said for node, said in heard.items() if not isinstance(said, str)}
        return {**refused, **answers}

    def _take(self, heard: Heard, round_num: int, *, strict: bool = False) -> None:
        for node, answer in heard.items():
            try:
                hello = self._read(node, answer, strict=strict)
            except WireError as error:
                self._refused[node] = one_line(str(error))
                self._roster.refuse(node, self._refused[node], round_num)
                continue
            self.hellos[node] = hello
            self._roster.claim(node, hello.client_ids, hello.client_names, round_num)
            mine = [(i, name) for i, name in hello.named if self._roster.holder(i) == node]
            self._names |= mine
            self._ids |= ((name, client) for client, name in mine)

    def _read(self, node: int, answer: Answer | str, *, strict: bool) -> Hello:
        hello = Hello.of(checked(node, answer, strict=strict))
        if self._files is not None:
            self._files.check(node, hello)
        first = next(iter(self.hellos.values()), hello)
        if hello.digest != first.digest:
            raise WireError("its data or its model is not that of the other nodes")
        for client, name in hello.named:
            if self._names.get(client, name) != name or self._ids.get(name, client) != client:
                raise WireError(f"client {client} is not {name!r}, as its node says")
        return hello

    def _without_node(self) -> Sequence[int]:
        first = next(iter(self.hellos.values()), None)
        if first is None:
            return (0,)
        return [i for i in range(first.num_clients) if self._roster.holder(i) is None]

    def _too_few(self, waiting: Waiting, missing: Sequence[int]) -> FedmgdaError:
        lacking = ""
        if self.hellos and missing:
            lacking = f", and none answers for client {listed(map(str, missing), 5, last=' and ')}"
        why = listed((f"node {node}: {said}" for node, said in self._refused.items()), 5)
        refused = f"; refused: {why}" if why else ""
        return waiting.in_vain(
            self._roster.known - self._refused.keys(),
            lacking + refused,
            "; nodes.jsonl names those that were refused",
        )


@final
class _Greeting(threading.Thread):
    """Nodes that are being greeted while rounds go on.

    Attributes:
        heard: What came of it.
    """

    def __init__(self, greet: Callable[[], Heard]) -> None:
        super().__init__(daemon=True)
        self._greet = greet
        self.heard: Heard = {}
        self.start()

    def run(self) -> None:
        """Greet; whatever ends the run will meet the run itself too."""
        with suppress(FedmgdaError, Interrupted):
            self.heard = self._greet()
