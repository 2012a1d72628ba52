"""Where a run starts: the model of its seed, or one that was trained before."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from fedmgda._errors import DataError, SpecError
from fedmgda._files import read_file
from fedmgda.experiments._folder_files import MODEL
from fedmgda.experiments._reader import open_run
from fedmgda.experiments._results import read_model
from fedmgda.values import flat_vector

if TYPE_CHECKING:
    from fedmgda._types import Vector
    from fedmgda.values import Clients

__all__ = ["load_initial_model"]

_LARGEST = 1 << 34


def load_initial_model(place: str, clients: Clients) -> tuple[Vector, str]:
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
    if path.is_dir():
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
