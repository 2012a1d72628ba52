"""What a finished run leaves behind, as bytes: the model, its predictions, every client."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import MissingDependencyError
from fedmgda._json import decode, read_json, to_json
from fedmgda.data import Encoder
from fedmgda.experiments._npz import npz_arrays, npz_bytes
from fedmgda.experiments._rows import ClientResult, RowPredictions
from fedmgda.values import named_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Vector
    from fedmgda.values import Predictions, Tensor

__all__ = [
    "check_owners",
    "clients_csv",
    "encoder_bytes",
    "log_probabilities",
    "model_bytes",
    "predictions_bytes",
    "read_clients_csv",
    "read_encoder",
    "read_model",
    "read_predictions",
]

_COLUMNS = {
    ("client" if f.name == "client_id" else f.name): f
    for f in fields(ClientResult)
    if f.name != "metrics"
}
_ALWAYS = [name for name, about in _COLUMNS.items() if about.default is MISSING]
_KINDS = {
    "rows": ("iu", 1),
    "clients": ("iu", 1),
    "targets": ("iuf", 1),
    "predictions": ("iuf", 1),
    "losses": ("f", 1),
    "probabilities": ("f", 2),
}
_SUMS_OF_VALUES = 3  # count, sum and sum of squares
_MANY_CLASSES = 32  # of more than these, probabilities are not kept


def model_bytes(vector: Vector, layout: Sequence[Tensor]) -> bytes:
    """Return a model as safetensors, its tensors named as in the torch module.

    Args:
        vector: Of shape `(d + num_buffers,)`.
        layout: The tensors of the model, and where in the vector they lie.
    """
    content: bytes = _safetensors().save(named_arrays(layout, vector))
    return content


def read_model(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a model by name.

    Raises:
        ValueError: If the bytes are no model.
    """
    library = _safetensors()
    try:
        arrays: dict[str, NDArray[Any]] = library.load(content)
    except Exception as error:  # whatever the parser makes of damaged bytes, the cause is the file
        raise ValueError(str(error)) from error
    return arrays


def predictions_bytes(found: Predictions, num_classes: int | None) -> bytes | None:
    """Return an npz archive with what a model says of every example: `RowPredictions`.

    Args:
        found: The outputs of the model.
        num_classes: None for a regression.

    Returns:
        None if they are neither class scores nor single values, which a loss of the user's own
        allows.
    """
    outputs = found.outputs.astype(np.float64)
    if not len(outputs):  # of no example not even the number of outputs is known
        outputs = np.empty((0, num_classes or 1))
    if outputs.ndim != 2 or outputs.shape[1] < (num_classes or 1):
        return None
    if num_classes is None and outputs.shape[1] > 1:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged model says NaN
        measured = _values(outputs, found) if num_classes is None else _classes(outputs, found)
    owners = {"rows": found.rows.astype(np.int64), "clients": found.clients.astype(np.int64)}
    return npz_bytes(owners | {"targets": found.targets} | measured)


def _values(outputs: Matrix, found: Predictions) -> dict[str, NDArray[Any]]:
    errors = outputs[:, 0] - found.targets
    return {
        "predictions": outputs[:, 0].astype(np.float32),
        "losses": (errors**2).astype(np.float32),
    }


def _classes(outputs: Matrix, found: Predictions) -> dict[str, NDArray[Any]]:
    logs = log_probabilities(outputs)
    own = logs[np.arange(len(logs)), found.targets]
    arrays = {"predictions": outputs.argmax(axis=1), "losses": (-own).astype(np.float32)}
    if outputs.shape[1] <= _MANY_CLASSES:
        arrays |= {"probabilities": np.exp(logs).astype(np.float32)}
    return arrays


def log_probabilities(outputs: Matrix) -> Matrix:
    """Return the logarithms of the probabilities that class scores stand for, of shape `(n, k)`."""
    shifted = outputs - outputs.max(axis=1, keepdims=True, initial=-np.inf)
    logs: Matrix = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return logs


def read_predictions(content: bytes) -> RowPredictions:
    """Return what `predictions_bytes` made bytes of.

    Raises:
        ValueError: If it is something else.
    """
    arrays = npz_arrays(content)
    names = {f.name for f in fields(RowPredictions)}
    try:
        found = RowPredictions(**{k: v for k, v in arrays.items() if k in names})
    except TypeError as error:
        raise ValueError("an array is missing") from error
    if len({array.shape[:1] for array in arrays.values()} | {found.rows.shape}) != 1:
        raise ValueError("its arrays differ in length")
    _check_numbers(found)
    return found


def _check_numbers(found: RowPredictions) -> None:
    """Refuse arrays of anything but the numbers that belong there, whoever wrote the file."""
    classes = found.predictions.dtype.kind in "iu"
    for name, (kinds, dimensions) in _KINDS.items():
        array = getattr(found, name)
        if array is None:
            continue
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise ValueError(f"{name} are no such numbers")
        counted = array.dtype.kind in "iu" and (classes or name != "targets")
        if counted and array.min(initial=0) < 0:
            raise ValueError(f"{name} has a number below 0")
    if classes and found.targets.dtype.kind == "f":
        raise ValueError("predictions are classes, and targets are not")


def check_owners(
    found: RowPredictions, num_clients: int, target_sums: Vector | None
) -> RowPredictions:
    """Return predictions that fit the clients and the classes of their run.

    Args:
        found: The predictions.
        num_clients: The number of clients.
        target_sums: As `ClientFacts` has them; None where not known.

    Raises:
        ValueError: If they do not.
    """
    if found.clients.max(initial=-1) >= num_clients:
        raise ValueError(f"it names clients beyond the {num_clients} of the run")
    if target_sums is not None:
        values = found.predictions.dtype.kind == "f"
        if values and len(target_sums) != _SUMS_OF_VALUES:
            raise ValueError("it predicts values, and the targets of the run are classes")
        if not values and found.targets.max(initial=-1) >= len(target_sums):
            raise ValueError(f"it names classes beyond the {len(target_sums)} of the run")
    return found


def encoder_bytes(encoder: Mapping[str, Any] | None) -> bytes | None:
    """Return `encoder.json`; None where nothing is known of how rows become features."""
    return None if encoder is None else to_json(encoder).encode()


def read_encoder(content: bytes) -> Encoder:
    """Return what `encoder_bytes` made bytes of.

    Raises:
        ValueError: If it is something else, or no encoder that training could have come to.
    """
    found = decode(Encoder, read_json(content))
    texts = [found.target or "", *(found.class_names or ())]
    for column in found.columns or ():
        texts += [column.name, *(column.categories or ())]
        if column.scale < 0:
            raise ValueError(f"the scale of {column.name!r} is negative")
    "".join(texts).encode()  # what is half a character cannot be written into a table
    names = [column.name for column in found.columns or ()]
    if len(set(names)) < len(names):
        raise ValueError("two columns have the same name")
    if found.columns is not None and not found.num_features:
        raise ValueError("it has no feature")
    if found.clip is not None and found.clip <= 0:
        raise ValueError("clip is not positive")
    return found


def clients_csv(clients: Sequence[ClientResult]) -> bytes:
    """Return a table of all clients; what is not known is an empty cell."""
    text, metrics = io.StringIO(), list(clients[0].metrics) if clients else []
    columns = {
        name: about.name
        for name, about in _COLUMNS.items()
        if not about.metadata.get("omit")
        or any(getattr(c, about.name) is not None for c in clients)
    }
    csv.writer(text, lineterminator="\n").writerow([*columns, *metrics])
    # Texts are quoted, so that no name can look like the end of a line.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    for client in clients:
        values = [getattr(client, name) for name in columns.values()]
        values += [client.metrics[name] for name in metrics]
        writer.writerow(["" if v is None or v != v else v for v in values])  # noqa: PLR0124 (NaN)
    return text.getvalue().encode()


def read_clients_csv(content: bytes) -> tuple[ClientResult, ...]:
    """Return the clients of such a table; columns that earlier versions had not may be missing.

    Raises:
        ValueError: If it is not such a table.
    """
    try:
        head, *rows = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    except csv.Error as error:
        raise ValueError(str(error)) from error
    complete = head[: len(_ALWAYS)] == _ALWAYS and len(set(head)) == len(head)
    if not complete or any(len(row) != len(head) for row in rows):
        raise ValueError("it has other columns")
    known = {place: _COLUMNS[name] for place, name in enumerate(head) if name in _COLUMNS}
    metrics = {place: name for place, name in enumerate(head) if place not in known}
    return tuple(
        ClientResult(
            **{f.name: _cell(f, row[place]) for place, f in known.items()},
            metrics={name: float(row[place] or math.nan) for place, name in metrics.items()},
        )
        for row in rows
    )


def _cell(column: Field[Any], text: str) -> Any:
    """Read a cell by the type of its column; an empty one is NaN or None, where that may be."""
    kind, _, empty = str(column.type).partition(" | ")
    if not text and empty:
        return None
    if kind == "str":
        return text
    return float(text or math.nan) if kind == "float" else int(text)


def _safetensors() -> Any:
    try:
        import safetensors.numpy  # noqa: PLC0415 (an optional dependency)
    except ImportError as error:
        raise MissingDependencyError(
            "Models on disk need the package safetensors; install it with: "
            "pip install 'fedmgda[sim]'."
        ) from error
    return safetensors.numpy
