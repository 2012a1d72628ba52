"""The pool of this process as the server sees any clients."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.experiments._build import build_model, build_pool
from fedmgda.experiments._partition import data_facts
from fedmgda.values import Cohort, DenseUpdates, Evaluation, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch import nn

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.clients import ClientPool
    from fedmgda.data import FederatedData
    from fedmgda.experiments._spec import Spec

__all__ = ["pool_clients"]


@contextmanager
def pool_clients(spec: Spec, data: FederatedData) -> Iterator[_PoolClients]:
    """Start the pool of a spec, and end it."""
    with build_pool(spec, data) as pool:
        yield _PoolClients(pool, data, build_model(spec, data))


@final
class _PoolClients:
    def __init__(
        self, pool: ClientPool, data: FederatedData, build: Callable[[], nn.Module]
    ) -> None:
        self._pool = pool
        self.num_clients = data.num_clients
        self.num_params, self.num_buffers = pool.num_params, pool.num_buffers
        self.path: str = pool.path
        self.client_names = data.client_names
        self.facts = data_facts(data, _layout(build))

    def initial_params(self) -> Vector:
        return self._pool.initial_params()

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        del gradients, known
        return self._pool.train_cohort(params, client_ids, round_num)

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        del predictions
        found = self._pool.evaluate(params, client_ids, split)
        return Evaluation(
            client_ids=found.client_ids,
            losses=found.losses,
            accuracies=found.accuracies,
            num_examples=found.num_examples,
        )

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Cohort:
        rows = self._pool.gradients(params, client_ids)
        ones = np.ones(len(rows))
        return Cohort(
            client_ids=client_ids, updates=DenseUpdates(rows), num_examples=ones, losses=ones
        )

    def close(self) -> None:
        self._pool.close()


def _layout(build: Callable[[], nn.Module]) -> tuple[Tensor, ...]:
    import torch  # noqa: PLC0415 (the clients' side)

    with torch.random.fork_rng(devices=[]):
        module = build().float()
    floats = [tensor for tensor in module.buffers() if tensor.is_floating_point()]
    starts, start = dict[int, int](), 0
    for tensor in [*module.parameters(), *floats]:
        starts[id(tensor)] = start
        start += tensor.numel()
    layout = []
    for name, tensor in module.state_dict(keep_vars=True).items():
        # Arrays in files have at least one dimension, so a single number gets one.
        shape, place = tuple(tensor.shape) or (1,), starts.get(id(tensor))
        kept = None if place is not None else tensor.detach().numpy().reshape(shape)
        layout.append(Tensor(name=name, shape=shape, start=place, value=kept))
    return tuple(layout)
