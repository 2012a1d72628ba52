"""The other side of a federation, as the server sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Matrix, Split, Vector
    from fedmgda.values._cohort import Cohort, Failure

__all__ = [
    "ClientFacts",
    "Clients",
    "Evaluation",
    "Predictions",
    "Tensor",
    "flat_vector",
    "named_arrays",
]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """What a model says of single examples, client behind client.

    Attributes:
        rows: Of shape `(n,)`: which examples of the data they are.
        clients: Of shape `(n,)`: whose.
        targets: Of shape `(n,)`: what is true.
        outputs: Of shape `(n, k)`, float32: what the model gives: class scores, or a value.
    """

    rows: Indices
    clients: Indices
    targets: NDArray[Any]
    outputs: NDArray[Any]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """How a model does on one split, client by client; the arrays are in the order of the ids.

    Attributes:
        client_ids: The m clients.
        losses: Of shape `(m,)`, the mean losses, or `(k, m)` where k models were given.
        accuracies: Likewise, the shares classified correctly; NaN for a regression.
        num_examples: Of shape `(m,)`, the sizes of the split.
        failures: Clients that could not be evaluated, with the reason; their numbers are NaN. A
            client without examples is NaN too, and no failure.
        predictions: Single examples, where they were asked for.
    """

    client_ids: tuple[int, ...]
    losses: Matrix
    accuracies: Matrix
    num_examples: Vector
    failures: tuple[Failure, ...] = ()
    predictions: Predictions | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of the model: where its entries lie in the flat vector.

    Attributes:
        name: As in the torch module.
        shape: Its shape.
        start: The place of its first entry in the vector; None for what no vector holds.
        value: What is kept of a tensor that does not travel, such as a counter.
    """

    name: str
    shape: tuple[int, ...]
    start: int | None = None
    value: NDArray[Any] | None = None


def named_arrays(layout: Iterable[Tensor], vector: Vector) -> dict[str, NDArray[Any]]:
    """Return the tensors of a model by name, in float32, as they are written to a file.

    Args:
        layout: The tensors, as `ClientFacts` has them.
        vector: Of shape `(d + num_buffers,)`.

    >>> layout = (Tensor(name="bias", shape=(1,), start=2), Tensor(name="w", shape=(1, 2), start=0))
    >>> named_arrays(layout, np.array([1.0, 2.0, 3.0]))["w"].tolist()
    [[1.0, 2.0]]
    """
    flat = np.asarray(vector, np.float32)
    arrays = {}
    for tensor in layout:
        start, size = tensor.start, math.prod(tensor.shape)
        entries = np.array(tensor.value) if start is None else flat[start : start + size]
        # What has no dimensions is written as a list of one.
        arrays[tensor.name] = np.ascontiguousarray(entries.reshape(tensor.shape))
    return arrays


def flat_vector(layout: Iterable[Tensor], arrays: Mapping[str, NDArray[Any]]) -> Vector:
    """Return the vector of a model whose tensors are given by name: `named_arrays` undone.

    Raises:
        ValueError: If a tensor is missing, of another shape or not finite, or there is another.

    >>> layout = (Tensor(name="bias", shape=(1,), start=2), Tensor(name="w", shape=(1, 2), start=0))
    >>> flat_vector(layout, {"w": np.array([[1.0, 2.0]]), "bias": np.array([3.0])}).tolist()
    [1.0, 2.0, 3.0]
    """
    known = {tensor.name: tensor for tensor in layout}
    for name in (*known, *arrays):
        if name not in arrays or name not in known:
            where = "it" if name in arrays else "the model"
            raise ValueError(f"the tensor {name!r} is in {where} only")
    pieces: dict[int, NDArray[Any]] = {}
    for name, tensor in known.items():
        array = arrays[name]
        # A single number may have a dimension in one place and none in another.
        if array.shape != tensor.shape and not array.size == math.prod(tensor.shape) == 1:
            raise ValueError(f"the tensor {name!r} has shape {array.shape}, not {tensor.shape}")
        if tensor.start is not None:
            with np.errstate(over="ignore"):
                piece = array.reshape(-1).astype(np.float32)
            if array.dtype.kind != "f" or not np.isfinite(piece).all():
                raise ValueError(f"the tensor {name!r} holds what is no finite number")
            pieces[tensor.start] = piece
    return np.concatenate([pieces[start] for start in sorted(pieces)])


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClientFacts:
    """What a server may know about its clients: sizes and fingerprints, nobody's data.

    Attributes:
        sizes: For each split, of shape `(num_clients,)`: how many examples each client has.
        fingerprint: Changes when any of the data does.
        layout: The tensors of the model, in the order in which they are written.
        rows: For each split, the examples of all clients one behind the other; None where the
            server holds no list of them.
        num_classes: The number of classes; None for a regression.
        class_names: What they are called, where they have names.
        encoder: How rows become features, as plain JSON; None where that is not known.
        target_sums: What the constant predictor needs, sums over the training examples of all
            clients: for classes of shape `(num_classes,)`, the examples of each; for a regression
            the number of targets, their sum and the sum of their squares. None where not known.
    """

    sizes: Mapping[Split, Indices]
    fingerprint: str
    layout: tuple[Tensor, ...]
    rows: Mapping[Split, Indices] | None = None
    num_classes: int | None = None
    class_names: tuple[str, ...] | None = None
    encoder: Mapping[str, Any] | None = None
    target_sums: Vector | None = None


class Clients(Protocol):
    """Everyone who can be asked to train: the pool in this process is one, a network another.

    Attributes:
        num_clients: n; ids go from 0 to n - 1.
        num_params: d, the number of parameters of the model.
        num_buffers: The entries of its float buffers, which follow the parameters in the vector.
        path: What computes: "compiled" or "torch".
        client_names: What the clients are called, where they have names.
        models_at_once: How many models it is worth to ask about in one `evaluate`: 1 where an
            answer costs what it computes, more where an exchange costs more than that.
    """

    num_clients: int
    num_params: int
    num_buffers: int
    path: str
    client_names: tuple[str, ...] | None
    models_at_once: int

    @property
    def facts(self) -> ClientFacts:
        """What else the server may know."""

    def initial_params(self) -> Vector:
        """Return the model to start from, of shape `(d + num_buffers,)`, float32."""

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let each client train the model on its own data, in one exchange.

        Args:
            params: Of shape `(d + num_buffers,)`, w_t and the float buffers.
            client_ids: The m clients of the round.
            round_num: The round, 1 for the first: with seed and client it fixes all randomness.
            gradients: Whether each also returns ∇f_i(w_t) and f_i(w_t) over its training split.
            known: Training losses f_i(w_t) that were measured before and need not be again.

        Returns:
            The clients that finished, in the given order, in memory that nobody writes to again;
            the others are in `failures`.
        """

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Return loss and accuracy of one model, or of k, for each client on one split."""

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Cohort:
        """Return ∇f_i and f_i over each client's training split, in eval mode, as a cohort."""

    def close(self) -> None:
        """Let the clients go. Arrays already returned stay valid."""
