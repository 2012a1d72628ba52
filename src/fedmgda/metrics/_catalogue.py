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
        task: What it measures.
        larger_is_better: Which way is up.
        percent: Whether it is shown in percent.
        needs_probabilities: Whether classes alone do not suffice.
        of: From answers of shape `(..., n)` to values of shape `(...)`.
    """

    name: str
    label: str
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
            task="classification",
            of=_of_classes.accuracy,
            percent=True,
        ),
        Metric(
            name="balanced_accuracy",
            label="balanced accuracy",
            task="classification",
            of=_of_classes.balanced_accuracy,
            percent=True,
        ),
        Metric(
            name="auc",
            label="AUC",
            task="classification",
            of=_of_classes.auc,
            needs_probabilities=True,
        ),
        Metric(name="f1", label="F1", task="classification", of=_of_classes.f1),
        Metric(
            name="recall",
            label="recall",
            task="classification",
            of=_of_classes.recall,
            percent=True,
        ),
        Metric(
            name="log_loss",
            label="log loss",
            task="classification",
            of=_of_classes.log_loss,
            larger_is_better=False,
        ),
        Metric(
            name="brier",
            label="Brier score",
            task="classification",
            of=_of_classes.brier,
            larger_is_better=False,
            needs_probabilities=True,
        ),
        Metric(
            name="rmse",
            label="RMSE",
            task="regression",
            of=_of_values.rmse,
            larger_is_better=False,
        ),
        Metric(
            name="mae", label="MAE", task="regression", of=_of_values.mae, larger_is_better=False
        ),
        Metric(name="r2", label="R²", task="regression", of=_of_values.r2),
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
