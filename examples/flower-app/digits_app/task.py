"""The network, the data and the training loop of the app; nothing here knows of fedmgda."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TRAIN_SHARE = 0.8


class Net(nn.Module):
    """A small network with batch normalisation, whose running means are no parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 10)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of the ten digits."""
        scores: torch.Tensor = self.layers(x)
        return scores


Loader = DataLoader[tuple[torch.Tensor, ...]]


def load_data(partition: int, num_partitions: int, seed: int = 0) -> tuple[Loader, Loader]:
    """Return the training and test batches of one node: of the images sorted by digit, its share.

    Args:
        partition: Which node.
        num_partitions: Of how many.
        seed: Of the order in which it sees its training images.
    """
    images, digits = load_digits(return_X_y=True)
    order = torch.tensor(digits).argsort(stable=True)
    mine = order.chunk(num_partitions)[partition]
    mine = mine[torch.randperm(len(mine), generator=torch.Generator().manual_seed(partition))]
    x, y = torch.tensor(images, dtype=torch.float32) / 16.0, torch.tensor(digits)
    cut = int(TRAIN_SHARE * len(mine))
    train, test = (TensorDataset(x[rows], y[rows]) for rows in (mine[:cut], mine[cut:]))
    shuffled = torch.Generator().manual_seed(seed)
    return (
        DataLoader(train, batch_size=32, shuffle=True, generator=shuffled, drop_last=True),
        DataLoader(test, batch_size=256),
    )


def train(net: nn.Module, loader: Loader, lr: float) -> float:
    """Train for one epoch; return the mean loss of its batches."""
    net.train()
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=lr), []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def test(net: nn.Module, loader: Loader) -> tuple[float, float]:
    """Return mean loss and accuracy."""
    net.eval()
    loss, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            scores = net(x)
            loss += nn.functional.cross_entropy(scores, y, reduction="sum").item()
            right += int((scores.argmax(1) == y).sum())
            count += len(y)
    return loss / count, right / count
