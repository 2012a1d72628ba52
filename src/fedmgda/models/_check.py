"""Whether a model fits the data, found out before the first round rather than in every client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from fedmgda._errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["check_model"]


def check_model(
    build_model: Callable[[], object],
    features: Tensor,
    num_classes: int | None,
    where: str = "The model",
    *,
    any_output: bool = False,
) -> Tensor:
    """Build the model, show it some examples, and refuse it in one sentence if it does not fit.

    Args:
        build_model: Returns a new module.
        features: Of shape `(n, ...)`: a few examples as the clients will see them.
        num_classes: How many classes the model must tell apart; None means regression.
        where: The key of the model, for messages.
        any_output: Whether outputs may have any shape, because a loss of the user's own takes them.

    Returns:
        What the model gives for the examples.

    Raises:
        SpecError: If the model cannot be built, is no module, cannot take the examples, or does
            not return one row of scores (for regression one number) for each of them.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        try:
            module = build_model()
        except Exception as error:
            raise SpecError(f"{where} cannot be built: {_in_short(error)}.") from error
        if not isinstance(module, nn.Module):
            kind = type(module).__name__
            raise SpecError(f"{where} must be a torch.nn.Module, got an object of type {kind}.")
        seen = f"examples of shape {tuple(features.shape[1:])} ({_name(features)})"
        try:
            output = module.float().eval()(features)
        except Exception as error:
            raise SpecError(f"{where} cannot take {seen}: {_in_short(error)}.") from error
    if not isinstance(output, torch.Tensor):
        kind = type(output).__name__
        raise SpecError(f"{where} must return a tensor, got an object of type {kind}.")
    if not any_output:
        _check_output(output, len(features), num_classes, where)
    return output


def _check_output(output: Tensor, num_rows: int, num_classes: int | None, where: str) -> None:
    shape = tuple(output.shape)
    if num_classes is None:
        if shape not in {(num_rows,), (num_rows, 1)}:
            raise SpecError(f"{where} must return one number for each example, got shape {shape}.")
    # Scores for classes that do not occur are harmless: 62 of them also tell 10 digits apart.
    elif len(shape) != 2 or shape[0] != num_rows or shape[1] < num_classes:
        raise SpecError(
            f"{where} must return scores of shape ({num_rows}, {num_classes}) for {num_rows}"
            f" examples of {num_classes} classes, got shape {shape}."
        )


def _in_short(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")[:300]


def _name(features: Tensor) -> str:
    return str(features.dtype).removeprefix("torch.")
