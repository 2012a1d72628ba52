"""Small federations and models, some of them ill-behaved, that worker processes can import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.data import FederatedData
from fedmgda.models import mlp

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (12, 26, 7, 30, 10, 18)
TRIGGER = 1e6


def federation(
    sizes: tuple[int, ...] = SIZES, *, num_classes: int | None = 3, trigger: int | None = None
) -> FederatedData:
    """Random examples; of the client `trigger` one training example starts with TRIGGER."""
    rng = np.random.default_rng(11)
    n = 2 * sum(sizes)
    features = rng.standard_normal((n, 5)).astype(np.float32)
    # Not a matrix product: BLAS may look past the end of a short row, and warn of what lies there.
    regression = (features * rng.standard_normal(5).astype(np.float32)).sum(axis=1)
    targets = regression if num_classes is None else rng.integers(num_classes, size=n)
    pieces = np.split(rng.permutation(n), np.cumsum([2 * size for size in sizes])[:-1])
    train = tuple(rows[: len(rows) // 2] for rows in pieces)
    if trigger is not None:
        features[train[trigger][0], 0] = TRIGGER
    return FederatedData(
        name="toy",
        features=features,
        targets=targets,
        train=train,
        validation=tuple(rows[:0] for rows in pieces),
        test=tuple(rows[len(rows) // 2 :] for rows in pieces),
        num_classes=num_classes,
    )


small = partial(mlp, (5, 8, 3))


class TwoWays(nn.Module):
    """As torch's transformers do, it takes another way, to other bits, where nobody derives it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.layer(features)
        return output if torch.is_grad_enabled() else output * (1 + 2**-20)


def everything() -> nn.Module:
    """Dropout and batch norm: what may differ between processes, if anything does."""
    return nn.Sequential(
        nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)
    )


def dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 16), nn.Dropout(0.5), nn.Linear(16, 3))


def pictures() -> FederatedData:
    """The same clients with small images of three channels."""
    data = federation()
    images = np.random.default_rng(3).standard_normal((len(data.targets), 3, 6, 6))
    return replace(data, features=images.astype(np.float32))


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 2), nn.Flatten(),
        nn.Dropout(0.2), nn.Linear(8, 3),
    )  # fmt: skip


class Viewing(nn.Module):
    """A network that insists on torch's own memory format."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 2, 3), nn.Linear(32, 3)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.fc(self.conv(features).view(-1, 32))


class Trap(nn.Module):
    """Does something to its process when it meets the triggering example."""

    def __init__(self, spring: Callable[[], None]) -> None:
        super().__init__()
        self.inner = small()
        self._spring = spring

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        if (features[:, 0] == TRIGGER).any():
            self._spring()
        return self.inner(features)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(flag: Path) -> None:
    if not flag.exists():
        flag.touch()
        die()


def complain() -> None:
    raise ArithmeticError("too\nmuch")


def hang() -> None:
    time.sleep(300)


def only_in(process: int) -> nn.Module:
    """A model that no other process can build."""
    if os.getpid() != process:
        raise LookupError("no such layer")
    return small()


def trapped(spring: Callable[[], None]) -> partial[nn.Module]:
    return partial(Trap, spring)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def pool(**changes: Any) -> ClientPool:
    settings: dict[str, Any] = {
        "data": federation(),
        "build_model": small,
        "training": LocalTraining(local_epochs=2, batch_size=4),
        "seed": 5,
        "path": "torch",
    }
    return ClientPool(**(settings | changes))
