"""Bad clients behind Flower's grid: their nodes' answers as records, read by the server's own code.

Eight clients on four nodes, two on each. What is wrong with an answer as a whole costs both clients
of its node, so a node with a client that does such a thing is bad as a whole.
"""

# ruff: noqa: ARG005 (a table of functions, of which few look at all that they are given)
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.app.error import Error

from fedmgda.flower.server import _grid_exchanges
from fedmgda.flower.server._grid_clients import GridClients
from fedmgda.flower.server._grid_exchanges import GridExchanges
from fedmgda.flower.server._roster import Roster
from fedmgda.flower.wire._messages import Answer, to_records
from flower_grid import MemoryGrid
from hostile_cohorts import CLIENTS, ROUND, draw
from runs import small_spec

NODES = 4
DEADLINE = 5.0


class Clock:
    """Time that passes only while somebody waits."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@dataclass(frozen=True)
class Late:
    """An answer that comes when nobody waits for it any more."""

    answer: Answer


class HostileGrid(MemoryGrid):
    """A grid that answers as a case says, and brings what is late to whoever comes next."""

    def __init__(self):
        super().__init__(NODES)
        self.case, self.late, self._arrived = None, [], []

    def answer(self, node, question):
        if self.case is None:
            return super().answer(node, question)
        answer = honest_answer(self.case, question)
        spoil = trained if question.phase == "train" else voted
        return spoil(self, question, answer)

    def _reply(self, message, answer):
        if isinstance(answer, Late):
            self.late.append(Message(to_records(answer.answer), reply_to=message))
        else:
            super()._reply(message, answer)

    def push_messages(self, messages):
        self._arrived, self.late = self.late, []
        return super().push_messages(messages)

    def pull_messages(self, message_ids):
        arrived, self._arrived = self._arrived, []
        return [*arrived, *super().pull_messages(message_ids)]


def honest_answer(case, question):
    """Return what a node answers of clients that are all honest."""
    clients = question.header["client_ids"]
    sent = [case.sent[client] for client in clients]
    models = np.atleast_2d(question.arrays["params"])
    arrays = {"client_ids": np.array(clients, np.int64)}
    if question.phase == "train":
        arrays |= {
            "updates": np.array([one.update for one in sent]),
            "num_examples": np.array([one.num_examples for one in sent]),
            "losses": np.array([one.loss for one in sent]),
            "local_losses": np.array([one.loss for one in sent]),
        }
        if question.header["gradients"]:
            arrays["gradients"] = np.array([one.gradient for one in sent])
            arrays["before"] = np.array([one.vote(models[0]) for one in sent])
    else:
        votes = np.array([[one.vote(model) for model in models] for one in sent])
        arrays |= {"losses": votes, "accuracies": np.full(votes.shape, 0.5)}
    return question.answered({}, arrays)


# What costs one client


def _entry(name, value):
    def spoil(arrays, place):
        array = arrays.get(name, arrays["updates"])
        array[(place, 0) if array.ndim == 2 else place] = value if name in arrays else np.nan

    return spoil


OF_ONE = {
    "NaN": _entry("updates", np.nan),
    "Inf": _entry("updates", -np.inf),
    "NaN gradient": _entry("gradients", np.nan),
    "NaN before": _entry("before", np.nan),
    "negative before": _entry("before", -1.0),
    "NaN loss": _entry("losses", np.nan),
    "endless loss": _entry("losses", np.inf),
    "negative loss": _entry("losses", -1.0),
    "NaN examples": _entry("num_examples", np.nan),
    "no examples": _entry("num_examples", 0.0),
    "absurd examples": _entry("num_examples", 1e30),
}
LIES = {
    "huge": _entry("updates", 3e38),
    "denormal": _entry("updates", 1e-45),
    "half an example": _entry("num_examples", 0.5),
}
TOLD = "its node says that it failed"

# What costs a node: from its answer, as it would be, to what comes instead


def _arrays(**changes):
    """Change arrays of an answer by functions; None takes one away."""

    def spoil(question, answer):
        known = dict(answer.arrays)
        for name, change in changes.items():
            array = known.pop(name)
            if change is not None:
                known[name] = change(array)
        return replace(answer, arrays=known)

    return spoil


def _header(**changes):
    def spoil(question, answer):
        return replace(answer, header={**answer.header, **changes})

    return spoil


def _records(change):
    """Change the records themselves."""

    def spoil(question, answer):
        return change(to_records(answer))

    return spoil


def _text(text):
    return _records(
        lambda records: RecordDict(
            {"arrays": records["arrays"], "fedmgda": ConfigRecord({"header": text})}
        )
    )


def _raw(content, dtype="float32", stype="numpy.ndarray", shape=(2, 3)):
    """Put bytes in the place of the first array that is not the ids."""

    def change(records):
        arrays = dict(records["arrays"].items())
        name = next(name for name in arrays if name != "client_ids")
        arrays[name] = Array(dtype, shape, stype, content)
        return RecordDict({"arrays": ArrayRecord(arrays), "fedmgda": records["fedmgda"]})

    return _records(change)


def _npy(header, content=b""):
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def _first(array):
    return array[:1]


OF_ALL = {
    "raises": lambda question, answer: Error(2, "ValueError: no\nroom"),
    "is killed": lambda question, answer: Error(8, ""),
    "unknown error": lambda question, answer: Error(77, "\x1b[31m" + "long " * 1000),
    "is silent": lambda question, answer: None,
    "is late": lambda question, answer: Late(answer),
    "twice": lambda question, answer: [Error(2, "no"), answer],
    "no records": lambda question, answer: RecordDict(),
    "metrics only": lambda q, a: RecordDict({"fedmgda": MetricRecord({"header": 1})}),
    "no arrays": _records(lambda records: RecordDict({"fedmgda": records["fedmgda"]})),
    "no header": _records(lambda r: RecordDict({"arrays": r["arrays"], "fedmgda": ConfigRecord()})),
    "a number as header": _text(3),
    "no JSON": _text("{"),
    "a list": _text("[]"),
    "deep JSON": _text("[" * 100_000),
    "a long number": _text('{"round": ' + "1" * 6000 + "}"),
    "NaN in JSON": _text('{"round": NaN}'),
    "a surrogate": _text('{"run": "\\ud800"}'),
    "nothing said": _header(run=None, round=None, exchange=None, phase=None),
    "another run": _header(run="yours"),
    "another round": _header(round=ROUND - 1),
    "a round as text": _header(round=str(ROUND)),
    "another exchange": _header(exchange=0),
    "another phase": _header(phase="gradients"),
    "an error": _header(error=[3, "no file\x07 here"]),
    "failures are a text": _header(failures="all"),
    "failures of another": _header(failures=[[CLIENTS, "gone"]]),
    "failures without reasons": _header(failures=[[0]]),
    "failures as a deep list": _header(failures=[[[[[]]]]]),
    "no ids": _arrays(client_ids=None),
    "ids of others": _arrays(client_ids=lambda ids: ids + 1),
    "negative ids": _arrays(client_ids=lambda ids: -ids - 1),
    "ids as floats": _arrays(client_ids=lambda ids: ids.astype(float)),
    "ids in a square": _arrays(client_ids=lambda ids: ids[:, None]),
    "the same id": _arrays(client_ids=lambda ids: np.repeat(ids[:1], 2)),
    "huge ids": _arrays(client_ids=lambda ids: ids + 2**62),
    "no losses": _arrays(losses=None),
    "losses as text": _raw(
        _npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", b"1234")
    ),
    "losses of floats": _arrays(losses=lambda array: array.astype(np.float32)),
    "losses twice": _arrays(losses=lambda array: np.stack([array, array])),
    "not our arrays": _records(
        lambda records: RecordDict({"arrays": ArrayRecord(), "fedmgda": records["fedmgda"]})
    ),
    "noise": _raw(b"\x00\x01\x02"),
    "empty": _raw(b""),
    "a pickle": _raw(b"\x80\x04]\x94."),
    "objects": _raw(_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"\x80\x04N.")),
    "a terabyte": _raw(_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}")),
    "a negative shape": _raw(_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}")),
    "a shape of none": _raw(_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (None,)}")),
    "an old header": _raw(
        _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1L,)}", b"1" * 8)
    ),
    "a calculation": _raw(_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9**9**9,)}")),
    "a deep header": _raw(_npy("(" * 110)),
    "complex": _raw(_npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", b"1" * 16)),
    "records of records": _raw(
        _npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", b"1" * 8)
    ),
}  # fmt: skip
OF_TRAINING = {
    "no updates": _arrays(updates=None),
    "wider": _arrays(updates=lambda array: np.hstack([array, array])),
    "narrower": _arrays(updates=lambda array: array[:, :1]),
    "flat": _arrays(updates=lambda array: array.ravel()),
    "doubles": _arrays(updates=lambda array: array.astype(np.float64)),
    "whole numbers": _arrays(updates=lambda array: np.ones(array.shape, np.int32)),
    "fewer rows": _arrays(updates=lambda array: array[:0]),
    "examples as truths": _arrays(num_examples=lambda array: array > 0),
    "examples as whole numbers": _arrays(num_examples=lambda array: array.astype(np.int64)),
}
KINDS = (*OF_ONE, *LIES, TOLD, *OF_ALL, *OF_TRAINING)
VOTES = (*OF_ALL, TOLD, "NaN", "Inf", "-Inf", "beyond a sum", "accuracy above one")
"""What happens in the second exchange to clients that were honest in the first."""


def trained(grid, question, answer):
    """Return what comes instead of the answer to a train question."""
    arrays = {name: array.copy() for name, array in answer.arrays.items()}
    failures, whole = [], None
    for place, client in enumerate(question.header["client_ids"]):
        kind = grid.case.bad.get(client)
        if kind == TOLD:
            failures.append([client, "OSError: \x1b[2Jno disk"])
        elif kind in OF_ONE or kind in LIES:
            {**OF_ONE, **LIES}[kind](arrays, place)
        elif kind is not None:
            whole = kind
    answer = Answer(header={**answer.header, "failures": failures}, arrays=arrays)
    return _whole(grid, question, answer, whole)


def voted(grid, question, answer):
    """Return what comes instead of the answer of nodes that are asked for losses."""
    arrays = {name: array.copy() for name, array in answer.arrays.items()}
    failures, whole = [], None
    said = {"NaN": np.nan, "Inf": np.inf, "-Inf": -np.inf, "beyond a sum": 1e200}
    for place, client in enumerate(question.header["client_ids"]):
        kind = grid.case.between.get(client)
        if kind in said:
            arrays["losses"][place, 0] = said[kind]
            arrays["losses"][place] = said[kind]
        elif kind == "accuracy above one":
            arrays["accuracies"][place] = 1.5
        elif kind == TOLD:
            failures.append([client, "OSError: gone"])
        elif kind is not None:
            whole = kind
    answer = Answer(header={**answer.header, "failures": failures}, arrays=arrays)
    return _whole(grid, question, answer, whole)


def _whole(grid, question, answer, kind):
    spoil = {**OF_ALL, **OF_TRAINING}.get(kind)
    return answer if spoil is None else spoil(question, answer)


class Federation:
    """The server's side of a federation over the grid, met once and asked in every case."""

    def __init__(self):
        self.grid = HostileGrid()
        spec = small_spec(
            data={"num_clients": CLIENTS},
            clients={"per_round": CLIENTS, "path": "torch"},
            engine={"client_timeout": DEADLINE},
        )
        exchanges = GridExchanges(self.grid, "a run")
        self.clients = GridClients(exchanges, Roster(None, lambda event: None), spec, NODES)

    def rounds(self, case):
        """Return what trains and what votes, for `hostile_cohorts.check`."""
        self.grid.case = case
        protected = case.protection is not None

        def train(params, clients, round_num):
            return self.clients.train_cohort(params, clients, round_num, gradients=protected)

        def losses(models, clients):
            return self.clients.evaluate(models, clients, "train")

        return train, losses


def drawn(seed, d):
    """Draw a round whose bad nodes are bad as a whole where what one of them does is."""
    case = draw(seed, KINDS, VOTES, dtypes=(np.float32,), d=d, buffers=0)
    whole = {**OF_ALL, **OF_TRAINING}
    bad = dict(case.bad)
    for client, kind in case.bad.items():
        for other in case.asked:
            if kind in whole and other % NODES == client % NODES:
                bad[other] = kind
    between = {i: kind for i, kind in case.between.items() if i not in bad}
    for client, kind in case.between.items():
        for other in case.asked:
            near = other not in bad and other % NODES == client % NODES
            if near and client in between and kind in whole:
                between[other] = kind
    return replace(case, bad=bad, between=between)


@contextmanager
def no_time_passes():
    """Let exchanges wait without waiting."""
    kept, _grid_exchanges.time = _grid_exchanges.time, Clock()
    try:
        yield
    finally:
        _grid_exchanges.time = kept
