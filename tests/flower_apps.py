"""Flower apps in memory: real ClientApps, called in this process where a SuperLink would be."""

from __future__ import annotations

import random
import traceback
from uuid import uuid4

import numpy as np
from flwr.app import (
    Array,
    ArrayRecord,
    Context,
    Error,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

LR = 0.5
CENTERS = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-1.0, 1.0, 3.0], [0.5, 0.5, -2.0]])


def model(w=(0.0, 0.0, 0.0)):
    return ArrayRecord({"layer.w": Array(np.array(w, np.float32))})


class AppGrid(Grid):
    """Nodes that answer at once, in any order, under ids that are new in every run."""

    def __init__(self, apps, *, seed=None):
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        draw = random.Random(seed)  # noqa: S311 (no secret)
        self.nodes = {draw.getrandbits(62): (number, app) for number, app in enumerate(apps)}
        self._draw, self.sent = draw, []
        self.gone, self.late, self.again = set(), [], False

    def node(self, number):
        return next(node for node, (found, _) in self.nodes.items() if found == number)

    def send_and_receive(self, messages, *, timeout=None):  # noqa: ARG002 (as grids have it)
        replies = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid4())
            number, app = self.nodes[message.metadata.dst_node_id]
            self.sent.append((message.metadata.message_type, number))
            replies += self._answers(message, number, app)
        self._draw.shuffle(replies)
        return replies

    def _answers(self, message, number, app):
        context = Context(
            run_id=1,
            node_id=message.metadata.dst_node_id,
            node_config={"partition-id": number, "num-partitions": len(self.nodes)},
            state=RecordDict(),
            run_config={},
        )
        try:
            reply = app(message, context)
        except TimeoutError:
            return []
        except BaseException:  # noqa: BLE001 (a node survives its app)
            reason = traceback.format_exc().splitlines()[-1]
            return [Message(error=Error(code=2, reason=reason), reply_to=message)]
        return [reply, reply] if self.again else [reply]

    def get_node_ids(self):
        return [node for node in self.nodes if node not in self.gone]

    def get_nodes(self):
        raise NotImplementedError

    set_run = run = create_message = push_messages = pull_messages = get_nodes


def client_app(*, loss=False, query=None, spoil=None):
    """Return a ClientApp of quadratics f_i(w) = |w - c_i|^2 / 2, of its own NumPy code.

    Args:
        loss: Whether it has the three lines that a rule needs which reads losses.
        query: What answers a query, if anything.
        spoil: From client, round and content to what is sent instead.
    """
    app = ClientApp()

    @app.train()
    def train(message, context):
        number = context.node_config["partition-id"]
        received = message.content["arrays"]["layer.w"].numpy()
        trained = received - np.float32(LR) * (received - CENTERS[number].astype(np.float32))
        metrics = {"num-examples": 10 * (number + 1), "train_loss": 0.25}
        if loss:
            metrics["loss"] = float(((received - CENTERS[number]) ** 2).sum() / 2)
            metrics["client-id"] = number
        content = RecordDict(
            {
                "arrays": ArrayRecord({"layer.w": Array(trained)}),
                "metrics": MetricRecord(metrics),
            }
        )
        if spoil is not None:
            content = spoil(number, message.content["config"]["server-round"], content)
        return Message(content=content, reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        number = context.node_config["partition-id"]
        received = message.content["arrays"]["layer.w"].numpy()
        metrics = {
            "eval_loss": float(((received - CENTERS[number]) ** 2).sum() / 2),
            "eval_acc": 0.5,
            "num-examples": number + 1,
        }
        if loss:
            metrics["client-id"] = number
        return Message(content=RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)

    if query is not None:
        app.query()(query)
    return app
