"""The questions of our own: one variant against another, seed by seed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from fedmgda.paper._statistics import Difference, holm, paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.paper._comparison import Line
    from fedmgda.paper._study import Study

__all__ = ["Answer", "answers"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The difference between two variants in one metric.

    Attributes:
        first: The variant.
        second: The one that is subtracted.
        within: The values of the grid both share.
        metric: What is measured.
        difference: First minus second over paired seeds.
        p_adjusted: Its p-value, adjusted for the number of answers (Holm).
    """

    first: str
    second: str
    within: Mapping[str, str]
    metric: str
    difference: Difference
    p_adjusted: float = math.nan


def answers(study: Study, lines: Sequence[Line]) -> list[Answer]:
    """Compare the pairs of a study wherever both have results."""
    found = {(line.metric, tuple(line.cell.items())): line for line in lines}
    result = []
    for first, second in study.pairs:
        for line in lines:
            if line.cell.get("variant") != first:
                continue
            other = found.get((line.metric, tuple((dict(line.cell) | {"variant": second}).items())))
            if other is not None:
                within = {key: value for key, value in line.cell.items() if key != "variant"}
                gap = paired_difference(line.values, other.values)
                answer = Answer(
                    first=first, second=second, within=within, metric=line.metric, difference=gap
                )
                result.append(answer)
    adjusted = holm([answer.difference.p for answer in result])
    return [replace(answer, p_adjusted=p) for answer, p in zip(result, adjusted, strict=True)]
