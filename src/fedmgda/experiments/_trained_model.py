"""A trained model with its encoder: raw rows in, classes or values out."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda._errors import DataError, MissingDependencyError, SpecError
from fedmgda._text import counted
from fedmgda.data import RawTable, raw_rows, read_raw
from fedmgda.experiments._build import model_factory
from fedmgda.experiments._code import refuse_code
from fedmgda.experiments._results import log_probabilities
from fedmgda.experiments._spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import nn

    from fedmgda._types import Matrix
    from fedmgda.data import Encoder

__all__ = ["Rows", "Scores", "TrainedModel", "check_model_code", "with_arrays"]

Rows: TypeAlias = (
    "str | Path | RawTable | Sequence[Mapping[str, Any]] | Mapping[str, Iterable[Any]]"
    " | NDArray[Any]"
)
"""A table by its path, rows or columns in Python, or, without an encoder, the features."""

_BATCH = 4096  # rows at a time, so that what layers put out stays small


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """What a model says of n rows.

    Attributes:
        predictions: Of shape `(n,)`: the names of classes, or values in the units of the target.
        probabilities: Of shape `(n, k)`, float64: of each class; None for a regression.
        class_names: The k classes; None for a regression.
        notes: What a user should know, such as how many rows have an unknown category or
            lack a number.
    """

    predictions: NDArray[Any]
    probabilities: Matrix | None
    class_names: tuple[str, ...] | None
    notes: tuple[str, ...] = ()


@final
class TrainedModel:
    """A trained model, ready to be asked: it needs neither its training data nor the network.

    Attributes:
        encoder: How rows become features; None where features are taken as they are.
        module: The torch module, in eval mode.
    """

    def __init__(
        self, spec: Spec, arrays: Mapping[str, NDArray[Any]], encoder: Encoder | None
    ) -> None:
        self.encoder = encoder
        self.module = _load(spec, arrays, encoder)

    def predict(self, rows: Rows) -> NDArray[Any]:
        """Return the class of each row by its name, or its value in units, of shape `(n,)`.

        Categories the model does not know, missing numbers and numbers far outside those of
        training are warned about.

        Args:
            rows: A mapping of columns to values for each row, a mapping of columns, or the path of
                a table. Other columns than those the model was trained with are passed over. Where
                a run has no `encoder.json`: an array of shape `(n, ...)`, as the module takes it.

        Raises:
            DataError: If a column is missing, or has texts where numbers belong.
        """
        return self._warned(rows).predictions

    def probabilities(self, rows: Rows) -> Matrix:
        """Return the probability of each class, of shape `(n, k)`, in the order of the classes.

        Raises:
            DataError: As `predict`, or if the model predicts numbers.
        """
        found = self._warned(rows).probabilities
        if found is None:
            raise DataError("The model predicts numbers, which have no probabilities; use predict.")
        return found

    def score(self, rows: Rows) -> Scores:
        """Return predictions and probabilities together, and what should be known of the rows."""
        features, notes = self._features(rows)
        outputs = self._outputs(features)
        lost = int(np.count_nonzero(~np.isfinite(outputs).all(axis=1)))
        if lost:
            raise DataError(
                f"The model gives no number for {lost} of {counted(len(outputs), 'row')}: it "
                "diverged, or they are not like those it was trained on; choose another run."
            )
        encoder = self.encoder
        classes = encoder.class_names if encoder else None
        if classes is None and (encoder is not None or outputs.shape[1] == 1):
            values = outputs[:, 0] if encoder is None else encoder.values(outputs[:, 0])
            return Scores(predictions=values, probabilities=None, class_names=None, notes=notes)
        numbered = tuple(str(label) for label in range(outputs.shape[1]))
        names = (*(classes or ()), *numbered[len(classes or ()) :])
        return Scores(
            predictions=np.array(names)[outputs.argmax(axis=1)],
            probabilities=np.exp(log_probabilities(outputs)),
            class_names=names,
            notes=notes,
        )

    def _warned(self, rows: Rows) -> Scores:
        scores = self.score(rows)
        for note in scores.notes:
            warnings.warn(note, stacklevel=3)
        return scores

    def _features(self, rows: Rows) -> tuple[NDArray[Any], tuple[str, ...]]:
        encoder = self.encoder
        if encoder is None or encoder.columns is None:
            if not isinstance(rows, np.ndarray):
                raise DataError(
                    "The run has no encoder of columns, so it takes an array of features of shape "
                    f"(n, ...), got an object of type {type(rows).__name__}."
                )
            return rows, ()
        if isinstance(rows, str | Path):
            table = read_raw(rows)
        else:
            table = rows if isinstance(rows, RawTable) else raw_rows(rows)  # type: ignore[arg-type]
        columns, notes = encoder.read(table)
        return encoder.encode(columns, table.name), notes

    def _outputs(self, features: NDArray[Any]) -> Matrix:
        import torch  # noqa: PLC0415 (slow to import)

        # Whole numbers are tokens; everything else is a measurement.
        kind = torch.int64 if features.dtype.kind in "iu" else torch.float32
        pieces = []
        with torch.no_grad():
            for start in range(0, len(features), _BATCH):
                batch = torch.tensor(features[start : start + _BATCH], dtype=kind)
                try:
                    output = self.module(batch)
                except (RuntimeError, IndexError, ValueError) as error:
                    raise DataError(
                        f"The model cannot take features of shape {features.shape}: "
                        f"{' '.join(str(error).split())[:200]}."
                    ) from error
                pieces.append(output.numpy().astype(np.float64).reshape(len(batch), -1))
        return np.concatenate(pieces or [np.empty((0, 1))])


def check_model_code(spec: Spec) -> None:
    """Refuse a spec whose model is code of its own; other code is not run for a prediction."""
    refuse_code(replace(Spec(), model=spec.model))


def _load(spec: Spec, arrays: Mapping[str, NDArray[Any]], encoder: Encoder | None) -> nn.Module:
    try:
        import torch  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Using a model needs torch; install it with: pip install 'fedmgda[sim]'."
        ) from error
    inputs, outputs = _sizes(arrays, encoder)
    with torch.random.fork_rng(devices=[]):
        module = model_factory(spec, inputs, outputs)().float()
    try:
        return with_arrays(module, arrays)
    except (KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SpecError(
            f"model.name = {spec.model.name!r} is not the model that was trained: {reason}."
        ) from error


def with_arrays(module: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> nn.Module:
    """Return a module with the tensors of a trained one, in eval mode.

    Raises:
        KeyError: If the module has no tensor of a name.
        RuntimeError: If a tensor is missing, or of another shape.
    """
    import torch  # noqa: PLC0415 (slow to import)

    shapes = {name: tensor.shape for name, tensor in module.state_dict().items()}
    state = {k: torch.from_numpy(v.copy()).reshape(shapes[k]) for k, v in arrays.items()}
    module.load_state_dict(state)
    return module.eval()


def _sizes(arrays: Mapping[str, NDArray[Any]], encoder: Encoder | None) -> tuple[int, int]:
    """Return how many entries an example has and how many outputs there are.

    Without an encoder the tensors say: a matrix has a column for each input, a bias an entry for
    each output, and layers are numbered.
    """
    ordered = [arrays[name] for name in sorted(arrays, key=_layer)]
    matrices = [array for array in ordered if array.ndim == 2]
    inputs = matrices[0].shape[1] if matrices else 1
    outputs = ordered[-1].shape[0] if ordered else 1
    if encoder is not None and encoder.columns is not None:
        inputs, outputs = encoder.num_features, len(encoder.class_names or ("",))
    return inputs, outputs


def _layer(name: str) -> list[int | str]:
    # The weight of a layer comes before its bias, and 10 after 9.
    parts = re.split(r"(\d+)", name.replace("bias", "~bias"))
    return [int(part) if part.isdecimal() else part for part in parts]
