"""Rounds with bad clients, drawn from a number, and the law that they are held against.

Whoever is honest is kept, the model stays finite, and where what was sent can be told from what is
true the round is that without whoever sent it: the same model, λ and memory of the rule, to the
byte.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cohorts import RULES
from fedmgda import Cohort
from fedmgda.federation import Constant, Federation, Protection, initial_state, run_round
from fedmgda.rules import Rule
from fedmgda.values import DenseUpdates, Evaluation, Failure, Weighing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CLIENTS = 8
ROUND = 3
KEPT = ("duplicate reply", "reply to round", "not asked in this round")
"""What may be said of an honest client: of a second reply under its name."""


@dataclass(frozen=True)
class Median(Rule):
    """A user's own rule that forms its direction itself."""

    needs_rows: ClassVar[bool] = True

    def weigh(self, cohort, state, _round_num):
        lam = np.full(len(cohort.client_ids), 1 / len(cohort.client_ids))
        middle = np.median(cohort.updates.rows, axis=0)
        return Weighing(weights=lam, lam=lam, direction=middle), state


@dataclass(frozen=True)
class SeldomHeard(Rule):
    """A user's own rule that remembers who was heard, and weighs by losses and by that."""

    reads_losses: ClassVar[bool] = True

    def init(self, num_clients):
        return {"heard": np.zeros(num_clients)}

    def weigh(self, cohort, state, _round_num):
        ids, heard = list(cohort.client_ids), state["heard"].copy()
        lam = (1.0 + np.minimum(cohort.losses, 1.0)) / (1.0 + heard[ids])
        lam /= lam.sum()
        heard[ids] += 1.0
        return Weighing(weights=lam, lam=lam), {"heard": heard}


ALL_RULES = {**RULES, "a median": Median(), "a memory": SeldomHeard()}


@dataclass(frozen=True)
class Sent:
    """What a client sends if it is honest; `vote` is its loss as a function of a model."""

    update: Any
    num_examples: float
    loss: float
    buffers: Any
    gradient: Any
    vote: Callable[[Any], float]


@dataclass(frozen=True)
class Case:
    """A round.

    Attributes:
        seed: What makes it again.
        rule: The name of the rule.
        params: w_t and the float buffers.
        asked: Who takes part.
        bad: What each bad client does.
        between: Who is honest in the first exchange of a protected round, and bad in the second.
        sent: What everybody would truly send.
    """

    seed: int
    rule: str
    protection: Protection | None
    params: Any = field(repr=False)
    num_buffers: int
    asked: tuple[int, ...]
    bad: dict[int, str]
    between: dict[int, str]
    sent: dict[int, Sent] = field(repr=False)

    @property
    def honest(self):
        return tuple(client for client in self.asked if client not in self.bad)

    def rng(self, what):
        """Return a stream of its own for a part of the round."""
        return np.random.default_rng((self.seed, *map(ord, what)))


def draw(seed, kinds, votes, *, dtypes=(np.float32, np.float64), d=None, allowed=True, buffers=2):
    """Draw a round.

    Args:
        seed: The number.
        kinds: What a bad client can do.
        votes: What one can do between the exchanges of a protected round.
        dtypes: Of the model.
        d: The number of parameters; None draws it.
        allowed: Whether rounds may be protected.
        buffers: How many float buffers there are, if any.
    """
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12)) if d is None else d
    dtype = dtypes[rng.integers(len(dtypes))]
    asked = tuple(sorted(rng.permutation(CLIENTS)[: rng.integers(2, CLIENTS + 1)].tolist()))
    number = int(rng.integers(1, len(asked) + (rng.random() < 0.05)))
    bad = {i: str(rng.choice(sorted(kinds))) for i in rng.permutation(asked)[:number].tolist()}
    rule = sorted(ALL_RULES)[rng.integers(len(ALL_RULES))]
    protection, between = None, {}
    if allowed and rng.random() < 0.4 and not ALL_RULES[rule].average_iterates:
        protection = Protection(allow=int(rng.integers(0, 3)), trials=6)
        left = [client for client in asked if client not in bad]
        between = {i: str(rng.choice(sorted(votes))) for i in left if rng.random() < 0.2}
    width = buffers * bool(rng.random() < 0.3)
    params = rng.normal(size=d + width).astype(dtype)
    return Case(
        seed=seed, rule=rule, protection=protection, params=params, num_buffers=width,
        asked=asked, bad=bad, between=between, sent=_crowd(rng, params, d, asked),
    )  # fmt: skip


def _crowd(rng, params, d, asked):
    """Draw honest clients on quadratics: near and far, flat, steep, alike, opposed, tiny, vast."""
    start = params[:d].astype(float)
    anchors = rng.normal(size=(CLIENTS, d)) + rng.choice([0.0, 3.0])
    if rng.random() < 0.2:
        anchors[1::2] = anchors[0]
    if rng.random() < 0.2:
        anchors[-1] = 2 * start - anchors[0]
    if rng.random() < 0.1:
        anchors[0] = start
    steep = rng.choice([[1.0] * 3, [1.0, 0.0, 1e3], [1.0, 1e-3, 1e-12]][rng.integers(3)], CLIENTS)
    scale = rng.choice([[1.0] * 3, [1.0, 1e-6, 1e6], [1.0, 1e-42, 1e15]][rng.integers(3)], CLIENTS)
    noise = rng.choice([0.0, 0.3]) * rng.normal(size=(CLIENTS, d))
    moved = rng.normal(size=(CLIENTS, len(params) - d))
    found = {}
    for i in asked:
        gradient = steep[i] * (start - anchors[i])

        def vote(model, i=i):
            return 1.0 + 0.5 * steep[i] * float(((model[:d] - anchors[i]) ** 2).sum())

        found[i] = Sent(
            update=(scale[i] * (0.1 * gradient + noise[i])).astype(params.dtype),
            num_examples=float(rng.integers(1, 1000)),
            loss=vote(params),
            buffers=moved[i].astype(params.dtype),
            gradient=gradient.astype(params.dtype),
            vote=vote,
        )
    return found


# The round as it should be


def plain_rows(case, clients):
    """Return the cohort of some clients, all of whom are honest."""
    sent = [case.sent[client] for client in clients]
    d = len(case.params) - case.num_buffers
    dtype = case.params.dtype
    rows = np.array([one.update for one in sent], dtype).reshape(-1, d)
    more = {}
    if case.num_buffers:
        moved = np.array([one.buffers for one in sent], dtype)
        more["buffers"] = moved.reshape(-1, case.num_buffers)
    if case.protection is not None:
        slopes = np.array([one.gradient for one in sent], dtype).reshape(-1, d)
        more["gradients"] = DenseUpdates(slopes)
        more["before"] = np.array([one.vote(case.params) for one in sent])
    return Cohort(
        client_ids=clients,
        updates=rows,
        num_examples=np.array([one.num_examples for one in sent]),
        losses=np.array([one.loss for one in sent]),
        **more,
    )


def plain_votes(case, models, clients):
    """Return what clients say of some models; whoever goes between the exchanges opposes all."""
    told = [
        [np.inf if i in case.between else case.sent[i].vote(model) for i in clients]
        for model in models
    ]
    return votes_of(np.reshape(told, (len(models), len(clients))), clients)


def votes_of(losses, clients, failures=()):
    return Evaluation(
        client_ids=tuple(clients),
        losses=losses,
        accuracies=np.full(np.shape(losses), np.nan),
        num_examples=np.ones(len(clients)),
        failures=tuple(failures),
    )


def made(case, asked, train, losses):
    """Make the round; return the server before it, after it, and the record."""
    federation = Federation(
        train_cohort=train,
        rule=ALL_RULES[case.rule],
        sampler=lambda _: asked,
        num_clients=CLIENTS,
        schedule=Constant(server_lr=0.7),
        num_buffers=case.num_buffers,
        protection=case.protection,
        losses=losses,
    )
    server = replace(initial_state(federation, case.params), round_num=ROUND - 1)
    return server, *run_round(federation, server)


# The law


def check(case, train, losses, lies=frozenset()):
    """Make a round with its bad clients, and hold it against the one without them.

    Args:
        case: The round.
        train: What comes back, as a function of the model, the clients and the round.
        losses: What comes back from the second exchange of a protected round.
        lies: Of what bad clients do, what cannot be told from the truth; then only the promise
            that is left is checked: a finite model, everybody honest among the rows.
    """
    try:
        before, after, record = made(case, case.asked, train, losses)
        _check_kept(case, after, record)
        if not lies & {*case.bad.values(), *case.between.values()}:
            _check_equal(case, before, after, record)
    except Exception as error:
        error.add_note(f"in the round of seed {case.seed}: {case}")
        raise


def _check_kept(case, after, record):
    """Hold that the model is finite, that everybody honest counts, and that no loss rose."""
    assert np.isfinite(after.params).all()
    assert after.average is None or np.isfinite(after.average).all()
    assert set(case.honest) <= set(record.cohort.client_ids)
    row = {client: place for place, client in enumerate(record.cohort.client_ids)}
    for i in case.honest:
        place, sent = row[i], case.sent[i]
        assert record.cohort.updates.rows[place].tobytes() == sent.update.tobytes()
        assert record.cohort.num_examples[place] == sent.num_examples
        assert record.cohort.losses[place] == sent.loss
    spoken = [f.reason for f in record.quarantined if f.client_id in case.honest]
    assert all(reason.startswith(KEPT) for reason in spoken), spoken
    counted = set(record.cohort.client_ids) | {f.client_id for f in record.quarantined}
    assert set(case.asked) <= counted
    if case.protection is not None and after.params.tobytes() != case.params.tobytes():
        worse = [
            i for i in case.honest
            if i not in case.between
            and not case.sent[i].vote(after.params) <= case.sent[i].vote(case.params)
        ]  # fmt: skip
        assert len(worse) <= case.protection.allow


def _check_equal(case, before, after, record):
    """Hold that the round is that without the bad clients."""

    def train(params, clients, round_num):
        return plain_rows(case, clients)

    def losses(models, clients):
        return plain_votes(case, models, clients)

    _, expected, reference = made(case, case.honest, train, losses)
    assert record.cohort.client_ids == case.honest
    assert same(after, expected), (record.failed, reference.failed)
    assert record.failed == reference.failed
    if reference.aggregate is not None:
        ours, theirs = record.aggregate, reference.aggregate
        assert ours.lam.tobytes() == theirs.lam.tobytes()
        assert ours.direction.tobytes() == theirs.direction.tobytes()
        assert (ours.sacrificed, ours.stalled) == (theirs.sacrificed, theirs.stalled)
    if reference.protected is not None:
        assert record.protected.held == reference.protected.held
        assert record.protected.opposed == reference.protected.opposed


def same(one, other):
    """Tell whether two servers are alike to the byte."""

    def parts(server):
        state = {name: array.tobytes() for name, array in server.rule_state.items()}
        average = None if server.average is None else server.average.tobytes()
        counts = server.round_num, server.failed_rounds, server.held_rounds
        return server.params.tobytes(), average, state, counts

    return parts(one) == parts(other)


def survived(cases: Iterable[int], one: Callable[[int], None]):
    """Carry out cases by their numbers; return what makes the first few failing ones again."""
    broken = []
    for seed in cases:
        try:
            one(seed)
        except Exception as error:  # noqa: BLE001 - each is a finding, told with its number
            notes = " ".join(getattr(error, "__notes__", ()))
            last = traceback.extract_tb(error.__traceback__)[-1]
            broken.append(f"{type(error).__name__}: {error} at {last.name}:{last.lineno} {notes}")
            if len(broken) == 3:
                break
    return broken


# What can be done to a cohort that the engine's own pool brings


def _row(**changes):
    def spoil(rows, place, rng):
        for name, value in changes.items():
            array = rows[name]
            if array is None:
                array, value = rows["updates"], np.nan  # noqa: PLW2901
            where = (place, rng.integers(array.shape[1])) if array.ndim == 2 else place
            array[where] = value

    return spoil


SPOILT = {
    "NaN": _row(updates=np.nan),
    "Inf": _row(updates=np.inf),
    "-Inf": _row(updates=-np.inf),
    "no examples": _row(num_examples=0.0),
    "fewer than none": _row(num_examples=-3.0),
    "NaN examples": _row(num_examples=np.nan),
    "absurd examples": _row(num_examples=1e30),
    "endless examples": _row(num_examples=np.inf),
    "NaN loss": _row(losses=np.nan),
    "endless loss": _row(losses=np.inf),
    "negative loss": _row(losses=-1e-300),
    "NaN buffers": _row(buffers=np.nan),
    "Inf buffers": _row(buffers=-np.inf),
    "NaN gradient": _row(gradients=np.nan),
    "Inf gradient": _row(gradients=np.inf),
    "NaN before": _row(before=np.nan),
    "negative before": _row(before=-2.0),
    "all of it": _row(updates=np.inf, losses=np.nan, num_examples=-1.0),
}
"""Beside a part that a round has not, the update is spoilt."""

LIES = {
    "huge": _row(updates=3e38),
    "denormal": _row(updates=1e-45),
    "half an example": _row(num_examples=0.5),
    "most examples": _row(num_examples=1e12),
    "huge loss": _row(losses=1e308),
}
"""What is a number like any other."""

ABSENT = ("raises", "silent", "stranger instead")
AGAIN = ("comes again and again", "replays another")
ROW_KINDS = {*SPOILT, *LIES, *ABSENT, *AGAIN}

VOTES = {
    "NaN": lambda _: np.nan,
    "Inf": lambda _: np.inf,
    "-Inf": lambda _: -np.inf,
    "risen by a hair": lambda before: np.nextafter(before, np.inf),
    "huge": lambda _: 1e308,
    "gone": None,
    "failed": None,
}
"""What is said of a step, by the loss before it; all of it is the same as a veto."""


PARTS = ("updates", "num_examples", "losses", "buffers", "gradients", "before")


def rows_of(case):
    """Return how a pool answers with the rows of a case, bad ones among them at their places."""

    def train(params, clients, round_num):
        assert params.tobytes() == case.params.tobytes()
        params[:] = np.nan  # a copy, whatever is done to it
        rng, cohort = case.rng("train"), plain_rows(case, clients)
        given = {name: getattr(cohort, name) for name in PARTS}
        rows = {name: None if part is None else np.array(part) for name, part in given.items()}
        spoilt = {**SPOILT, **LIES}
        for place, client in enumerate(clients):
            if case.bad.get(client) in spoilt:
                spoilt[case.bad[client]](rows, place, rng)
        ids, order = _listed(case, clients, rows, rng)
        more = {name: None if part is None else part[order] for name, part in rows.items()}
        slopes = more.pop("gradients")
        raised = [client for client, kind in case.bad.items() if kind == "raises"]
        return Cohort(
            client_ids=ids,
            failures=[Failure(client_id=i, reason="ValueError: no") for i in raised],
            gradients=None if slopes is None else DenseUpdates(slopes),
            **more,
        )

    return train


def _listed(case, clients, rows, rng):
    """Return under which ids which rows come, the bad ones with more or fewer than one."""
    pairs = [(i, place) for place, i in enumerate(clients) if case.bad.get(i) not in ABSENT]
    for place, client in enumerate(clients):
        kind = case.bad.get(client)
        if kind == "stranger instead":
            pairs.append((CLIENTS + client, place))
        if kind in AGAIN:
            rows["updates"][place, 0] = np.nan
            pairs += [(client, place)] * 2
        if kind == "replays another":
            pairs.append((int(rng.choice(case.honest or [client])), 0))
    return [client for client, _ in pairs], [place for _, place in pairs]


def spoilt_votes(case):
    """Return how a pool answers when a step is tried, with what is bad between the exchanges."""

    def losses(models, clients):
        here = [i for i in clients if case.between.get(i) != "gone"]
        told = np.array([[_vote(case, i, model) for i in here] for model in models])
        failed = [i for i in here if case.between.get(i) == "failed"]
        failures = [Failure(client_id=i, reason="OSError: gone") for i in failed]
        return votes_of(told.reshape(len(models), len(here)), here, failures)

    return losses


def _vote(case, client, model):
    said, vote = VOTES.get(case.between.get(client)), case.sent[client].vote
    return vote(model) if said is None else said(vote(case.params))
