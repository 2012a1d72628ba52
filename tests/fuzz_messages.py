"""What nodes and servers say to each other over Flower, read as it may come."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.experiments import propose_schema, read_encoder, to_toml
from fedmgda.flower.node._node import answer_as
from fedmgda.flower.server._hello import Hello
from fedmgda.flower.server._roster import permissions
from fedmgda.flower.server._statistics import Introduction, read_curvatures
from fedmgda.flower.wire._messages import (
    Answer,
    Question,
    WireError,
    answer_from_bytes,
    question_from_bytes,
    to_bytes,
)
from fedmgda.flower.wire._share import Share
from flower_grid import MemoryGrid
from fuzz_targets import Target, refusing
from fuzzing import command
from runs import finished_run, small_spec
from tables import write_table

NODE = {"partition-id": 0, "num-partitions": 2, "trust": True}


def _hello():
    MemoryGrid(2)  # which gives Flower the ids that its messages have
    spec = small_spec(clients={"per_round": 2, "path": "torch"})
    header = {"run": "a", "round": 0, "exchange": 1, "spec": to_toml(spec), "path": "torch"}
    return Question(phase="hello", header={**header, "deadline": 5.0})


def _as_bytes(place, seeds, read):
    act = lambda content: refusing(lambda: read(content), WireError)  # noqa: E731
    return Target(
        "message", place, seeds, act, (b"PK\x03\x04", b'"round"', b"'|O'", b"\xff" * 8), quick=True
    )


def _bytes(place):
    question = _hello()
    seeds = [to_bytes(question), to_bytes(answer_as(NODE, question))]

    def read(content):
        answer_from_bytes(content)
        question_from_bytes(content)

    return _as_bytes(place, seeds, read)


def _told(place, read, answer):
    """An answer of which the header is changed, or an array."""

    def act(content):
        try:
            header = json.loads(content)
        except (ValueError, RecursionError):
            header = {}
        if not isinstance(header, dict):
            header = {"client_ids": header}
        rng = np.random.default_rng(len(content))
        arrays = dict(answer.arrays)
        if len(content) % 3 == 0 and arrays:
            name = sorted(arrays)[rng.integers(len(arrays))]
            arrays[name] = _another(rng, arrays[name])
        return refusing(lambda: read(Answer(header=header, arrays=arrays)), WireError)

    return Target("told", place, [json.dumps(answer.header).encode()], act, tables=True, quick=True)


def _another(rng, array):
    forms = [
        array[:0], array[..., None], -array, array.astype(np.float64) * np.nan,
        array.astype(np.int64) + 2**62, np.zeros((0, 3)), np.array(1), array.astype(np.int8),
    ]  # fmt: skip
    return forms[rng.integers(len(forms))]


def _hellos(place):
    return _told(place, Hello.of, answer_as(NODE, _hello()))


def _introductions(place):
    header = {"schema": "0" * 64, "client_names": ["north", "south"], "own": True}
    answer = Answer(header=header, arrays={"sizes": np.ones((2, 3), np.int64)})

    def read(told):
        Introduction.of(told)
        read_curvatures(told, [0, 1])

    return _told(place, read, answer)


def _question(place):
    """A node is asked anything: it answers, or says in a sentence why not."""
    question = _hello()

    def act(content):
        try:
            header = json.loads(content)
        except (ValueError, RecursionError):
            header = {**question.header, "spec": content.decode("utf-8", "replace")}
        if not isinstance(header, dict):
            header = {"spec": header}

        def answered():
            answer = answer_as(NODE, Question(phase="hello", header=header))
            match answer.header.get("error"):
                case [int(code), str(said)] if "raised" in said or not said:
                    return f"code {code}: {said}"
            return None

        return answered

    return Target("question", place, [json.dumps(question.header).encode()], act, tables=True)


def _share(place):
    data = write_table(place / "rows.csv", rows=40, positives=0.4)
    run = finished_run(place / "run", rounds=1, data=data, model={}, clients={"path": "torch"})
    encoder = read_encoder((run.path / "encoder.json").read_bytes())
    share = Share(ids={"north": 0}, num_clients=2, encoder=encoder, class_weights={"yes": 2.0})

    def act(content):
        try:
            table = json.loads(content)
        except (ValueError, RecursionError):
            table = content.decode("utf-8", "replace")
        return refusing(lambda: Share.of(table), WireError)

    return Target(
        "share", place, [json.dumps(asdict(share)).encode()], act, tables=True, quick=True
    )


def _roster(place):
    good = [b'{"12": [0, "north"], "7": "1/3"}', b"", b'{"-1": []}']

    def act(content):
        text = content.decode("utf-8", "replace")
        return refusing(lambda: 3 in (permissions(text) or {}).get(12, ()), SpecError)

    return Target("roster", place, good, act, (b'"0/1"', b'"1/0"', b"/"), tables=True, quick=True)


def _schema(place):
    write_table(place / "rows.csv", rows=80, positives=0.4)
    spec = propose_schema(place / "rows.csv", target="left", client="branch").spec

    def act(content):
        (place / "schema.toml").write_bytes(content)
        if len(content) % 2:
            return command("run", "schema.toml", "--dry-run")
        return command("flower", "schema", "rows.csv", "--check", "schema.toml")

    return Target("schema", place, [spec.encode()], act, (b"categories", b"classes", b"columns"))


MESSAGES = {
    "message": _bytes,
    "hello": _hellos,
    "introduction": _introductions,
    "question": _question,
    "share": _share,
    "roster": _roster,
    "schema": _schema,
}
