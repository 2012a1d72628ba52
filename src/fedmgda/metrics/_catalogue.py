"""Every metric a spec or a command can name: one name, one meaning, in every output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from fedmgda.metrics import _of_classes, _of_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fedmgda._types import Vector
    from fedmgda.metrics._answers import Answers

__all__ = ["METRICS", "Metric", "default_metrics", "measure"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What a name stands for.

    Attributes:
        name: In specs, files and options.
        label: For people.
        meaning: What it is, with code in backticks.
        undefined: Of which rows it is not defined.
        task: What it measures.
        larger_is_better: Which way is up.
        percent: Whether it is shown in percent.
        needs_probabilities: Whether classes alone do not suffice.
        of: From answers of shape `(..., n)` to values of shape `(...)`.
    """

    name: str
    label: str
    meaning: str
    undefined: str
    task: Literal["classification", "regression"]
    of: Callable[[Answers], Vector]
    larger_is_better: bool = True
    percent: bool = False
    needs_probabilities: bool = False


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="accuracy",
            label="accuracy",
            meaning="share of rows whose class is the one given",
            undefined="no row",
            task="classification",
            of=_of_classes.accuracy,
            percent=True,
        ),
        Metric(
            name="balanced_accuracy",
            label="balanced accuracy",
            meaning="mean, over the classes that occur, of the share of their rows found",
            undefined="no row",
            task="classification",
            of=_of_classes.balanced_accuracy,
            percent=True,
        ),
        Metric(
            name="auc",
            label="AUC",
            meaning=(
                "how often a row of the positive class scores above one of the other; of "
                "several classes the mean over those that occur, each against all others"
            ),
            undefined="one class only; more than 32 classes, of which probabilities are not kept",
            task="classification",
            of=_of_classes.auc,
            needs_probabilities=True,
        ),
        Metric(
            name="f1",
            label="F1",
            meaning=(
                "2 TP / (2 TP + FP + FN) of the positive class; of several classes the mean "
                "over those that occur or are given"
            ),
            undefined="the class neither occurs nor is given",
            task="classification",
            of=_of_classes.f1,
        ),
        Metric(
            name="recall",
            label="recall",
            meaning=(
                "share of the rows of the positive class that were found; of several classes "
                "it is `balanced_accuracy`"
            ),
            undefined="no such row",
            task="classification",
            of=_of_classes.recall,
            percent=True,
        ),
        Metric(
            name="log_loss",
            label="log loss",
            meaning="mean cross-entropy",
            undefined="no row",
            task="classification",
            of=_of_classes.log_loss,
            larger_is_better=False,
        ),
        Metric(
            name="brier",
            label="Brier score",
            meaning=(
                "mean squared distance of the probabilities from the truth: of two classes "
                "that of the positive one, in [0, 1]; of several the sum over classes, in [0, "
                "2]"
            ),
            undefined="no row; more than 32 classes",
            task="classification",
            of=_of_classes.brier,
            larger_is_better=False,
            needs_probabilities=True,
        ),
        Metric(
            name="rmse",
            label="RMSE",
            meaning="root of the mean squared error, in the units of the target",
            undefined="no row",
            task="regression",
            of=_of_values.rmse,
            larger_is_better=False,
        ),
        Metric(
            name="mae",
            label="MAE",
            meaning="mean absolute error, in the units of the target",
            undefined="no row",
            task="regression",
            of=_of_values.mae,
            larger_is_better=False,
        ),
        Metric(
            name="r2",
            label="R²",
            meaning="1 minus the squared error over that of the mean of the same rows",
            undefined="fewer than two rows, or all targets equal",
            task="regression",
            of=_of_values.r2,
        ),
    )
}
"""The metrics by name; the first of a task is what its users ask for first."""


def default_metrics(num_classes: int | None, *, probabilities: bool = True) -> tuple[str, ...]:
    """Return what is measured unless somebody says so.

    Args:
        num_classes: The number of classes; None for a regression.
        probabilities: Whether they are known; of many classes they are not kept.

    >>> default_metrics(None)
    ('rmse', 'mae', 'r2')
    """
    task = "regression" if num_classes is None else "classification"
    return tuple(
        metric.name
        for metric in METRICS.values()
        if metric.task == task
        and (probabilities or not metric.needs_probabilities)
        # Of several classes the mean recall is the balanced accuracy, which is there already.
        and (metric.name != "recall" or num_classes == 2)
    )


def measure(name: str, said: Answers) -> float:
    """Return one metric of some examples; NaN where it is not defined.

    >>> import numpy as np
    >>> from fedmgda.metrics import Answers
    >>> said = Answers(
    ...     targets=np.array([0, 0, 1]), predictions=np.array([0, 0, 0]), losses=np.ones(3),
    ...     num_classes=2,
    ... )
    >>> round(measure("accuracy", said), 4), measure("balanced_accuracy", said)
    (0.6667, 0.5)
    >>> measure("recall", said), measure("auc", said)
    (0.0, nan)
    """
    return float(METRICS[name].of(said))
