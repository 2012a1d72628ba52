"""The sections of a page, in the order in which a reader asks; what has no data says why not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedmgda._text import listed
from fedmgda.report.page._run_view import CLIENTS, EVALUATIONS, ROUNDS, TIMINGS
from fedmgda.report.page._section import LeftOut
from fedmgda.report.page._sections_rounds import (
    certificate_section,
    improved_section,
    pareto_section,
    quarantine_section,
    rounds_section,
    seconds_section,
)
from fedmgda.report.page._sections_users import (
    attack_section,
    gains_section,
    steering_section,
    story_section,
    users_section,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fedmgda.report.page._section import Context, Section

__all__ = ["all_sections"]

_SECTIONS: Mapping[Callable[[Context], Section | LeftOut], tuple[str, ...]] = {
    users_section: (EVALUATIONS, CLIENTS),
    gains_section: (),  # a comparison says so itself
    rounds_section: (EVALUATIONS,),
    improved_section: (ROUNDS,),
    steering_section: (ROUNDS,),
    certificate_section: (ROUNDS,),
    pareto_section: (EVALUATIONS,),
    story_section: (EVALUATIONS, CLIENTS),
    attack_section: (EVALUATIONS, CLIENTS),
    quarantine_section: (ROUNDS,),
    seconds_section: (TIMINGS,),
}
"""Every section, with the parts of a run that it is made from."""


def all_sections(context: Context) -> Iterator[Section | LeftOut]:
    """Yield every section that has data, and why others have none."""
    for section, needed in _SECTIONS.items():
        made, unread = section(context), context.source.unread(*needed)
        if isinstance(made, LeftOut) and unread and not made.sure:
            yield _unread(made, unread, others=len(unread) < len(context.source.views))
        else:
            yield made


def _unread(left_out: LeftOut, unread: Sequence[str], *, others: bool) -> LeftOut:
    """Say what could not be read, before anything is said of runs that were read."""
    rest = f" Otherwise: {left_out.why}" if others else ""
    told = f"what it is made from cannot be read of {listed(unread, 4)}, see above."
    return replace(left_out, why=told + rest)
