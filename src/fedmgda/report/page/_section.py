"""What a section of a page is made from and made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from fedmgda.metrics import METRICS
from fedmgda.report.page._charts import Chart, Value

if TYPE_CHECKING:
    from fedmgda.report.page._joined import Joined
    from fedmgda.report.page._source import Source
    from fedmgda.report.page._table import Table

__all__ = ["Context", "LeftOut", "Section"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """What every section is made from.

    Attributes:
        source: The runs.
        joined: Their comparisons.
        measure: "accuracy" or "loss": what every run measures of every user.
    """

    source: Source
    joined: Joined
    measure: str

    @property
    def value(self) -> Value:
        """How the measure is shown."""
        if self.measure == "accuracy":
            return Value(label="accuracy", format=".1%", axis="~%")
        return Value(label="test loss", format=".3~g")

    @property
    def compared(self) -> Value:
        """How the metric of the comparisons is shown, or the measure without any."""
        if self.joined.metric is None:
            return self.value
        metric = METRICS[self.joined.metric]
        if metric.percent:
            return Value(label=metric.label, format=".1%", axis="~%")
        return Value(label=metric.label)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One question and its answer.

    Attributes:
        name: Unique in a page; what a link ends with.
        short: The question in a word or two.
        title: The question.
        lead: What is shown and how to read it.
        tables: The numbers.
        charts: The drawings.
        shown: A table that stands open before the drawings.
        search: Whether the reader chooses a user.
    """

    name: str
    short: str
    title: str
    lead: tuple[str, ...]
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = field(default=())
    shown: Table | None = None
    search: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A section that has no data.

    Attributes:
        title: The question.
        why: Why there is no answer.
        sure: Whether that is so whatever could not be read.
    """

    title: str
    why: str
    sure: bool = False
