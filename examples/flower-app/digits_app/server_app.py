"""The server: the one place where a rule of fedmgda stands."""

from __future__ import annotations

import torch
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

from digits_app.task import Net
from fedmgda.flower import FedMGDAPlus

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train the digits; the record says what became of every client."""
    torch.manual_seed(0)
    config = context.run_config
    strategy = FedMGDAPlus(min_available_nodes=4, record=str(config["record"]))
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(Net().state_dict()),
        num_rounds=int(config["rounds"]),
    )
    print(result)
