"""Synthetic federations: FedProx's Synthetic(alpha, beta), and quadratics with known optima."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import SpecError
from fedmgda._random import Stream, generator
from fedmgda.data._dataset import Dataset
from fedmgda.data._federate import federate
from fedmgda.data._federated import Examples, FederatedData

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices

__all__ = ["QUADRATICS", "SYNTHETIC", "quadratic_federation", "quadratic_optima"]
__all__ += ["synthetic_federation"]

_NUM_FEATURES = 60
_MOST_CLIENTS = 100_000
_NUM_CLASSES = 10


def synthetic_federation(
    alpha: float, beta: float, num_clients: int = 30, *, seed: int, max_size: int = 10_000
) -> FederatedData:
    """Return the federation Synthetic(alpha, beta) of FedProx: 60 features, 10 classes.

    Client k has the model W_k, b_k with entries N(u_k, 1), u_k ~ N(0, alpha), and the inputs
    N(v_k, Sigma), Sigma = diag(j^-1.2), with entries of v_k ~ N(B_k, 1), B_k ~ N(0, beta); its
    labels are argmax(W_k x + b_k), and it has 50 + LogNormal(4, 2) examples. So alpha says how much
    the local models differ, and beta how much the local data do. As in the authors' code, alpha
    and beta are standard deviations.

    Args:
        alpha: How much the models differ.
        beta: How much the inputs differ.
        num_clients: The number of clients.
        seed: The seed of everything.
        max_size: A client keeps at most so many examples; the lognormal has a very long tail.

    References:
        Li et al., Federated Optimization in Heterogeneous Networks (2020), section 5.1.
    """
    if min(alpha, beta) < 0 or not np.isfinite([alpha, beta]).all():
        raise SpecError(f"alpha and beta must be finite and not negative, got {alpha} and {beta}.")
    _check_clients(num_clients)
    parts = [_synthetic_client(alpha, beta, max_size, seed, k) for k in range(num_clients)]
    examples = Examples(
        name=f"synthetic({alpha:g}, {beta:g})",
        features=np.concatenate([features for features, _ in parts]),
        targets=np.concatenate([targets for _, targets in parts]),
        num_classes=_NUM_CLASSES,
    )
    return federate(examples, _consecutive([len(targets) for _, targets in parts]), seed=seed)


def _synthetic_client(
    alpha: float, beta: float, max_size: int, seed: int, client: int
) -> tuple[NDArray[np.float32], Indices]:
    rng = generator(seed, Stream.SYNTHETIC, client)
    size = min(50 + int(rng.lognormal(4.0, 2.0)), max(max_size, 3))
    model_mean, input_mean = rng.normal(0.0, alpha), rng.normal(0.0, beta)
    centers = rng.normal(input_mean, 1.0, _NUM_FEATURES)
    weights = rng.normal(model_mean, 1.0, (_NUM_FEATURES, _NUM_CLASSES))
    biases = rng.normal(model_mean, 1.0, _NUM_CLASSES)
    deviations = np.arange(1, _NUM_FEATURES + 1) ** -0.6
    features = centers + deviations * rng.standard_normal((size, _NUM_FEATURES))
    return features.astype(np.float32), np.argmax(features @ weights + biases, axis=1)


def quadratic_optima(
    num_clients: int, num_features: int, *, seed: int, spread: float = 1.0
) -> NDArray[np.float64]:
    """Return the optimum of every client, of shape `(num_clients, num_features + 1)`.

    The last column is the bias; all entries are N(0, spread^2).
    """
    rng = generator(seed, Stream.SYNTHETIC, num_clients)
    return spread * rng.standard_normal((num_clients, num_features + 1))


def quadratic_federation(
    num_clients: int,
    num_features: int,
    *,
    seed: int,
    num_examples: int = 40,
    spread: float = 1.0,
) -> FederatedData:
    """Return a linear regression whose losses are isotropic quadratics about known optima.

    The training inputs of each client are orthogonal to one another and to the constant, with mean
    square 1, and its targets are those of `quadratic_optima`, without noise. So the mean squared
    error of a linear model with bias, w = (weights, bias), is ‖w - a_i‖² on the training split:
    the Pareto set is the convex hull of the a_i, and FedMGDA steps towards w's projection onto it.

    Args:
        num_clients: The number of clients.
        num_features: The number of features.
        seed: The seed of everything.
        num_examples: The size of each split of each client, more than `num_features`.
        spread: The standard deviation of the optima.
    """
    _check_clients(num_clients)
    if not 1 <= num_features < num_examples:
        raise SpecError(
            f"num_features must lie between 1 and num_examples - 1 = {num_examples - 1}, got "
            f"{num_features}."
        )
    optima = quadratic_optima(num_clients, num_features, seed=seed, spread=spread)
    designs = [
        _design(num_examples, num_features, generator(seed, Stream.SYNTHETIC, client, split))
        for client in range(num_clients)
        for split in range(3)
    ]
    features = np.concatenate(designs)
    models = np.repeat(optima, 3 * num_examples, axis=0)
    targets = np.einsum("nd,nd->n", features, models[:, :-1]) + models[:, -1]
    rows = _consecutive([num_examples] * (3 * num_clients))
    return FederatedData(
        name="quadratics",
        features=features.astype(np.float32),
        targets=targets.astype(np.float32),
        train=tuple(rows[0::3]),
        validation=tuple(rows[1::3]),
        test=tuple(rows[2::3]),
        num_classes=None,
    )


def _design(num_examples: int, num_features: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return inputs X, of shape `(n, d)`, with (1, X)ᵀ(1, X) = n I."""
    columns = rng.standard_normal((num_examples, num_features + 1))
    columns[:, 0] = 1.0
    orthonormal, _ = np.linalg.qr(columns)
    inputs: NDArray[np.float64] = orthonormal[:, 1:] * np.sqrt(num_examples)
    return inputs


def _consecutive(sizes: list[int]) -> list[Indices]:
    return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])


def _check_clients(num_clients: int) -> None:
    if not 1 <= num_clients <= _MOST_CLIENTS:
        raise SpecError(
            f"num_clients of made-up data must lie between 1 and {_MOST_CLIENTS}, whose examples "
            f"take some gigabytes, got {num_clients}."
        )


SYNTHETIC = Dataset(
    name="synthetic",
    title="Synthetic(alpha, beta) of FedProx",
    federation="30 clients, 60 features, 10 classes",
    licence="made by this library",
    load=lambda settings, seed: synthetic_federation(
        settings["alpha"], settings["beta"], settings["num_clients"], seed=seed
    ),
    model="logistic",
    clients="given",
    settings={"partition": "natural", "num_clients": 30, "alpha": 1.0, "beta": 1.0},
    per_round=10,
)

QUADRATICS = Dataset(
    name="quadratics",
    title="linear regressions with known optima",
    federation="10 clients, 8 features, 40 examples in each split",
    licence="made by this library",
    load=lambda settings, seed: quadratic_federation(settings["num_clients"], 8, seed=seed),
    model="linear",
    clients="given",
    settings={"partition": "natural", "num_clients": 10},
    participation=1.0,
)
