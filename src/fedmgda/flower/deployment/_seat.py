"""The place of a node in a federation, and the commands that fill it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda._errors import SpecError
from fedmgda.flower.deployment._ports import HOST

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Seat"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The place of a node in a federation.

    Attributes:
        superlink: Where the SuperLink listens.
        index: Which of the nodes it is, from 0.
        nodes: How many there are.
        authority: The certificate the SuperLink is known by; None for plain text.
        key: The node's private key; None for one that anybody could be.
        data: Its rows; None where every node can make them.
        client: What the one client of these rows is called; None for the name of the file.
        min_rows: How many rows a client must have to take part; None for the default.
        spec: The spec that the site has agreed to; None for what is safe of any.
        allow_code: Whether a spec may name code.
        trust: Whether whoever writes the specs is whoever started the node, so that a spec may name
            files and code.
    """

    superlink: str
    index: int
    nodes: int
    authority: Path | None = None
    key: Path | None = None
    data: Path | None = None
    client: str | None = None
    min_rows: int | None = None
    spec: Path | None = None
    allow_code: bool = False
    trust: bool = False

    def worker_command(self, worker: Path) -> list[str]:
        """Return what starts the worker behind a socket."""
        return [sys.executable, "-m", "fedmgda.flower.worker", str(worker)]

    def command(self, worker: Path, port: int) -> list[str]:
        """Return what starts the SuperNode that asks the worker; it listens on the port itself."""
        if self.authority is None:
            trust = ["--insecure"]
        else:
            trust = ["--root-certificates", str(self.authority)]
        if self.key is not None:
            trust += ["--auth-supernode-private-key", str(self.key)]
        place = ["--superlink", self.superlink, "--host", HOST, "--port", str(port)]
        return ["flower-supernode", *trust, *place, "--node-config", self._config(worker)]

    def _config(self, worker: Path) -> str:
        texts = {"worker": str(worker)}
        if self.data is not None:
            texts["data"] = str(self.data.absolute())
        if self.client is not None:
            texts["client"] = self.client
        if self.spec is not None:
            texts["spec"] = str(self.spec.absolute())
        wrong = [text for text in texts.values() if '"' in text or "\\" in text]
        if wrong:
            raise SpecError(f"{wrong[0]!r} has a quote or a backslash, which Flower cannot take.")
        numbers = f"partition-id={self.index} num-partitions={self.nodes}"
        if self.min_rows is not None:
            numbers += f" min-rows={self.min_rows}"
        numbers += " allow-code=true" * self.allow_code + " trust=true" * self.trust
        return " ".join((numbers, *(f'{key}="{text}"' for key, text in texts.items())))
