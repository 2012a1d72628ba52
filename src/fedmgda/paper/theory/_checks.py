"""All checks of the theory, in the order of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.paper.theory import (
    _anisotropic,
    _convex,
    _decrease,
    _descent,
    _front,
    _local_steps,
    _pareto,
    _proximal,
    _stationarity,
)

if TYPE_CHECKING:
    from fedmgda.paper.theory._check import Check

__all__ = ["theory_checks"]


def theory_checks(seed: int = 0) -> tuple[Check, ...]:
    """Try every claim once; seconds in total.

    Args:
        seed: Of the problems, the noise and the sampling.

    Returns:
        The checks. Those with `as_printed` are the paper's wording where it is wrong, be it a
        misprint or a gap in a proof, and are expected not to hold; all others are expected to hold
        for every seed.
    """
    return (
        *_pareto.optimal_is_stationary(seed),
        *_pareto.stationary_is_optimal(seed),
        *_front.concave_front(seed),
        *_stationarity.exact_gradients(seed),
        *_stationarity.noisy_gradients(seed),
        *_stationarity.sampled_users(seed),
        *_local_steps.local_steps(seed),
        *_local_steps.falling_steps(),
        *_local_steps.weights_in_a_box(),
        *_convex.rate(seed),
        *_convex.recursion(seed),
        *_convex.sum_in_proof(),
        *_anisotropic.curved_pareto_set(seed),
        *_convex.lands_on_the_projection(seed),
        *_descent.common_descent(seed),
        *_descent.small_epsilon(),
        *_descent.feasible_mixtures(seed),
        *_decrease.one_step_decrease(seed),
        *_decrease.normalised_step(seed),
        *_decrease.normalised_convergence(),
        *_descent.shorter_with_epsilon(seed),
        *_descent.down_to_fedavg(seed),
        *_descent.more_users_than_dimensions(),
        *_proximal.proximal_average(seed),
    )
