"""Federations of quadratics, where everything is known in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedmgda import Cohort
from fedmgda.federation import (
    Constant,
    Federation,
    Protection,
    UniformSampler,
    initial_state,
    simulate,
)
from fedmgda.rules import FedMGDA
from fedmgda.values import Evaluation


@dataclass(frozen=True)
class Quadratics:
    """f_i(w) = (c/2) ‖w - a_i‖², trained by `steps` exact gradient steps of length `client_lr`."""

    anchors: np.ndarray
    curvature: float = 1.0
    client_lr: float = 1.0
    steps: int = 1

    def losses(self, params):
        return 0.5 * self.curvature * ((params - self.anchors) ** 2).sum(axis=1)

    def train_cohort(self, params, client_ids, round_num):
        del round_num
        rows = []
        for client in client_ids:
            local = params.copy()
            for _ in range(self.steps):
                local = local - self.client_lr * self.curvature * (local - self.anchors[client])
            rows.append(params - local)
        ids = list(client_ids)
        return Cohort(
            client_ids=tuple(client_ids),
            updates=np.array(rows, dtype=params.dtype).reshape(len(ids), -1),
            num_examples=np.ones(len(ids)),
            losses=self.losses(params)[ids],
        )

    def train_and_differentiate(self, params, client_ids, round_num):
        """Train, and bring what protection needs beside."""
        ids = list(client_ids)
        return replace(
            self.train_cohort(params, client_ids, round_num),
            gradients=(self.curvature * (params - self.anchors[ids])).astype(params.dtype),
            before=self.losses(params)[ids],
        )

    def evaluate(self, models, client_ids):
        ids = list(client_ids)
        return Evaluation(
            client_ids=tuple(client_ids),
            losses=np.array([self.losses(model)[ids] for model in models]),
            accuracies=np.full((len(models), len(ids)), np.nan),
            num_examples=np.ones(len(ids)),
        )

    def protected(self, rule=None, protection=None, **changes):
        settings = {
            "train_cohort": self.train_and_differentiate,
            "losses": self.evaluate,
            "protection": protection or Protection(),
        }
        return self.federation(rule, **(settings | changes))

    def federation(self, rule=None, **changes):
        n = len(self.anchors)
        settings = {
            "train_cohort": self.train_cohort,
            # A user at its own minimum must stop everyone: the theory knows no client to leave out.
            "rule": rule or FedMGDA(normalize=False, zero_update="stall"),
            "sampler": UniformSampler(num_clients=n, per_round=n),
            "num_clients": n,
            "schedule": Constant(),
        }
        return Federation(**(settings | changes))


class QuadraticClients:
    """The same users as `Clients`: what a run or an attack asks for."""

    num_buffers, path, client_names, models_at_once = 0, "torch", None, 1

    def __init__(self, quadratics):
        self._quadratics = quadratics
        self.num_clients, self.num_params = quadratics.anchors.shape

    def train_cohort(self, params, client_ids, round_num, *, gradients=False, known=None):
        del known
        made = self._quadratics
        train = made.train_and_differentiate if gradients else made.train_cohort
        return train(params, client_ids, round_num)

    def evaluate(self, params, client_ids, split, *, predictions=False):
        del split, predictions
        found = self._quadratics.evaluate(np.atleast_2d(params), client_ids)
        return found if np.ndim(params) == 2 else replace(found, losses=found.losses[0])


def run(federation, params, num_rounds):
    """Return the states w_0..w_T and the records of a short simulation."""
    states, records = [initial_state(federation, params)], []
    for server, record in simulate(federation, states[0]):
        states.append(server)
        records.append(record)
        if server.round_num == num_rounds:
            return states, records
    raise AssertionError
