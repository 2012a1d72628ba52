"""A model of a user's own that has running statistics."""

from torch import nn


def model():
    return nn.Sequential(nn.Linear(64, 4), nn.BatchNorm1d(4), nn.Linear(4, 10))


def with_dropout():
    return nn.Sequential(
        nn.Linear(64, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 10)
    )
