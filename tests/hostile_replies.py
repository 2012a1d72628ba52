"""Replies that come one by one, as whatever objects somebody sends, among honest ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedmgda.federation import Reply, collect
from hostile_cohorts import CLIENTS, ROUND

RUN = "the run"


def honest_reply(case, client, **changes):
    sent = case.sent[client]
    fields = {
        "round_num": ROUND,
        "run": RUN,
        "update": sent.update.copy(),
        "num_examples": sent.num_examples,
        "loss": sent.loss,
        "buffers": sent.buffers.copy() if case.num_buffers else None,
    }
    return Reply(client_id=client, **(fields | changes))


class Moody:
    """An object that raises at whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array")

    def __float__(self):
        raise RuntimeError("no number")

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    __hash__ = None


NUMBERS = {
    "text": "many",
    "nothing": None,
    "a truth": True,
    "complex": 1j,
    "complex of numpy": np.complex64(1.0),
    "beyond a float": 10**400,
    "thousands of digits": -(10**5000),
    "a list": [3.0],
    "an array": np.ones(1),
    "an array of none": np.array(3.0),
    "bytes": b"\x00\x01",
    "a dict": {"value": 1.0},
    "moody": Moody(),
    "NaN": float("nan"),
    "Inf": float("inf"),
    "-Inf": float("-inf"),
    "negative": -1,
    "a date": np.datetime64("2020-01-01"),
    "NaN of numpy": np.float32("nan"),
    "long double": -np.longdouble("1e4000"),
}
"""What is neither a number of examples nor a loss."""


def _forms(update):
    """Return what comes instead of an update, by a name."""
    d, dtype = len(update), update.dtype
    huge = {"huge": np.full(d, 1e200)} if dtype == np.float64 else {}
    return huge | {
        "one number": np.ones(1 if d > 1 else 2, dtype),
        "a scalar": np.array(1.0, dtype),
        "a column": np.ones((d, 1), dtype),
        "a row": np.ones((1, d), dtype),
        "empty": np.ones(0, dtype),
        "longer": np.ones(d + 1, dtype),
        "endless": np.broadcast_to(dtype.type(1), (2**40,)),
        "other floats": np.ones(d, np.float64 if dtype == np.float32 else np.float32),
        "halves": np.ones(d, np.float16),
        "long doubles": np.ones(d, np.longdouble),
        "whole numbers": np.ones(d, np.int64),
        "truths": np.ones(d, bool),
        "complex": np.ones(d, complex),
        "objects": np.full(d, "1", object),
        "texts": np.array(["1"] * d),
        "bytes": np.array([b"1"] * d),
        "dates": np.zeros(d, "datetime64[s]"),
        "records": np.zeros(d, [("x", dtype)]),
        "the other byte order": np.ones(d, dtype.newbyteorder("S")),
        "masked": np.ma.masked_array(np.ones(d, dtype), mask=True),
        "a list": [1.0] * d,
        "a dict": {"layer.w": update},
        "a text": "nan",
        "raw": update.tobytes(),
        "nothing": None,
        "moody": Moody(),
        "NaN": np.full(d, np.nan, dtype),
        "Inf": np.where(np.arange(d) == 0, np.inf, update).astype(dtype),
        "opposite infinities": np.resize([np.inf, -np.inf], d).astype(dtype),
    }


FORMS = [*_forms(np.ones(2))]
WRONG_KEYS = {
    "the round before": {"round_num": ROUND - 1},
    "a later round": {"round_num": ROUND + 1},
    "no round": {"round_num": None},
    "a round of arrays": {"round_num": np.array([ROUND, ROUND])},
    "a broken round": {"round_num": float(ROUND)},
    "another run": {"run": "another"},
    "no run": {"run": None},
    "a run of arrays": {"run": np.array([RUN, RUN])},
}
IDS = {
    "nobody": None,
    "a stranger": CLIENTS + 3,
    "a negative": -1,
    "a huge": 10**5000,
    "a text": "3",
    "a broken": 3.5,
    "a list": [3],
    "a NaN": float("nan"),
    "an array": np.array([1, 2]),
    "moody": Moody(),
}
NOT_REPLIES = {"bytes": b"noise", "nothing": None, "a dict": {"client_id": 1}, "moody": Moody()}
LOST = ("silent", "an echo", "again and again", "under another's name")
LIES = ("buffers: huge", "half an example", "huge in float32", "denormal")

KINDS = (
    *(f"update: {name}" for name in FORMS),
    *(f"buffers: {name}" for name in FORMS),
    *(f"num_examples: {name}" for name in NUMBERS),
    *(f"loss: {name}" for name in NUMBERS),
    *(f"key: {name}" for name in WRONG_KEYS),
    *(f"client_id: {name}" for name in IDS),
    *(f"not a reply: {name}" for name in NOT_REPLIES),
    *LOST,
    *LIES[1:],
)


def replies_of(case):
    """Return how a wire answers that brings replies in any order, the forged ones last."""

    def train(params, clients, round_num):
        rng = case.rng("replies")
        replies = [honest_reply(case, client) for client in case.honest]
        for client in case.bad:
            replies += bad_replies(case, client)
        replies = [replies[place] for place in rng.permutation(len(replies))]
        if case.honest:
            others = rng.choice(case.honest, list(case.bad.values()).count("under another's name"))
            replies += [honest_reply(case, i, loss=0.0) for i in others.tolist()]
        return collect(replies, params, clients, (RUN, round_num), case.num_buffers)

    return train


def bad_replies(case, client):
    """Return what a bad client sends under its own name, a list."""
    what, _, name = case.bad[client].partition(": ")
    if what == "not a reply":
        return [NOT_REPLIES[name]]
    if what == "an echo":
        return [honest_reply(case, client, round_num=before) for before in range(ROUND)]
    if what == "again and again":
        return [honest_reply(case, client, update=None)] * 4
    changes = _changes(case, client, what, name)
    return [replace(honest_reply(case, client), **changes)] if changes else []


def _changes(case, client, what, name):
    """Return what is changed about an honest reply; nothing where there is none."""
    update, buffers = case.sent[client].update, case.sent[client].buffers
    if what in {"update", "buffers"}:
        field = what if case.num_buffers else "update"
        model = buffers if field == "buffers" else update
        return {field: _forms(model).get(name, np.full_like(model, np.nan))}
    tables = {
        "num_examples": {"num_examples": NUMBERS.get(name)},
        "loss": {"loss": NUMBERS.get(name)},
        "key": WRONG_KEYS.get(name),
        "client_id": {"client_id": IDS.get(name)},
        "half an example": {"num_examples": 0.5},
        "huge in float32": {"update": np.full_like(update, 3e38)},
        "denormal": {"update": np.full_like(update, 1e-45)},
    }
    return tables.get(what)
