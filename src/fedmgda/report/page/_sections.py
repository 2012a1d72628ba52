"""The sections of a page, in the order in which a reader asks; what has no data says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    from collections.abc import Callable, Iterator

    from fedmgda.report.page._section import Context, LeftOut, Section

__all__ = ["all_sections"]

_SECTIONS: tuple[Callable[[Context], Section | LeftOut], ...] = (
    users_section,
    gains_section,
    rounds_section,
    improved_section,
    steering_section,
    certificate_section,
    pareto_section,
    story_section,
    attack_section,
    quarantine_section,
    seconds_section,
)


def all_sections(context: Context) -> Iterator[Section | LeftOut]:
    """Yield every section that has data, and why others have none."""
    for section in _SECTIONS:
        yield section(context)
