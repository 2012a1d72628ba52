"""Bad clients of somebody's own Flower app: contents that a strategy reads, whatever is in them."""

# ruff: noqa: ARG005 (a table of functions, of which few look at all that they are given)
from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from fedmgda.flower.strategy._client_id import CLIENT_ID
from fedmgda.flower.strategy._known_nodes import KnownNodes
from fedmgda.flower.strategy._model_arrays import ModelArrays
from fedmgda.flower.strategy._received import Asked, receive
from fedmgda.flower.strategy._reply_values import Keys, cohort_of
from hostile_cohorts import CLIENTS

FIRST_NODE = 100


class Nodes:
    """What a strategy needs of a grid: who is connected."""

    def get_node_ids(self):
        return range(FIRST_NODE, FIRST_NODE + CLIENTS)


def layout_of(case):
    """Lay out the model of a case as two arrays, and one of buffers where it has some."""
    d = len(case.params) - case.num_buffers
    return ModelArrays.of(_model(np.zeros(d + case.num_buffers), d), ("running",))


def _model(vector, d):
    vector = np.asarray(vector, np.float32)
    parts = {"a": vector[: d // 2].reshape(1, -1), "b": vector[d // 2 : d], "running": vector[d:]}
    return ArrayRecord({name: Array(part) for name, part in parts.items() if part.size})


def honest_content(case, client):
    """Return a reply of an honest client; its update is what is left of it on the way there."""
    sent, d = case.sent[client], len(case.params) - case.num_buffers
    moved = np.concatenate([sent.update, sent.buffers])
    metrics = {"num-examples": sent.num_examples, "loss": sent.loss, CLIENT_ID: client}
    return RecordDict(
        {"arrays": _model(case.params - moved, d), "metrics": MetricRecord(metrics)}
    )  # fmt: skip


def rounded(case):
    """Return the case with updates as they are after a model was sent and taken away again."""
    for sent in case.sent.values():
        for part, model in ((sent.update, case.params[: len(sent.update)]),
                            (sent.buffers, case.params[len(sent.update) :])):  # fmt: skip
            part[...] = model - (model - part)
    return case


def _arrays(change):
    def spoil(content):
        arrays = dict(content["arrays"].items())
        change(arrays)
        return RecordDict({"arrays": ArrayRecord(arrays), "metrics": content["metrics"]})

    return spoil


def _one(change):
    """Change the first array."""

    def spoil(arrays):
        name = next(iter(arrays))
        arrays[name] = change(arrays[name])

    return _arrays(spoil)


def _values(change):
    return _one(lambda array: Array(np.asarray(change(array.numpy()))))


def _raw(content, dtype="float32", shape=(1,), stype="numpy.ndarray"):
    return _one(lambda array: Array(dtype, shape, stype, content))


def _metrics(**changes):
    def spoil(content):
        known = {**content["metrics"], **{k.replace("_", "-"): v for k, v in changes.items()}}
        told = {key: value for key, value in known.items() if value is not None}
        return RecordDict({"arrays": content["arrays"], "metrics": MetricRecord(told)})

    return spoil


def _npy(header, content=b""):
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def _question(client):
    message = Message(
        content=RecordDict(), message_type="train", dst_node_id=FIRST_NODE + client, ttl=9.0
    )
    message.metadata.__dict__["_message_id"] = f"question {client}"
    return message


CONTENTS = {
    "NaN": _values(lambda a: np.full_like(a, np.nan)),
    "Inf": _values(lambda a: np.full_like(a, -np.inf)),
    "huge": _values(lambda a: np.full(a.shape, 1e200)),
    "one number": _values(lambda a: np.ones(a.size + 1, np.float32)),
    "a square": _values(lambda a: a.reshape(*a.shape, 1)),
    "empty": _values(lambda a: a[..., :0]),
    "whole numbers": _values(lambda a: np.ones(a.shape, np.int64)),
    "truths": _values(lambda a: np.ones(a.shape, bool)),
    "complex": _values(lambda a: a.astype(complex)),
    "texts": _values(lambda a: a.astype("<U4")),
    "dates": _values(lambda a: np.zeros(a.shape, "datetime64[s]")),
    "far too long": _values(lambda a: np.zeros(10_000, np.float32)),
    "noise": _raw(b"\x00\x01"),
    "nothing in it": _raw(b""),
    "a pickle": _raw(b"\x80\x04]\x94."),
    "objects": _raw(_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"\x80\x04N.")),
    "a terabyte": _raw(_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}")),
    "a negative shape": _raw(_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}")),
    "an old header": _raw(
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1L,)}", b"1234")
    ),
    "another kind": _raw(b"1234", stype="torch.pickle"),
    "a zip": _raw(b"PK\x03\x04" + b"\x00" * 40),
    "no array": _arrays(lambda arrays: arrays.pop(next(iter(arrays)))),
    "one more": _arrays(lambda arrays: arrays.update(more=Array(np.zeros(1)))),
    "another name": _arrays(lambda arrays: arrays.update(c=arrays.pop(next(iter(arrays))))),
    "two records": lambda c: RecordDict({**c, "again": c["arrays"]}),
    "two metrics": lambda c: RecordDict({**c, "again": c["metrics"]}),
    "no records": lambda c: RecordDict(),
    "a config": lambda c: RecordDict({"arrays": c["arrays"], "c": ConfigRecord({"loss": "1"})}),
    "no metrics": lambda c: RecordDict({"arrays": c["arrays"]}),
    "no count": _metrics(num_examples=None),
    "NaN examples": _metrics(num_examples=float("nan")),
    "negative count": _metrics(num_examples=-3),
    "no examples": _metrics(num_examples=0),
    "absurd count": _metrics(num_examples=10**30),
    "count beyond a float": _metrics(num_examples=10**400),
    "counts": _metrics(num_examples=[3]),
    "another's number": _metrics(client_id=CLIENTS + 1),
    "a negative number": _metrics(client_id=-1),
    "a number of nobody": _metrics(client_id=2**62),
}  # fmt: skip
LOSSES = {
    "no loss": _metrics(loss=None),
    "NaN loss": _metrics(loss=float("nan")),
    "endless loss": _metrics(loss=float("inf")),
    "negative loss": _metrics(loss=-1.0),
    "losses": _metrics(loss=[1.0]),
    "loss beyond a float": _metrics(loss=10**400),
}
"""What is looked at only where the rule reads losses."""
LIES = {
    "denormal": _values(lambda a: np.full_like(a, 1e-45)),
    "half an example": _metrics(num_examples=0.5),
    "a claim that is none": _metrics(client_id=10**5000),
}
MESSAGES = {
    "silent": lambda content, message: [],
    "an error": lambda content, message: [Message(error=Error(2, "no\nroom"), reply_to=message)],
    "a long error": lambda content, message: [
        Message(error=Error(9, "\x1b[31mlong " * 9000), reply_to=message)
    ],
    "twice": lambda content, message: [
        Message(content=CONTENTS["NaN"](content), reply_to=message) for _ in range(3)
    ],
    "for another node": lambda content, message: [
        Message(content=content, reply_to=_question(CLIENTS + 5))
    ],
}
KINDS = (*CONTENTS, *LOSSES, *MESSAGES, *LIES)


def rounds(case):
    """Return what trains, for `hostile_cohorts.check`."""
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    layout = layout_of(case)

    def train(params, clients, round_num):
        nodes = KnownNodes(CLIENTS)
        nodes.refresh(Nodes())
        for client in range(CLIENTS):
            assert nodes.claim(FIRST_NODE + client, client) is None
        sent = [_question(client) for client in clients]
        asked = Asked(
            round_num=round_num, clients=clients, messages=sent, params=case.params, arrays=layout
        )
        replies = []
        for client, message in zip(clients, sent, strict=True):
            replies += _replies(case, client, message)
        replies = [replies[place] for place in case.rng("replies").permutation(len(replies))]
        received = receive(asked, replies, nodes)
        return cohort_of(asked, received, Keys(), reads_losses=True)

    return train


def _replies(case, client, message):
    kind, content = case.bad.get(client), honest_content(case, client)
    if kind in MESSAGES:
        return MESSAGES[kind](content, message)
    spoil = {**CONTENTS, **LOSSES, **LIES}.get(kind)
    return [Message(content=content if spoil is None else spoil(content), reply_to=message)]
