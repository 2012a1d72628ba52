"""What `fedmgda flower run` refuses before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._errors import SpecError
from fedmgda._text import counted
from fedmgda.data import read_headers
from fedmgda.experiments import RunFolder, holds_run, open_run, settled_like

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.experiments import Spec

__all__ = ["check_own_files", "check_where", "count_nodes", "is_finished"]

_NODES = 2


def check_where(engine: str | None, superlink: str | None) -> None:
    """Refuse no place, and two."""
    if engine is None and superlink is None:
        raise SpecError("Say where: --engine sim, --engine local-deployment, or --superlink NAME.")
    if engine is not None and superlink is not None:
        raise SpecError(
            f"--engine {engine} starts what it needs itself and --superlink {superlink} is there "
            "already: give one of them, not both."
        )


def count_nodes(nodes: int | None, data: Sequence[Path] | None) -> int:
    """Return how many nodes there are: one for each file, where there are files."""
    if data and nodes not in {None, len(data)}:
        raise SpecError(
            f"--nodes {nodes} and {counted(len(data), 'file')} of --data: each node has one file; "
            "leave --nodes out."
        )
    return len(data) if data else nodes or _NODES


def check_own_files(spec: Spec, engine: str | None, data: Sequence[Path] | None) -> None:
    """Refuse files for nodes that have none, files that are none, and nodes without a file."""
    if data and (engine != "local-deployment" or spec.data.schema is None):
        raise SpecError(
            "--data goes with --engine local-deployment and a spec that has a [data.schema]; "
            "elsewhere the files are named where the nodes are started (fedmgda flower node)."
        )
    for file in data or ():
        read_headers(file)
    if spec.data.schema is None or spec.data.path is not None or data:
        return
    if engine == "local-deployment":
        raise SpecError("This spec has a data.schema: give a --data FILE for each node.")
    if engine == "sim":
        raise SpecError(
            "This spec has a data.schema, and sim has no nodes with files of their own; use "
            "--engine local-deployment with a --data FILE for each node."
        )


def is_finished(out: Path, spec: Spec) -> bool:
    """Tell whether a folder of this machine holds the finished run of a spec.

    Raises:
        StoreError: If it holds something else, as `fedmgda run` does.
    """
    if holds_run(out):
        spec = settled_like(spec, open_run(out).spec)
    RunFolder(out).check_free_for(spec)
    return holds_run(out) and open_run(out).finished
