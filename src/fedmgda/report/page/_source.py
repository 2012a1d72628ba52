"""What a page is made from: run folders, each part read apart, so that one that is broken is told.

Nothing else of the page opens a folder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, final

from fedmgda._errors import DataError, FedmgdaError
from fedmgda._files import is_there
from fedmgda.experiments import (
    are_same_users,
    comparison_order,
    distinct_names,
    holds_run,
    open_run,
    run_folders,
    user_label,
    without_twins,
    worst_clients,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fedmgda.experiments import (
        ClientLine,
        ClientResult,
        EvaluationRow,
        RoundRow,
        Run,
        RunState,
        Summary,
        TimingRow,
        Verdict,
    )

__all__ = ["Group", "RunView", "Source", "read_source"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunView:
    """One run, as far as it can be read.

    Attributes:
        run: The run itself.
        label: What it is called, whatever its seed.
        state: Where it stands.
        rounds: Its rounds; none where they cannot be read.
        evaluations: Likewise.
        clients: Likewise.
        timings: Likewise.
        summary: What it is remembered by; None while it is not finished, or cannot be read.
        verdict: What became of it; None before the first evaluation, or if it cannot be read.
        lines: Every client with how sure its scores are.
        users: Who the clients are; None where that cannot be told.
        malicious: The clients that attack.
        apart: Whether another seed on the page has other users: then a user has the seed in its
            name, and nothing is said of it over seeds.
        problems: A sentence for everything that is broken.
    """

    run: Run
    label: str
    state: RunState
    rounds: tuple[RoundRow, ...] = ()
    evaluations: tuple[EvaluationRow, ...] = ()
    clients: tuple[ClientResult, ...] = ()
    timings: tuple[TimingRow, ...] = ()
    summary: Summary | None = None
    verdict: Verdict | None = None
    lines: tuple[ClientLine, ...] = ()
    users: tuple[str, ...] | None = None
    malicious: tuple[int, ...] = ()
    apart: bool = False
    problems: tuple[str, ...] = ()

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.run.spec.seed

    @property
    def baseline(self) -> bool:
        """Whether it is what federations are held against, and none itself."""
        return self.run.spec.baseline is not None

    def user_name(self, client_id: int) -> str:
        """Return what a client is called: one name, one user, on the whole page."""
        found = self.clients[client_id].name if client_id < len(self.clients) else None
        return user_label(found or f"client {client_id}", self.seed if self.apart else None)


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
    views = [_view(name, run) for name, run in zip(distinct_names(runs), runs, strict=True)]
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


def _view(label: str, run: Run) -> RunView:
    """Read every part of a run; what cannot be read becomes a sentence."""
    problems = list[str]()

    def part(read: Callable[[], T], otherwise: T) -> T:
        try:
            return read()
        except FedmgdaError as error:
            problems.append(f"{error} (fedmgda verify {run.path} tells more.)")
            return otherwise

    view = RunView(run=run, label=label, state=run.state)
    if not run.begun:
        return view
    evaluations: tuple[EvaluationRow, ...] = part(lambda: run.evaluations, ())
    clients: tuple[ClientResult, ...] = part(lambda: run.clients, ()) if evaluations else ()
    summary = part(lambda: run.summary, None) if run.finished else None
    return replace(
        view,
        rounds=part(lambda: run.rounds, ()),
        evaluations=evaluations,
        clients=clients,
        timings=part(lambda: run.timings, ()),
        summary=summary,
        verdict=part(lambda: run.verdict, None) if evaluations else None,
        lines=part(lambda: tuple(worst_clients(run, len(clients))), ()) if clients else (),
        users=part(lambda: run.users, None) if clients else None,
        malicious=part(lambda: run.attackers, ()) if clients else (),
        problems=tuple(dict.fromkeys(problems)),
    )
