"""What a page is made from: run folders, grouped by what they are called.

Nothing else of the page opens a folder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from fedmgda._errors import DataError, FedmgdaError
from fedmgda._files import is_there
from fedmgda.experiments import (
    are_same_users,
    comparison_order,
    distinct_names,
    holds_run,
    open_run,
    run_folders,
    without_twins,
)
from fedmgda.report.page._run_view import read_view

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.experiments import Run
    from fedmgda.report.page._run_view import RunView

__all__ = ["Group", "Source", "read_source"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """The runs that differ in the seed only.

    Attributes:
        name: What they are called.
        views: The runs, one or more.
    """

    name: str
    views: tuple[RunView, ...]

    @property
    def first(self) -> RunView:
        """The run that is looked at where only one can be."""
        return self.views[0]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """Everything a page is about.

    Attributes:
        groups: The runs that could be opened, those of the federation first.
        notes: Sentences about runs that are left out.
        broken: A sentence for everything that cannot be read or is not what a run wrote.
    """

    groups: tuple[Group, ...]
    notes: tuple[str, ...]
    broken: tuple[str, ...]

    @property
    def views(self) -> list[RunView]:
        """All runs."""
        return [view for group in self.groups for view in group.views]

    @property
    def apart(self) -> bool:
        """Whether two seeds have other users."""
        return any(view.apart for view in self.views)

    @property
    def federated(self) -> list[Group]:
        """The groups that are no baselines."""
        return [group for group in self.groups if not group.first.baseline]

    def unread(self, *parts: str) -> list[str]:
        """Return the runs of which some of these parts could not be read."""
        return [
            view.label + (f" (seed {view.seed})" if len(self.views) > 1 else "")
            for view in self.views
            if view.unread & set(parts)
        ]

    @property
    def going_on(self) -> list[RunView]:
        """The runs that some process works on."""
        return [view for view in self.views if view.state == "running"]


def read_source(paths: Sequence[Path]) -> Source:
    """Read run folders, and the run folders that lie in folders.

    Raises:
        FedmgdaError: If none of them can be opened: what is wrong with the first.
    """
    runs: list[Run] = []
    broken, errors = list[str](), list[FedmgdaError]()
    for path in paths:
        found: list[Run] = []
        for folder in _runs_in(path):
            try:
                found.append(open_run(folder))
            except FedmgdaError as error:
                errors.append(error)
                broken.append(f"{error} Nothing of {folder} is shown.")
        inside = found if holds_run(path) else sorted(found, key=comparison_order)
        runs += inside
    if not runs:
        raise errors[0] if errors else DataError("There is no run to report; name a run folder.")
    runs, notes = without_twins(runs)
    views = [read_view(name, run) for name, run in zip(distinct_names(runs), runs, strict=True)]
    views = _told_apart(views)
    groups: dict[str, list[RunView]] = {}
    for view in views:
        groups.setdefault(view.label, []).append(view)
    problems = dict.fromkeys([*broken, *(said for view in views for said in view.problems)])
    ordered = sorted(groups.items(), key=lambda item: item[1][0].baseline)
    return Source(
        groups=tuple(Group(name=name, views=tuple(views)) for name, views in ordered),
        notes=tuple(notes),
        broken=tuple(problems),
    )


def _told_apart(views: Sequence[RunView]) -> list[RunView]:
    """Name users by their seed where two seeds of the same data have other ones."""
    users: dict[str, list[tuple[str, ...] | None]] = {}
    for view in views:
        if view.clients:
            users.setdefault(repr(view.run.spec.data), []).append(view.users)
    apart = not all(are_same_users(known) for known in users.values())
    return [replace(view, apart=apart) for view in views]


def _runs_in(path: Path) -> list[Path]:
    if holds_run(path):
        return [path]
    return (run_folders(path) if is_there(path) else []) or [path]
