"""What every way to carry out a run has in common: news, safe writes, a model to start from."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from fedmgda._errors import DataError, SpecError, StoreError
from fedmgda._files import RefusedWriteError, read_file
from fedmgda._paths import is_folder
from fedmgda.experiments._folder_files import MODEL
from fedmgda.experiments._reader import open_run
from fedmgda.experiments._results import read_model
from fedmgda.experiments._signals import uninterrupted
from fedmgda.values import flat_vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Vector
    from fedmgda.experiments._rows import EvaluationRow, RoundRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._store import RunFolder
    from fedmgda.values import Clients

__all__ = ["Progress", "going_on", "start_params"]

_LARGEST = 1 << 34  # bytes of a model


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands after a round.

    Attributes:
        round_num: The rounds done; where clients train one after the other, the clients.
        rounds: The rounds, or clients, to do.
        unit: What is counted, "round" or "client".
        row: The line of `rounds.jsonl`; None for what was done before this process took over.
        evaluation: The latest line of `evaluations.jsonl`.
        num_params: How many parameters the model has; 0 where nobody said.
        held: How many rounds were held so far; None where steps are not protected.
        notes: Sentences the user should see, such as a damaged checkpoint that was passed over.
    """

    round_num: int
    rounds: int
    row: RoundRow | None
    evaluation: EvaluationRow
    num_params: int = 0
    held: int | None = None
    unit: str = "round"
    notes: tuple[str, ...] = ()


@contextmanager
def going_on(folder: RunFolder) -> Iterator[None]:
    """Let no signal cut a write in two, and say how to go on when the disk refuses one."""
    try:
        with uninterrupted():
            yield
    except RefusedWriteError as error:
        raise StoreError(
            f"{error} Nothing that was reached is lost; go on with: fedmgda resume {folder.path}"
        ) from error


def start_params(folder: RunFolder, spec: Spec, clients: Clients) -> Vector:
    """Return the model that a run starts from: that of the seed, or of a file."""
    if spec.model.init is None:
        return clients.initial_params()
    params, digest = _load_model(spec.model.init, clients)
    with going_on(folder):
        folder.keep_initial_model(digest)
    return params


def _load_model(place: str, clients: Clients) -> tuple[Vector, str]:
    """Read a model from a run folder or a safetensors file.

    Args:
        place: `model.init` of the spec.
        clients: Who knows what the model looks like.

    Returns:
        The vector, of shape `(d + num_buffers,)`, and the sha256 of the file.

    Raises:
        DataError: If there is no such file.
        SpecError: If it holds another model.
    """
    path = Path(place)
    if is_folder(path):
        run = open_run(path)
        if not run.finished:
            raise DataError(
                f"model.init = {place!r} is a run that is not finished; finish it first."
            )
        run.model_arrays()  # held against its digest
        path /= MODEL
    content = read_file(path, _LARGEST)
    if content is None:
        raise DataError(f"model.init = {place!r}: there is no such run folder or file.")
    try:
        vector = flat_vector(clients.facts.layout, read_model(content))
    except ValueError as error:
        raise SpecError(
            f"model.init = {place!r} does not fit the model: {error}; name one of its kind."
        ) from error
    return vector, hashlib.sha256(content).hexdigest()
