"""The local epoch as any torch tutorial writes it: a DataLoader, an optimiser, a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from _work import BATCH_SIZE, CLIENT_LR
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

if TYPE_CHECKING:
    from torch import Tensor, nn


def train_locally(model: nn.Module, images: Tensor, targets: Tensor) -> None:
    """Train a model for one epoch of shuffled batches, in place."""
    loader = DataLoader(TensorDataset(images, targets), batch_size=BATCH_SIZE, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=CLIENT_LR)
    model.train()
    for features, classes in loader:
        optimizer.zero_grad()
        functional.cross_entropy(model(features), classes).backward()
        optimizer.step()
