"""The picture of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.metrics import smoothed
from fedmgda.report._style import COLORS, figure_style, places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Vector

__all__ = ["Curve", "demo_figure"]

_SPAN = 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What the demo shows of one rule in one condition.

    Attributes:
        rule: The name of the rule.
        attacked: Whether a malicious user took part.
        accuracies: Final test accuracy of every honest user, in percent, over all seeds.
        improved: Of shape `(rounds,)`: improved participants in percent, averaged over seeds.
    """

    rule: str
    attacked: bool
    accuracies: Vector
    improved: Vector


def demo_figure(curves: Sequence[Curve]) -> Any:
    """Draw user accuracies as points per rule, and the improved participants as curves."""
    rules = list(dict.fromkeys(curve.rule for curve in curves))
    with figure_style() as library:
        figure = library.Figure(figsize=(9, 5.4), layout="constrained")
        axes = figure.subplots(2, 2, sharey="col", sharex="col", width_ratios=(1, 1.25))
        for row, attacked in enumerate((False, True)):
            chosen = [curve for curve in curves if curve.attacked == attacked]
            _draw_accuracies(axes[row, 0], chosen, rules)
            _draw_improved(axes[row, 1], chosen, rules)
            condition = "one user inflates its loss x 100" if attacked else "all users honest"
            axes[row, 0].set_ylabel(f"{condition}\n\n%")
        axes[0, 0].set_title("Test accuracy of each honest user, and the mean")
        axes[0, 1].set_title("Participants that a round leaves no worse off, %")
        axes[1, 1].set_xlabel(f"round (exponentially smoothed, span {_SPAN})")
        figure.legend(
            *axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=len(rules)
        )
    return figure


def _draw_accuracies(axes: Any, curves: Sequence[Curve], rules: Sequence[str]) -> None:
    """Draw one column of points per rule, spread sideways so that none hides another."""
    for curve in curves:
        place = rules.index(curve.rule)
        values = np.sort(np.asarray(curve.accuracies))
        ranks = np.arange(len(values)) * 0.618034 % 1.0  # golden ratio: even, and always the same
        color = COLORS[places(rules)[curve.rule] % len(COLORS)]
        axes.plot(place + 0.6 * (ranks - 0.5), values, "o", ms=3, alpha=0.45, mew=0, color=color)
        axes.hlines(values.mean(), place - 0.38, place + 0.38, color=color, lw=2)
    axes.set_xticks(range(len(rules)), rules)
    axes.set_ylim(-3, 103)
    axes.grid(visible=False, axis="x")


def _draw_improved(axes: Any, curves: Sequence[Curve], rules: Sequence[str]) -> None:
    for curve in curves:
        rounds = np.arange(1, len(curve.improved) + 1)
        color = COLORS[places(rules)[curve.rule] % len(COLORS)]
        axes.plot(rounds, smoothed(curve.improved, _SPAN), color=color, lw=1.6, label=curve.rule)
    axes.set_ylim(-3, 103)
