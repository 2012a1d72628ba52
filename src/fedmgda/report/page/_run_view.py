"""One run as a page has it: each part read apart, so that one that is broken is told.

Nothing else of the page reads a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar, final

from fedmgda._errors import FedmgdaError
from fedmgda.experiments import recorded_clients, user_label, worst_clients

if TYPE_CHECKING:
    from collections.abc import Callable

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

__all__ = ["CLIENTS", "EVALUATIONS", "ROUNDS", "TIMINGS", "RunView", "read_view"]

T = TypeVar("T")

# The parts of a run that can be missing.
ROUNDS, EVALUATIONS, CLIENTS, TIMINGS = "rounds", "evaluations", "clients", "timings"
_OTHER = "other"  # what no section of a page is made from alone


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
        unread: The parts that are there, and could not be read.
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
    unread: frozenset[str] = frozenset()

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.run.spec.seed

    @property
    def attacked(self) -> bool:
        """Whether the spec has clients attack."""
        return self.run.spec.attack.name not in {None, "none"} and not self.baseline

    @property
    def baseline(self) -> bool:
        """Whether it is what federations are held against, and none itself."""
        return self.run.spec.baseline is not None

    def user_name(self, client_id: int) -> str:
        """Return what a client is called: one name, one user, on the whole page."""
        found = self.clients[client_id].name if client_id < len(self.clients) else None
        return user_label(found or f"client {client_id}", self.seed if self.apart else None)


def read_view(label: str, run: Run) -> RunView:
    """Read every part of a run; what cannot be read becomes a sentence."""
    parts = _Parts(run)
    view = RunView(run=run, label=label, state=run.state)
    # A run that goes on writes a round before its evaluation: so it is read the other way round.
    evaluations: tuple[EvaluationRow, ...] = ()
    if run.begun:
        evaluations = parts.read(EVALUATIONS, lambda: run.evaluations, ())
    rounds: tuple[RoundRow, ...] = parts.read(ROUNDS, lambda: run.rounds, ())
    if not (run.begun or rounds or parts.problems):
        return view
    parts.look_for_lost(rounds, evaluations)
    view = replace(
        view,
        rounds=rounds,
        evaluations=evaluations,
        timings=parts.read(TIMINGS, lambda: run.timings, ()),
    )
    if evaluations or run.finished:
        view = _with_results(view, parts)
    parts.check_files()
    return replace(
        view, problems=tuple(dict.fromkeys(parts.problems)), unread=frozenset(parts.unread)
    )


@final
@dataclass(frozen=True, slots=True)
class _Parts:
    """What was found to be broken while a run was read."""

    run: Run
    problems: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    def read(self, name: str, read: Callable[[], T], otherwise: T) -> T:
        """Return a part, or something else where it is broken."""
        try:
            return read()
        except FedmgdaError as error:
            self.lost(name, f"{error} (fedmgda verify {self.run.path} tells more.)")
            return otherwise

    def lost(self, name: str, sentence: str) -> None:
        """Keep what is broken."""
        self.problems.append(sentence)
        self.unread.add(name)

    def look_for_lost(
        self, rounds: tuple[RoundRow, ...], evaluations: tuple[EvaluationRow, ...]
    ) -> None:
        """Find records that were there once, as others tell."""
        if self.unread or self.run.spec.baseline == "alone":
            return
        again = "or delete the folder and run again."
        last = evaluations[-1].round_num if evaluations else 0
        if rounds and not evaluations:
            told = f"{self.run.path} has {len(rounds)} rounds and no evaluation"
            self.lost(EVALUATIONS, f"{told}; restore its evaluations.jsonl, {again}")
        elif last > len(rounds):
            told = f"{self.run.path} has {len(rounds)} rounds, and round {last} was evaluated"
            self.lost(ROUNDS, f"{told}; restore its rounds.jsonl, {again}")

    def check_files(self) -> None:
        """Find results that are damaged, though the page does without them."""
        files: tuple[str, ...] = self.read(_OTHER, lambda: self.run.result_files, ())
        for name in files:
            if not any(name in said for said in self.problems):
                self.read(_OTHER, partial(self.run.check_file, name), None)


def _with_results(view: RunView, parts: _Parts) -> RunView:
    """Read what became of the run, and of its users."""
    run = view.run
    summary = parts.read(_OTHER, lambda: run.summary, None) if run.finished else None
    clients: tuple[ClientResult, ...] = parts.read(CLIENTS, lambda: run.clients, ())
    view = replace(view, summary=summary, clients=clients)
    # The names of clients are known once a run is finished, their numbers always.
    named = any(isinstance(client, str) for client in run.spec.attack.clients or ())
    if run.finished or not named:
        view = replace(view, verdict=parts.read(_OTHER, lambda: run.verdict, None))
    if clients and (run.finished or not named):
        view = replace(view, malicious=parts.read(CLIENTS, lambda: run.attackers, ()))
    if not clients:
        return view
    recorded = tuple(recorded_clients(run))
    return replace(
        view,
        lines=parts.read(_OTHER, lambda: tuple(worst_clients(run, len(clients))), recorded),
        users=parts.read(_OTHER, lambda: run.users, None),
    )
