"""Drives somebody's Flower app on Ray: `python foreign_app.py FOLDER` leaves records there.

The app is that of examples/flower-app, with its own torch code, unchanged; and the same with the
three lines that a rule needs which reads losses.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

from fedmgda.flower.deployment._environment import keep_quiet

APP = Path(__file__).parents[1] / "examples" / "flower-app"
ROUNDS = 3


def app_of_both():
    """Return the app as it is, with the three lines in its train function where it is told so."""
    from digits_app import client_app, task  # noqa: PLC0415
    from flwr.clientapp import ClientApp  # noqa: PLC0415

    both = ClientApp()

    @both.train()
    def train(message, context):
        reply = client_app.train(message, context)
        if "three-lines" in message.content["config"]:
            net, loader, _ = client_app._received(message, context)
            loss, _ = task.test(net, loader)  # the first line: of the model as it came
            reply.content["metrics"]["loss"] = loss  # the second
            reply.content["metrics"]["client-id"] = context.node_config["partition-id"]  # the third
        return reply

    both.evaluate()(client_app.evaluate)
    return both


def simulated(client_app, main):
    """Run the main function of a server on Ray with four nodes."""
    from flwr.serverapp import ServerApp  # noqa: PLC0415
    from flwr.simulation import run_simulation  # noqa: PLC0415

    server = ServerApp()
    server.main()(main)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_simulation(
            server_app=server,
            client_app=client_app,
            num_supernodes=4,
            backend_config={
                "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
                "init_args": {"num_cpus": 1, "include_dashboard": False, "log_to_driver": False},
            },
        )


def initial_arrays():
    import torch  # noqa: PLC0415
    from digits_app.task import Net  # noqa: PLC0415
    from flwr.app import ArrayRecord  # noqa: PLC0415

    torch.manual_seed(0)
    return ArrayRecord(Net().state_dict())


def run(folder):
    """Leave behind what every strategy made of the app, and how long it took."""
    from flwr.app import ConfigRecord  # noqa: PLC0415

    from fedmgda import SpecError  # noqa: PLC0415
    from fedmgda.flower import FedMGDAPlus, QFedAvg  # noqa: PLC0415

    report = {"seconds": []}

    def start(grid, strategy, *, changed):
        lines = ConfigRecord({"three-lines": True} if changed else {})
        strategy.start(grid, initial_arrays(), num_rounds=ROUNDS, train_config=lines)

    def sampled(grid, name):
        strategy = FedMGDAPlus(fraction_train=0.5, seed=5, record=folder / name)
        start(grid, strategy, changed=True)

    def first(grid, context):
        start(grid, FedMGDAPlus(record=folder / "plus", gram=True), changed=False)
        try:
            start(grid, QFedAvg(client_lr=0.1), changed=False)
        except SpecError as error:
            report["refused"] = str(error)
        start(grid, QFedAvg(client_lr=0.1, record=folder / "q", gram=True), changed=True)
        sampled(grid, "a")

    def second(grid, context):
        sampled(grid, "b")

    for main in (first, second):
        started = time.perf_counter()
        simulated(app_of_both(), main)
        report["seconds"].append(time.perf_counter() - started)
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    keep_quiet()
    sys.path.insert(0, str(APP))
    run(Path(sys.argv[1]))
