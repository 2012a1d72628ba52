"""What a node does with the model it receives; nothing here knows of fedmgda."""

from __future__ import annotations

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from digits_app import task

app = ClientApp()
LR = 0.1


def _received(message: Message, context: Context) -> tuple[task.Net, task.Loader, task.Loader]:
    """Return the model of a message, and this node's data."""
    net = task.Net()
    net.load_state_dict(message.content.array_records["arrays"].to_torch_state_dict())
    seed = message.content.config_records["config"]["server-round"]
    own = context.node_config
    partition, count = int(own["partition-id"]), int(own["num-partitions"])
    return net, *task.load_data(partition, count, seed=int(str(seed)))


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train the model on this node's images."""
    net, loader, _ = _received(message, context)
    loss = task.train(net, loader, LR)
    count = len(loader.dataset)  # type: ignore[arg-type]
    metrics = MetricRecord({"train_loss": loss, "num-examples": count})
    content = RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Test the model on this node's images."""
    net, _, loader = _received(message, context)
    loss, accuracy = task.test(net, loader)
    count = len(loader.dataset)  # type: ignore[arg-type]
    metrics = MetricRecord({"eval_loss": loss, "eval_acc": accuracy, "num-examples": count})
    content = RecordDict({"metrics": metrics})
    return Message(content=content, reply_to=message)
