"""Compiled kernels for small networks: local SGD and scoring without torch in the loop."""

from fedmgda.kernels._client import score, train
from fedmgda.kernels._prepare import prepare
from fedmgda.kernels._program import Program, translate

__all__ = ["Program", "prepare", "score", "train", "translate"]
