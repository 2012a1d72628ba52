"""The law of a protected round in whole runs: real models, real training, real clients.

What the clients say is written down as they say it; what is true is measured afterwards, by clients
that nobody falsifies. Dropout, batch norm, momentum, the proximal term, every preset and every
attack take part, and clients that fail, send NaN or go between two questions.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedmgda._errors import FederationStalledError
from fedmgda.attacks import ATTACKS
from fedmgda.experiments import RunFolder, execute, open_run
from fedmgda.experiments._build import build_pool
from fedmgda.experiments._build_data import build_data
from fedmgda.rules import PRESETS
from fedmgda.values import Failure, WrappedClients
from runs import small_spec

ROUNDS = 4
LYING = ("veto", "oppose-gradient")  # about their losses, too
MODELS = (
    {"hidden": [3]},
    {"name": "logistic"},
    {"name": "batch_norm:model"},
    {"name": "batch_norm:with_dropout"},
)


class Witness(WrappedClients):
    """Clients of whom some may be ill; remembers the model of every round.

    Attributes:
        models: By round, w_t as the clients received it; the last one is the model of the run.
    """

    def __init__(self, inner, seed, illness):
        super().__init__(inner)
        self.models = {}
        self._rng, self._illness = np.random.default_rng(seed), illness

    def train_cohort(self, params, client_ids, round_num, *, gradients=False, known=None):
        self.models[round_num] = params.copy()
        cohort = super().train_cohort(
            params, client_ids, round_num, gradients=gradients, known=known
        )
        parts = {
            "updates": np.array(cohort.updates),
            "gradients": np.array(cohort.gradients),
            "before": np.array(cohort.before),
        }
        for part in parts.values():
            part[self._ill(len(part))] = self._rng.choice([np.nan, np.inf])
        here = ~self._ill(len(cohort.client_ids))
        return replace(cohort, **parts).select(here)

    def evaluate(self, params, client_ids, split, *, predictions=False):
        found = super().evaluate(params, client_ids, split, predictions=predictions)
        if split != "train":
            self.models[ROUNDS + 1] = params.copy()
            return found
        losses = np.array(found.losses)
        gone = self._ill(len(client_ids))
        losses[..., gone] = np.nan
        ids = np.array(found.client_ids)[gone].tolist()
        failures = tuple(Failure(client_id=client, reason="gone") for client in ids)
        return replace(found, losses=losses, failures=found.failures + failures)

    def _ill(self, count):
        return self._rng.random(count) < self._illness


def drawn_spec(seed):
    """Return a small run in which anything may come together."""
    rng = np.random.default_rng(seed)

    def one_of(*values):
        return values[rng.integers(len(values))]

    clients = {
        "per_round": one_of(1, 3, 5),
        "batch_size": one_of(10, "full"),
        "local_epochs": one_of(1, 2),
        "momentum": one_of(None, 0.9),
        "mu": one_of(None, 1.0),
        "path": one_of("auto", "torch"),
    }
    name, attack = one_of(*PRESETS), one_of("none", *ATTACKS)
    malicious = {"clients": one_of([0], [1, 4]), "always_on": False}
    return small_spec(
        rounds=ROUNDS,
        seed=seed,
        data={"num_clients": 5},
        model=one_of(*MODELS),
        clients={key: value for key, value in clients.items() if value is not None},
        rule={"name": name} | ({"average_iterates": False} if name == "afl" else {}),
        server={
            "lr": one_of(0.1, 1.0, 20.0),
            "protect": {
                "allow": min(one_of(0, 0, 1, 2), clients["per_round"] - 1),
                "margin": one_of(0.0, 0.9, 0.9),
            },
        },
        attack={"name": attack} | ({} if attack == "none" else malicious),
        evaluation={"every": ROUNDS},
    )


def assert_law(record, models, allow, truth, liars):
    """Hold a round against the law, by the record, by the models themselves and by the truth.

    Args:
        record: Of the round.
        models: w_t and w_{t+1}.
        allow: How many may be worse off.
        truth: For a model and clients, what their training losses are.
        liars: Whose losses may be other than they say.
    """
    before, after = models
    unchanged = before.tobytes() == after.tobytes()
    if record.failed or record.held:
        assert unchanged
        return
    ids, said = record.client_ids, record.protection
    worse = tuple(i for i, f, g in zip(ids, said.before, said.after, strict=True) if not g <= f)
    assert not unchanged
    assert len(worse) <= allow
    assert tuple(said.opposed[-1]) == worse
    for row, client in enumerate(ids):
        if client not in liars:
            f, g = (truth(model, (client,))[0] for model in models)
            assert said.before[row] == f
            assert said.after[row] == g or np.isnan(said.after[row])  # who went said nothing
            assert g <= f or client in worse


def check(spec, illness):
    """Carry a run out, and check every round of it; return its rows."""
    with TemporaryDirectory() as place, build_pool(spec, build_data(spec)[0]) as pool:
        witness = Witness(pool, spec.seed, illness)
        folder = RunFolder.create(Path(place) / "run", spec)
        with suppress(FederationStalledError):  # everybody was ill in every round
            for _ in execute(folder, witness):
                pass
        rows = open_run(folder.path).rounds
        models = [witness.models[number] for number in sorted(witness.models)]
        for row, *step in zip(rows, models, models[1:], strict=False):
            assert_law(
                row,
                step,
                spec.server.protect.allow,
                lambda model, ids: pool.evaluate(model, ids, "train").losses,
                spec.attack.clients if spec.attack.name in LYING else (),
            )
    return rows


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), illness=st.sampled_from([0.0, 0.1]))
def test_nobody_who_takes_part_is_worse_off_after_any_round(seed, illness):
    check(drawn_spec(seed), illness)


@pytest.mark.slow
@settings(max_examples=500)
@given(seed=st.integers(0, 2**32), illness=st.sampled_from([0.0, 0.1]))
def test_nobody_is_worse_off_in_hundreds_of_runs(seed, illness):
    check(drawn_spec(seed), illness)
