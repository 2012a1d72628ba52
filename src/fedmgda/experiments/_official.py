"""The official test set of a data set: nobody's, held by the server, never trained on."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.data import DATASETS, FederatedData, find_dataset
from fedmgda.experiments._build import build_pool
from fedmgda.experiments._spec import AttackSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Vector
    from fedmgda.experiments._rows import EvaluationRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.values import Clients

__all__ = ["check_official", "official_test", "refuse_remote_test", "with_official"]


def check_official(spec: Spec) -> None:
    """Refuse to test on an official test set where there is none.

    Raises:
        SpecError: If the data set has none.
    """
    name = spec.data.name or ""
    if spec.evaluation.global_test and spec.baseline == "alone":
        raise SpecError(
            "evaluation.global_test does not go with baseline = 'alone', which has no model of all;"
            " leave it out."
        )
    if spec.evaluation.global_test and find_dataset(name).official_test is None:
        having = [repr(known.name) for known in DATASETS.values() if known.official_test]
        raise SpecError(
            f"evaluation.global_test needs an official test set, which {' and '.join(having)} "
            f"have and {name!r} has not; leave it out."
        )


def refuse_remote_test(spec: Spec) -> None:
    """Refuse to test where the data, and so how its rows become features, is not known.

    Raises:
        SpecError: If it is asked for.
    """
    if spec.evaluation.global_test:
        raise SpecError(
            "evaluation.global_test needs clients whose data is read here; leave it out."
        )


@contextmanager
def official_test(spec: Spec, clients: Clients) -> Iterator[Clients | None]:
    """Give the official test set to somebody who only evaluates; None where it is not asked for.

    The one client of this federation has the whole set for a test split and nothing else, so that
    the model is computed as it is for all others: on the same path, with the same loss.

    Args:
        spec: The spec of the run.
        clients: Who trains, on the path that computes here too.
    """
    load = find_dataset(spec.data.name or "").official_test
    if not spec.evaluation.global_test or load is None:
        yield None
        return
    examples, nothing = load(), np.empty(0, np.int64)
    data = FederatedData(
        name=examples.name,
        features=examples.features,
        targets=examples.targets,
        train=(nothing,),
        validation=(nothing,),
        test=(np.arange(len(examples.targets)),),
        num_classes=examples.num_classes,
        pixels=examples.pixels,
    )
    path: Literal["compiled", "torch"] = "compiled" if clients.path == "compiled" else "torch"
    alone = replace(
        spec,
        attack=AttackSpec(),
        clients=replace(spec.clients, path=path),
        engine=replace(spec.engine, workers=1),
    )
    with build_pool(alone, data) as pool:
        yield pool


def with_official(row: EvaluationRow, official: Clients | None, model: Vector) -> EvaluationRow:
    """Add to an evaluation what the model does on the official test set, where there is one."""
    if official is None:
        return row
    found = official.evaluate(model, (0,), "test")
    loss, accuracy = float(found.losses[0]), float(found.accuracies[0])
    return replace(row, global_loss=loss, global_accuracy=accuracy)
