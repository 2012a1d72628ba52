"""Where it is written down which nodes came, left and were refused: `nodes.jsonl` of a run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self, final

from fedmgda._files import AppendedFile
from fedmgda.experiments import NODES

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from fedmgda.flower.server._roster import NodeEvent

__all__ = ["NodeLog"]

_LOG = logging.getLogger("flwr")


@final
class NodeLog:
    """Appends to `nodes.jsonl` as to every file of a run folder: no link is followed."""

    def __init__(self, folder: Path) -> None:
        self._file = AppendedFile(folder / NODES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, event: NodeEvent) -> None:
        """Write an event down, and tell who watches of a refusal.

        Raises:
            StoreError: If the disk refuses, or something else bears the name of the file.
        """
        self._file.append(event.line().encode())
        if event.event == "refused":
            _LOG.warning("fedmgda: %s", event.sentence())
