"""W1 in FedLab: its standalone pipeline with the serial SGD trainer, on all threads torch takes."""

from __future__ import annotations

import time

import _torchvision  # noqa: F401 (must come before FedLab)
import torch
from _work import BATCH_SIZE, CLIENT_LR, PER_ROUND, USERS, Work, read_work, tell
from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from fedlab.core.standalone import StandalonePipeline
from fedlab.utils import SerializationTool
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Users:
    """The data of W1 behind the one method FedLab's trainer calls."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def get_dataloader(self, user_id: int, batch_size: int) -> DataLoader:
        """Return the shuffled batches of one user."""
        return DataLoader(TensorDataset(*self.work.user(user_id)), batch_size, shuffle=True)


class Pipeline(StandalonePipeline):
    """Notes the time where others evaluate."""

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.ends: list[float] = []

    def evaluate(self) -> None:
        """Note when the round ended."""
        self.ends.append(time.monotonic())


def _serialized(model: nn.Module) -> Tensor:
    return torch.cat([param.data.reshape(-1) for param in model.parameters()])


def main() -> None:
    """Run the rounds and tell when each ended."""
    work = read_work()
    if work.channels_last:  # its own uses view(-1), which parameters in this layout do not have
        SerializationTool.serialize_model = staticmethod(_serialized)
    trainer = SGDSerialClientTrainer(work.build_model(), USERS)
    trainer.setup_dataset(Users(work))
    trainer.setup_optim(1, BATCH_SIZE, CLIENT_LR)
    handler = SyncServerHandler(work.build_model(), work.rounds, PER_ROUND / USERS)
    pipeline = Pipeline(handler, trainer)
    pipeline.main()
    tell(pipeline.ends, "fedlab", "torch", "numpy")


if __name__ == "__main__":
    main()
