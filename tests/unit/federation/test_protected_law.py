"""The law of a protected round, over federations drawn to break it.

In every round either the model stays as it is, to the byte, or no participant's loss is higher
after it, exactly, but for as many as `allow` says. Clients may be few or more than parameters, flat
or steep, noisy, malicious, mad, or gone between two questions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from cohorts import RULES
from fedmgda import Cohort
from fedmgda.federation import (
    Constant,
    Federation,
    Protection,
    UniformSampler,
    initial_state,
    run_round,
)
from fedmgda.rules import FedAvg
from fedmgda.values import Evaluation, Failure
from promise import Ledger, assert_kept

ROUNDS = 4
LIES = {
    "backwards": {"update": -5.0},
    "enormous": {"update": 1e30},
    "oppose-gradient": {"gradient": -1.0},
    "steep": {"gradient": 1e20},
    "no gradient": {"gradient": 0.0},
    "veto": {"after": np.inf},
    "veto by a hair": {"after": 1.0 + 2.0**-52},
    "praise": {"after": 0.0},
    "boast": {"before": 10.0},
    "doubt": {"before": 0.0},
}
"""What a client makes of its update, its gradient and its losses, as factors."""


@dataclass(frozen=True)
class Hills:
    """f_i(w, b) = 1 + c_i (½‖w - a_i‖² + bumps) + ½‖b - e_i‖², over n clients.

    c_i may be 0, where a client is indifferent, or large. The float buffers b count as well: who
    moves them can make somebody worse off.
    """

    anchors: Any
    steepness: Any
    buffers: Any
    bumps: float

    def losses(self, params, client_ids):
        ids = list(client_ids)
        d = self.anchors.shape[1]
        away, moved = self._away(params, ids), params[d:].astype(float) - self.buffers[ids]
        hill = 0.5 * (away**2).sum(axis=1) + self.bumps * (1.0 - np.cos(7.0 * away)).sum(axis=1)
        return 1.0 + self.steepness[ids] * hill + 0.5 * (moved**2).sum(axis=1)

    def gradients(self, params, client_ids):
        away = self._away(params, ids := list(client_ids))
        return self.steepness[ids, None] * (away + 7.0 * self.bumps * np.sin(7.0 * away))

    def _away(self, params, ids):
        return params[: self.anchors.shape[1]].astype(float) - self.anchors[ids]


@dataclass(frozen=True)
class Village:
    """Clients on hills who train with noise and momentum, and who may lie, fail or go."""

    hills: Hills
    lies: tuple[str | None, ...]
    faults: float
    seed: int
    ledger: Ledger

    @np.errstate(all="ignore")
    def train(self, params, client_ids, round_num):
        rng = np.random.default_rng((self.seed, round_num))
        ids = [client for client in client_ids if rng.random() >= self.faults / 2]
        n, d = len(ids), self.hills.anchors.shape[1]
        local, velocity = np.tile(params[:d].astype(float), (n, 1)), 0.0
        for _ in range(3):
            noise = rng.normal(size=(n, d))
            slopes = [self.hills.gradients(at, [i])[0] for at, i in zip(local, ids, strict=True)]
            velocity = 0.5 * velocity + np.reshape(slopes, (n, d)) + noise
            local = local - 0.1 * velocity
        before = self._factor("before", ids) * self.hills.losses(params, ids)
        gradients = self._factor("gradient", ids)[:, None] * self.hills.gradients(params, ids)
        updates = self._factor("update", ids)[:, None] * (params[:d] - local)
        for part in (before, gradients, updates):
            part[rng.random(n) < self.faults] = rng.choice([np.nan, np.inf])
        self.ledger.note(params, ids, before)
        drift = params[d:].astype(float) - self.hills.buffers[ids]
        return Cohort(
            client_ids=ids,
            updates=updates.astype(params.dtype),
            num_examples=1.0 + np.array(ids),
            losses=self.hills.losses(params, ids),
            gradients=gradients.astype(params.dtype),
            before=before,
            buffers=drift.astype(params.dtype) if drift.shape[1] else None,
        )

    @np.errstate(all="ignore")
    def tell(self, models, client_ids):
        """Say what the losses of some models are: wrongly, not at all, or not by everybody."""
        rng = np.random.default_rng((self.seed, len(self.ledger.words)))
        gone = [i for i in client_ids if rng.random() < self.faults / 4]
        here = [i for i in client_ids if i not in gone or rng.random() < 0.5]
        told = np.array([self.hills.losses(model, here) for model in models])
        factor = self._factor("after", here)
        told = np.where(factor == 0.0, 0.0, factor * told)  # who praises praises anything
        told[rng.random(told.shape) < self.faults / 4] = rng.choice([np.nan, np.inf, -np.inf])
        for model, losses in zip(models, told, strict=True):
            self.ledger.note(model, here, losses)
            self.ledger.note(model, gone, np.full(len(gone), np.nan))
        return Evaluation(
            client_ids=tuple(here),
            losses=told,
            accuracies=np.full_like(told, np.nan),
            num_examples=np.ones(len(here)),
            failures=tuple(Failure(client_id=i, reason="gone") for i in gone if i in here),
        )

    def honest(self, client):
        lie = LIES.get(self.lies[client] or "", {})
        return not {"before", "after"} & lie.keys()

    def _factor(self, what, ids):
        return np.array([LIES.get(self.lies[i] or "", {}).get(what, 1.0) for i in ids])


def village_of(rng, seed):
    """Draw who lives here: mostly common folk, of whom some agree and some do not."""
    n, d = rng.choice([1, 2, 4, 7, 12]), rng.integers(1, 7)
    steepness = [[1.0], [1.0, 1.0, 0.0], [1.0, 1e3], [0.0]][rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])]
    hills = Hills(
        anchors=rng.normal(size=(n, d)) + rng.choice([0.0, 3.0]),
        steepness=rng.choice(steepness, size=n),
        buffers=rng.normal(size=(n, rng.choice([0, 0, 2]))),
        bumps=rng.choice([0.0, 0.3, 3.0]),
    )
    liars = rng.choice([0.0, 0.0, 0.2])
    lies = tuple(str(rng.choice(list(LIES))) if rng.random() < liars else None for _ in range(n))
    return Village(hills, lies, float(rng.choice([0.0, 0.0, 0.2])), seed, Ledger())


def federation_of(village, rule, rng):
    """Draw how it is governed."""
    n = len(village.lies)
    return Federation(
        train_cohort=village.train,
        rule=replace(rule, average_iterates=False) if rule.average_iterates else rule,
        sampler=UniformSampler(num_clients=n, per_round=int(rng.integers((n + 1) // 2, n + 1))),
        num_clients=n,
        schedule=Constant(server_lr=float(rng.choice([0.01, 0.3, 1.0, 3.0, 30.0, 1e6]))),
        seed=village.seed,
        num_buffers=village.hills.buffers.shape[1],
        protection=Protection(
            allow=int(rng.choice([0, 0, 0, 1, 2])),
            margin=float(rng.choice([0.0, 0.5, 0.9, 0.9, 1.0])),
            trials=int(rng.choice([1, 5, 12, 12])),
        ),
        losses=village.tell,
        trials_at_once=int(rng.choice([1, 1, 4])),
    )


def drawn_federation(seed, rule):
    rng = np.random.default_rng((seed, 1))
    village = village_of(rng, seed)
    return village, federation_of(village, rule, rng)


def start(village, federation):
    rng = np.random.default_rng(village.seed)
    d = village.hills.anchors.shape[1] + federation.num_buffers
    return initial_state(federation, rng.normal(size=d).astype(np.float32))


def carry_out(village, federation):
    """Yield the server before and after each of a few rounds, with the record."""
    server = start(village, federation)
    for _ in range(ROUNDS):
        before = replace(server, params=server.params.copy())
        server, record = run_round(federation, server)
        yield before, server, record


def assert_buffers_follow(before, after, record, num_buffers):
    """Check that the float buffers moved as far as the parameters did, or stayed."""
    if num_buffers and not (record.failed or record.protected.held):
        moved = (before.params - after.params)[-num_buffers:]
        whole = record.cohort.buffers.mean(axis=0)
        scale = 0.0 if record.protected.buffers_stayed else record.protected.scale
        np.testing.assert_allclose(moved, scale * whole, atol=1e-6)


def assert_law(village, federation):
    """Hold every round against what was said, and against what is true."""
    for before, after, record in carry_out(village, federation):
        ids = record.cohort.client_ids
        said = village.ledger.of(before.params, ids), village.ledger.of(after.params, ids)
        worse = assert_kept(before, after, record, federation.protection, said)
        with np.errstate(all="ignore"):
            truth = [village.hills.losses(server.params, ids) for server in (before, after)]
        for client, f, g in zip(ids, *truth, strict=True):
            assert g <= f or client in worse or not village.honest(client)
        assert np.isfinite(after.params).all()
        assert_buffers_follow(before, after, record, federation.num_buffers)


every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@every_rule
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_nobody_who_takes_part_is_worse_off_after_any_round(rule, seed):
    assert_law(*drawn_federation(seed, rule))


@pytest.mark.slow
@every_rule
@settings(max_examples=1500)
@given(seed=st.integers(0, 2**32))
def test_nobody_is_worse_off_in_thousands_of_federations(rule, seed):
    assert_law(*drawn_federation(seed, rule))


def test_without_protection_the_law_is_broken():
    broken = 0
    for seed in range(30):
        village, federation = drawn_federation(seed, FedAvg())
        village = replace(village, faults=0.0)
        federation = replace(federation, train_cohort=village.train, protection=None)
        for before, after, record in carry_out(village, federation):
            ids = record.cohort.client_ids
            with np.errstate(all="ignore"):
                f, g = (village.hills.losses(server.params, ids) for server in (before, after))
            broken += not (g <= f).all()
    assert broken >= 30


def moved_rounds():
    """Yield rounds in which nobody lies and a step was made, with what was said."""
    for seed in range(60):
        village, federation = drawn_federation(seed, FedAvg())
        for before, after, record in carry_out(village, federation):
            if not (any(village.lies) or record.failed or record.protected.held):
                ids = record.cohort.client_ids
                said = [village.ledger.of(server.params, ids) for server in (before, after)]
                yield before, after, record, federation.protection, said


def test_the_law_can_be_broken_by_the_last_bit_of_one_loss():
    for before, after, record, protection, (f, g) in islice(moved_rounds(), 20):
        assert_kept(before, after, record, protection, (f, g))
        hair = np.nextafter(f, np.inf)
        told = replace(record, protected=replace(record.protected, after=hair))
        with pytest.raises(AssertionError):
            assert_kept(before, after, told, replace(protection, allow=0), (f, hair))


def test_the_law_can_be_broken_by_the_last_bit_of_a_held_model():
    for before, after, record, protection, said in islice(moved_rounds(), 20):
        held = replace(record, protected=replace(record.protected, scale=None))
        with pytest.raises(AssertionError):
            assert_kept(before, after, held, protection, said)
        assert_kept(before, before, held, protection, said)
