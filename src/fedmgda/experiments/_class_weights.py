"""Weights of classes in the loss: rare classes count for more where the user says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.data import target_sums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Vector
    from fedmgda.data import FederatedData
    from fedmgda.experiments._spec import Spec

__all__ = ["balanced_weights", "class_weights", "known_weights"]


def class_weights(spec: Spec, data: FederatedData) -> Vector | None:
    """Return by what the loss of each class is multiplied, of shape `(num_classes,)`.

    Raises:
        SpecError: If there are no classes, or none of a name that the spec gives.
    """
    if spec.clients.class_weights is None:
        return None
    if data.num_classes is None:
        raise SpecError(
            f"clients.class_weights does not apply to {data.name}, whose target is a number; leave "
            "it out."
        )
    return known_weights(spec, target_sums(data), data.class_names, data.name)


def known_weights(
    spec: Spec, counts: Vector, names: Sequence[str] | None, where: str = "the data"
) -> Vector | None:
    """Return the same from what a run folder holds.

    Args:
        spec: The spec of a classification.
        counts: Of shape `(num_classes,)`, the training rows of each class.
        names: What the classes are called; their numbers if None.
        where: What the data is called, for messages.
    """
    wanted = spec.clients.class_weights
    if wanted is None or isinstance(wanted, str):
        return None if wanted is None else balanced_weights(counts)
    return _by_name(wanted, tuple(names or map(str, range(len(counts)))), where)


def balanced_weights(counts: Vector) -> Vector:
    """Return n / (K n_c) for each class c of the K that occur: all weigh the same in total.

    Counts are sums over the clients. The mean weight of a training row is 1, and a class that has
    no training row weighs 1.

    >>> balanced_weights(np.array([90.0, 10.0])).round(2).tolist()
    [0.56, 5.0]
    """
    occurs = counts > 0
    weights = np.ones(len(counts))
    weights[occurs] = counts.sum() / (occurs.sum() * counts[occurs])
    return weights


def _by_name(wanted: Mapping[str, object], names: tuple[str, ...], where: str) -> Vector:
    weights = np.ones(len(names))
    for name, value in wanted.items():
        if name not in names:
            known = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if names[8:] else "")
            hint = did_you_mean(nearest_names(name, names), f"the classes are {known}.")
            raise SpecError(f"clients.class_weights names {name!r}, no class of {where}; {hint}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
            raise SpecError(
                f"clients.class_weights.{name} must be a positive number, got {value!r}."
            )
        weights[names.index(name)] = value
    return weights
