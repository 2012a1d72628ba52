"""The metrics of a run in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.metrics import METRICS

if TYPE_CHECKING:
    from fedmgda.experiments import MetricsSummary

__all__ = ["in_short", "metrics_line", "shown_value"]


def metrics_line(found: MetricsSummary) -> str:
    """Say in a line the first metrics over all test rows, and of two classes the positives found.

    The accuracy is left to the table that has it for the clients.

    >>> from fedmgda.experiments import ClassResult, MetricsSummary
    >>> classes = (
    ...     ClassResult(name="no", rows=94, found=94, predicted=100),
    ...     ClassResult(name="yes", rows=6, found=0, predicted=0),
    ... )
    >>> pooled = {"accuracy": 0.94, "auc": 0.5, "recall": 0.0}
    >>> metrics_line(
    ...     MetricsSummary(pooled=pooled, over_clients="auc", positive="yes", classes=classes)
    ... )
    "All test rows: AUC 0.5; found 0 of 6 'yes'."
    """
    hits = next((one for one in found.classes if one.name == found.positive), None)
    told = [
        f"{METRICS[name].label} {shown_value(name, value)}"
        for name, value in found.pooled.items()
        if value is not None and name not in {"accuracy", "recall"}
    ]
    parts = [", ".join(told[: 3 if hits is None else 2])] if told else []
    if hits is not None:
        parts.append(f"found {hits.found} of {hits.rows} {hits.name!r}")
    return f"All test rows: {'; '.join(parts)}."


def shown_value(name: str, value: float) -> str:
    """Write the value of a metric for people."""
    return f"{100 * value:.1f} %" if METRICS[name].percent else in_short(value)


def in_short(value: float) -> str:
    """Write a number in few characters that people read at a glance.

    >>> in_short(25693.4), in_short(0.44431), in_short(123.456), in_short(3.2e9)
    ('25,693', '0.444', '123', '3.2e+09')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e8 else f"{value:.3g}"
