"""Other solvers of the min-norm problem at epsilon = 1, of the Gram matrix or of the rows."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Solver: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

MOST_OF_QUADPROG = 2000
RIDGE = 1e-10
"""What quadprog needs on the diagonal, relative to the largest entry, where K is singular."""


def peers() -> tuple[dict[str, Solver], dict[str, str]]:
    """Return the solvers that can be imported here, and for the others why they cannot."""
    found: dict[str, Solver] = {"scipy nnls": _nnls}
    missing = {}
    for name, make in (("quadprog", _quadprog), ("cvxopt", _cvxopt), ("torchjd", _torchjd)):
        try:
            found[name] = make()
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


def peers_of_rows(num_clients: int) -> tuple[dict[str, Solver], dict[str, str]]:
    """Return the solvers as functions of the rows, and for the others why they are left out.

    Whoever wants the Gram matrix forms it first; a matrix of more than 2000 users is too much for
    quadprog, which factorises it.
    """
    found: dict[str, Solver] = {"scipy nnls": _nnls_of_rows}
    products, missing = peers()
    for name in ("quadprog", "torchjd"):
        if name == "quadprog" and num_clients > MOST_OF_QUADPROG:
            missing[name] = f"it factorises a matrix of {num_clients} x {num_clients} numbers"
        elif name in products:
            found[name] = partial(_by_products, products[name])
    return found, missing


def _by_products(solve: Solver, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return solve(rows @ rows.T)


def _nnls(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve the non-negative least-squares form, the factorisation included."""
    values, vectors = np.linalg.eigh(gram)
    return _nnls_of_rows(vectors * np.sqrt(np.maximum(values, 0.0)))


def _nnls_of_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise ‖Σ x_i g_i‖² + (Σ x_i - 1)² over x >= 0."""
    system = np.vstack([rows.T, np.ones(len(rows))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    solution: NDArray[np.float64] = nnls(system, target)[0]
    return solution


def _quadprog() -> Solver:
    quadprog = import_module("quadprog")

    def solve(gram: NDArray[np.float64]) -> NDArray[np.float64]:
        m = len(gram)
        ridged = gram + RIDGE * gram.diagonal().max() * np.eye(m)
        limits = np.concatenate([[1.0], np.zeros(m)])
        system = np.hstack([np.ones((m, 1)), np.eye(m)])
        return quadprog.solve_qp(ridged, np.zeros(m), system, limits, meq=1)[0]

    return solve


def _cvxopt() -> Solver:
    cvxopt = import_module("cvxopt")
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}

    def solve(gram: NDArray[np.float64]) -> NDArray[np.float64]:
        m = len(gram)
        found = cvxopt.solvers.qp(
            cvxopt.matrix(gram),
            cvxopt.matrix(0.0, (m, 1)),
            cvxopt.spmatrix(-1.0, range(m), range(m)),
            cvxopt.matrix(0.0, (m, 1)),
            cvxopt.matrix(1.0, (1, m)),
            cvxopt.matrix(1.0),
            options=options,
        )
        return np.array(found["x"])[:, 0]

    return solve


def _torchjd() -> Solver:
    torch = import_module("torch")
    weighting = import_module("torchjd.aggregation").MGDAWeighting()

    def solve(gram: NDArray[np.float64]) -> NDArray[np.float64]:
        return weighting(torch.from_numpy(gram)).numpy()

    return solve
