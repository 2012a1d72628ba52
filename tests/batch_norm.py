"""Models of a user's own: with running statistics, and with dropout that nothing switches off."""

from torch import nn
from torch.nn import functional


def model():
    return nn.Sequential(nn.Linear(64, 4), nn.BatchNorm1d(4), nn.Linear(4, 10))


def with_dropout():
    return nn.Sequential(
        nn.Linear(64, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 10)
    )


class Fickle(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(64, 10)

    def forward(self, images):
        return self.last(functional.dropout(images, 0.3))
