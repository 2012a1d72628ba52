"""W1, the work every engine does: Fashion-MNIST in the paper's setting, as numpy and torch see it.

100 users of 480 images, 10 users per round, one local epoch of SGD with batches of 10, FedAvg, no
evaluation. This folder imports nothing of fedmgda, because the peers' environments do not have it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

USERS, PER_ROUND, BATCH_SIZE, CLIENT_LR = 100, 10, 10, 0.01
MEAN, STD = 0.1307, 0.3081


@dataclass(frozen=True)
class Work:
    """What an engine was asked to do.

    Attributes:
        data: The folder with the images and targets.
        rounds: The number of rounds.
        workers: The number of processes, where the engine leaves the choice.
        channels_last: Whether the model is handed over in the layout convolutions like best.
        path: Which of our own paths is measured; other engines ignore it.
    """

    data: Path
    rounds: int
    workers: int
    channels_last: bool
    path: str

    def user(self, user_id: int) -> tuple[Tensor, Tensor]:
        """Return the `(480, 1, 28, 28)` images of a user, in floats, and their classes."""
        images = np.load(self.data / "images.npy", mmap_mode="r")[user_id]
        targets = np.load(self.data / "targets.npy", mmap_mode="r")[user_id]
        pixels = torch.from_numpy(np.array(images)).float().div_(255).sub_(MEAN).div_(STD)
        return pixels.unsqueeze(1), torch.from_numpy(np.array(targets))

    def build_model(self) -> nn.Module:
        """Return the paper's network of 21,840 parameters."""
        model = nn.Sequential(
            nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
            nn.Conv2d(10, 20, 5), nn.Dropout2d(0.5), nn.MaxPool2d(2), nn.ReLU(),
            nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), nn.Dropout(0.5), nn.Linear(50, 10),
        )  # fmt: skip
        return model.to(memory_format=torch.channels_last) if self.channels_last else model


def read_work() -> Work:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--path", default="auto")
    return Work(**vars(parser.parse_args()))


def tell(ends: list[float], *packages: str) -> None:
    """Print when each round ended, on the monotonic clock, and the versions that count."""
    versions = {package: version(package) for package in packages}
    print(json.dumps({"ends": ends, "versions": versions}), flush=True)
