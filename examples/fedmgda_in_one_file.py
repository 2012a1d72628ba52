"""FedMGDA+ in one file: Algorithm 1 of the paper, with NumPy and nothing else.

A server holds parameters w. In each round every user i starts from w, works on its own data and
sends back g_i = w - w_i, which points like a gradient. The server looks for one direction
d = Σ λ_i g_i / ‖g_i‖ that hurts nobody: the shortest vector that such weights λ can make. It is
the min-norm point of a convex hull, and has ⟨g_i, d⟩ > 0 for every user unless it is zero.

Run `python examples/fedmgda_in_one_file.py` to see it on five users who disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
ClientUpdate: TypeAlias = Callable[[Vector], Vector]  # w -> g_i


def min_norm_weights(gramian: Vector, center: Vector, epsilon: float) -> Vector:
    """Minimise ½ λᵀKλ over {Σ λ = 1, λ >= 0, |λ - center| <= epsilon}, exactly.

    An active-set method: minimise over the free weights while the others rest on their bounds;
    stop at the first bound in the way; at a minimum, free the bound that pulls the wrong way most.
    """
    if epsilon == 0 or not gramian.any():
        return center.copy()
    K = gramian / np.abs(gramian).max()
    lower, upper = np.maximum(center - epsilon, 0), np.minimum(center + epsilon, 1)
    lam, free = center.copy(), (lower < center) & (center < upper)
    for _ in range(100 * len(lam)):
        step, price = newton_step(K, lam, free)
        room = np.where(step > 0, upper - lam, lower - lam)
        share = np.divide(room, step, out=np.full(len(lam), np.inf), where=step != 0)
        first = int(np.argmin(share))
        lam = lam + min(1.0, share[first]) * step
        if share[first] <= 1:
            lam[first] = upper[first] if step[first] > 0 else lower[first]
            free[first] = False
            continue
        pull = K @ lam - price  # > 0: the weight should fall, < 0: it should grow
        allowed = ~free & np.where(pull > 0, lam > lower, lam < upper)
        worst = int(np.argmax(np.abs(pull) * allowed))
        if np.abs(pull[worst]) * allowed[worst] <= 1e-15:
            break
        free[worst] = True
    return lam


def newton_step(gramian: Vector, lam: Vector, free: NDArray[np.bool_]) -> tuple[Vector, float]:
    """Return the step of sum 0 to the minimum over the free weights, and their common slope."""
    index = np.flatnonzero(free)
    step, slope = np.zeros(len(lam)), gramian @ lam
    if len(index) < 2:
        return step, float(slope[index[0]] if len(index) else np.median(slope))
    ones = np.ones((len(index), 1))
    system = np.block([[gramian[np.ix_(index, index)], -ones], [ones.T, np.zeros((1, 1))]])
    solved = np.linalg.lstsq(system, np.append(-slope[index], 0.0))[0]
    step[index] = solved[:-1]
    return step, float((slope + gramian @ step)[index].mean())


def fedmgda_round(
    params: Vector,
    client_updates: Sequence[ClientUpdate],
    server_lr: float,
    epsilon: float = 1.0,
    *,
    normalize: bool = True,
) -> tuple[Vector, Vector]:
    """Return the parameters after one round of Algorithm 1, and λ."""
    updates = np.stack([update(params) for update in client_updates])  # lines 3-4: users at work
    norms = np.linalg.norm(updates, axis=1)
    moved = norms > 1e-12 * max(1.0, float(np.linalg.norm(params)))  # the others are content
    if not moved.any():
        return params, np.zeros(len(updates))
    rows = updates[moved] / norms[moved, None] if normalize else updates[moved]  # line 5
    center = np.full(len(rows), 1.0 / len(rows))
    lam = np.zeros(len(updates))
    lam[moved] = min_norm_weights(rows @ rows.T, center, epsilon)  # line 6
    direction = lam[moved] @ rows  # line 7
    return params - server_lr * direction, lam  # line 8


def least_squares_user(features: Vector, targets: Vector, client_lr: float) -> ClientUpdate:
    """Return the work of a user: three steps of gradient descent on its own mean squared error."""

    def update(params: Vector) -> Vector:
        local = params.copy()
        for _ in range(3):
            local -= client_lr * features.T @ (features @ local - targets) / len(targets)
        return params - local

    return update


def main(num_rounds: int = 40) -> None:
    """Train five users with different data and print how each of them fares."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=8)
    data = [(x, x @ (shared + 0.5 * rng.normal(size=8))) for x in rng.normal(size=(5, 50, 8))]
    users = [least_squares_user(x, y, client_lr=0.1) for x, y in data]
    params = np.zeros(8)
    print("round  " + "  ".join(f"user {i}" for i in range(5)) + "   λ")
    for round_num in range(num_rounds + 1):
        losses = [float(np.mean((x @ params - y) ** 2)) for x, y in data]
        params, lam = fedmgda_round(params, users, server_lr=0.2 * 0.95**round_num)
        if round_num % 5 == 0:
            print(f"{round_num:5d}  " + "  ".join(f"{v:6.3f}" for v in losses), lam.round(2))


if __name__ == "__main__":
    main()
