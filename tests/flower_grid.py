"""Flower's grid without a network: nodes are the real ones, and answer in this process."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

from flwr.app import Message
from flwr.app.error import Error
from flwr.supercore.task_identity import TaskIdentity

from fedmgda.experiments import to_toml
from fedmgda.flower.node._node import answer_as
from fedmgda.flower.server_app import Settings, serve
from fedmgda.flower.wire._messages import question_from_records, to_records
from runs import small_spec


class MemoryGrid:
    """What `fedmgda.flower` uses of a grid.

    Attributes:
        online: The nodes that are connected: the node config of each, by its id; at first those of
            a simulation.
        twist: For each node what becomes of an answer: a function of question and answer that
            returns an answer, records, an error, a list of several of them, or None for no reply.
        asked: Every question, with the node it went to.
        gone: Whether the SuperLink is.
    """

    def __init__(self, num_nodes=3):
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
        self.online = {
            100 + i: {"partition-id": i, "num-partitions": num_nodes, "trust": True}
            for i in range(num_nodes)
        }
        self.twist = {}
        self.asked = []
        self.gone = False
        self._replies = defaultdict(list)

    def get_node_ids(self):
        self._look()
        return list(self.online)

    def push_messages(self, messages):
        self._look()
        return [self._push(message) for message in messages]

    def pull_messages(self, message_ids):
        self._look()
        return [reply for name in message_ids for reply in self._replies.pop(name, [])]

    def _look(self):
        if self.gone:
            raise ConnectionError("refused")

    def answer(self, node, question):
        """Return what a node answers: what a real one would."""
        return answer_as(self.online[node], question)

    def _push(self, message):
        node, name = message.metadata.dst_node_id, f"message {len(self.asked)}"
        message.metadata.__dict__["_message_id"] = name
        question = question_from_records(message.content)
        self.asked.append((node, question))
        if node not in self.online:
            self._reply(message, Error(5, "Node Unavailable"))
            return name
        answer = self.answer(node, question)
        if node in self.twist:
            answer = self.twist[node](question, answer)
        for one in answer if isinstance(answer, list) else [answer]:
            self._reply(message, one)
        return name

    def _reply(self, message, answer):
        if answer is None:
            return
        content = to_records(answer) if hasattr(answer, "header") else answer
        reply = Message(content, reply_to=message)
        self._replies[message.metadata.message_id].append(reply)


def with_arrays(answer, **arrays):
    """Return an answer with other arrays; None takes one away."""
    known = {**answer.arrays, **arrays}
    return replace(answer, arrays={name: a for name, a in known.items() if a is not None})


def phases(grid):
    """Return the exchanges that there were: of each the phase and the round."""
    found = {q.header["exchange"]: (q.phase, q.header["round"]) for _, q in grid.asked}
    return [found[number] for number in sorted(found)]


def run_over(path, grid, num_nodes=3, roster="", **table):
    """Carry out a small run over a grid, and return its exit code."""
    settings = Settings(
        spec=to_toml(small_spec(**table)), out=path, num_nodes=num_nodes, roster=roster
    )
    return serve(grid, "a run", settings)


def grid_of(folder, **more):
    """Return a grid on which each file of a folder has a node."""
    grid = MemoryGrid()
    files = sorted(folder.glob("*.csv"), reverse=True)
    grid.online = {100 + i: {"data": str(file)} | more for i, file in enumerate(files)}
    return grid


def run_spec(path, grid, spec, num_nodes=3, roster=""):
    """Carry out a spec over a grid, and return its exit code."""
    settings = Settings(spec=to_toml(spec), out=path, num_nodes=num_nodes, roster=roster)
    return serve(grid, "a run", settings)


def node_events(path):
    """Return the lines of `nodes.jsonl`."""
    return [json.loads(line) for line in (path / "nodes.jsonl").read_text().splitlines()]


def from_round_2(change):
    """Return a twist of a node's answers to train questions, from round 2 on."""

    def twist(question, answer):
        late = question.phase == "train" and question.header["round"] > 1
        return change(answer) if late else answer

    return twist
