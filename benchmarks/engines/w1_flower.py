"""W1 in Flower: `run_simulation`, its own FedAvg, one core for each of its Ray actors."""

from __future__ import annotations

import os
import time

# Neither may try to report home from a machine that measures.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from _loop import train_locally
from _work import PER_ROUND, USERS, read_work, tell
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

work = read_work()
client_app, server_app = ClientApp(), ServerApp()
ends: list[float] = []


@client_app.train()
def train(message: Message, context: Context) -> Message:
    """Train the received model on the data of one user."""
    model = work.build_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    images, targets = work.user(int(context.node_config["partition-id"]))
    train_locally(model, images, targets)
    content = {
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"num-examples": len(targets)}),
    }
    return Message(content=RecordDict(content), reply_to=message)


@server_app.main()
def main(grid: Grid, _context: Context) -> None:
    """Run the rounds; the hook for evaluation on the server only notes the time."""
    FedAvg(fraction_train=PER_ROUND / USERS, fraction_evaluate=0.0).start(
        grid,
        ArrayRecord(work.build_model().state_dict()),
        num_rounds=work.rounds,
        evaluate_fn=lambda round_num, _: ends.append(time.monotonic()) if round_num else None,
    )


if __name__ == "__main__":
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server_app, client_app, USERS, backend_config=resources)
    tell(ends, "flwr", "ray", "torch", "numpy")
