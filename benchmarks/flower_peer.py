"""An ordinary Flower app on the digits: Flower's own FedAvg, to be timed beside ours.

Each node trains a linear model for one epoch on its share of the images, as quickstart apps do: the
data is loaded and the model made for every message. The server writes when each round ended.
"""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from flwr.app import ArrayRecord, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.serverapp import Grid
    from torch import nn

client_app = ClientApp()
server_app = ServerApp()


def make_model() -> nn.Module:
    """Return the model: 64 pixels to ten digits."""
    import torch  # noqa: PLC0415 (the server's process need not wait for it before its first line)

    torch.manual_seed(0)
    return torch.nn.Linear(64, 10)


@client_app.train()
def train(message: Message, context: Context) -> Message:
    """Train for one epoch on this node's images."""
    import flwr.app  # noqa: PLC0415
    import torch  # noqa: PLC0415
    from sklearn.datasets import load_digits  # noqa: PLC0415

    node, nodes = (int(context.node_config[key]) for key in ("partition-id", "num-partitions"))
    images, digits = load_digits(return_X_y=True)
    kept = slice(node, len(digits) * 4 // 5, nodes)  # as many as our node trains on
    x = torch.tensor(images[kept], dtype=torch.float32) / 16.0
    y = torch.tensor(digits[kept])
    model = make_model()
    model.load_state_dict(message.content.array_records["arrays"].to_torch_state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for rows in torch.randperm(len(x)).split(10):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    metrics = MetricRecord({"num-examples": len(x)})
    content = RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics})
    return flwr.app.Message(content=content, reply_to=message)


def serve(grid: Grid, nodes: int, rounds: int, out: Path) -> None:
    """Run Flower's FedAvg, one exchange a round; write the seconds that each round took."""
    ends = [time.monotonic()]

    def ended(server_round: int, arrays: ArrayRecord) -> None:
        del server_round, arrays
        ends.append(time.monotonic())

    strategy = FedAvg(fraction_evaluate=0.0, min_train_nodes=nodes, min_available_nodes=nodes)
    arrays = ArrayRecord(make_model().state_dict())
    strategy.start(grid=grid, initial_arrays=arrays, num_rounds=rounds, evaluate_fn=ended)
    seconds = [after - before for before, after in pairwise(ends)]
    out.write_text(json.dumps(seconds[1:]))  # the first is the call before round 1


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    """Run as the run config says."""
    config = context.run_config
    serve(grid, int(config["nodes"]), int(config["rounds"]), Path(str(config["out"])))
