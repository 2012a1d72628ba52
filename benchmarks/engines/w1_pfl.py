"""W1 in Apple's pfl: SimulatedBackend and FederatedAveraging, over torchrun for 2 processes."""

from __future__ import annotations

import os
import sys
import time

import torch
from _work import BATCH_SIZE, CLIENT_LR, PER_ROUND, USERS, read_work, tell
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn
from torch.nn import functional

work = read_work()


class Network(nn.Module):
    """The network with the two methods pfl asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = work.build_model()

    def loss(self, images: Tensor, targets: Tensor) -> Tensor:
        """Return what local training minimises."""
        self.train()
        return functional.cross_entropy(self.layers(images), targets)

    def metrics(self, _images: Tensor, _targets: Tensor) -> dict[str, object]:
        """Measure nothing: pfl always evaluates in its first round, and W1 has no evaluation."""
        return {}


class Clock(TrainingProcessCallback):
    """Notes when each round ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def after_central_iteration(self, *_: object, **__: object) -> tuple[bool, Metrics]:
        """Go on."""
        self.ends.append(time.monotonic())
        return False, Metrics()


def dataset_of(user_id: int) -> PyTorchTensorDataset:
    """Return the data of one user in random order, since pfl takes batches as they come."""
    images, targets = work.user(user_id)
    order = torch.randperm(len(targets))
    return PyTorchTensorDataset((images[order], targets[order]))


def main() -> None:
    """Run the rounds and tell when each ended."""
    users = FederatedDataset(dataset_of, get_user_sampler("random", list(range(USERS))))
    network, clock = Network(), Clock()
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=work.rounds,
            evaluation_frequency=work.rounds + 1,
            train_cohort_size=PER_ROUND,
            val_cohort_size=None,
        ),
        SimulatedBackend(training_data=users, val_data=users),
        PyTorchModel(network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=1.0)),
        NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=CLIENT_LR, local_batch_size=BATCH_SIZE
        ),
        callbacks=[clock],
    )
    if os.environ.get("RANK", "0") == "0":
        tell(clock.ends, "pfl", "torch", "numpy")


if __name__ == "__main__":
    if work.workers > 1 and "RANK" not in os.environ:
        runner = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={work.workers}"]
        os.execv(sys.executable, [sys.executable, *runner, *sys.argv])  # noqa: S606 (no shell)
    main()
