"""Local training as one writes it with torch alone, to compare ours with.

There is no DataLoader: batches are slices of shuffled tensors, so that what is compared is the
arithmetic and not the overhead of reading.
"""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.pool import Pool

    from torch import Tensor


def plain_module(module: nn.Module) -> nn.Module:
    """Return the module with torch's own local response normalisation for ours."""
    if not isinstance(module, nn.Sequential):
        return module
    for i, layer in enumerate(module):
        if type(layer).__name__ == "LocalResponseNorm":
            module[i] = nn.LocalResponseNorm(2, alpha=1e-4, beta=0.75, k=1.0)
    return module


def train(module: nn.Module, features: Tensor, targets: Tensor, batch_size: int) -> None:
    """Train a module for one epoch of shuffled batches, in place."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    order = torch.randperm(len(targets))
    features, targets = features[order], targets[order]
    module.train()
    for start in range(0, len(targets), batch_size):
        part = slice(start, start + batch_size)
        optimizer.zero_grad()
        loss = functional.cross_entropy(module(features[part]), targets[part])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def plain_pool(workers: int) -> Pool:
    """Return processes of one thread each, started and warm."""
    pool = multiprocessing.get_context("spawn").Pool(workers, torch.set_num_threads, (1,))
    pool.map(abs, range(workers))
    return pool


def train_client(
    job: tuple[Callable[[], nn.Module], tuple[int, ...], int, int],
) -> Tensor:
    """Train a fresh module on random images in a worker; return its parameters.

    The job is the module, the shape of an input, the number of examples and the batch size.
    """
    build, shape, num_examples, batch_size = job
    module = plain_module(build())
    images, classes = torch.randn(num_examples, *shape), torch.randint(10, (num_examples,))
    train(module, images, classes, batch_size)
    return nn.utils.parameters_to_vector(module.parameters()).detach()
