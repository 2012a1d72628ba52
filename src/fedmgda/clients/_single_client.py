"""One client, one round, without a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from fedmgda.clients._block import gather
from fedmgda.clients._settings import Settings
from fedmgda.clients._torch_trainer import TorchTrainer, one_thread
from fedmgda.clients._work import LocalWork, Rows, cohort_of
from fedmgda.data import FederatedData
from fedmgda.models import takes_channels_last

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike
    from torch import nn

    from fedmgda._types import Vector
    from fedmgda.clients._settings import Device, ReportedLoss
    from fedmgda.clients._training import LocalTraining
    from fedmgda.data import Pixels
    from fedmgda.values import Cohort

__all__ = ["train_client"]


def train_client(  # noqa: PLR0913 - what a pool and its `train_cohort` take, for one client
    params: Vector,
    features: ArrayLike,
    targets: ArrayLike,
    *,
    build_model: Callable[[], nn.Module],
    training: LocalTraining,
    seed: int,
    round_num: int,
    client_id: int,
    pixels: Pixels | None = None,
    reported_loss: ReportedLoss = "before",
    gradients: bool = False,
    device: Device = "cpu",
) -> Cohort:
    """Train a model on one client's examples: what the client itself does in a deployment.

    The result has the bits that the pool gives this client on the torch path.

    Args:
        params: Of shape `(d + num_buffers,)`, w_t and the float buffers.
        features: Of shape `(n, ...)`: the client's training examples.
        targets: Of shape `(n,)`.
        build_model: Returns a new module.
        training: The hyper-parameters of local SGD.
        seed: The seed of the experiment.
        round_num: The round, 1 for the first.
        client_id: Whose generator orders the examples.
        pixels: For features that are bytes of images, how they are scaled.
        reported_loss: As for `ClientPool`.
        gradients: Whether ∇f_i(w_t) and f_i(w_t) are wanted too, in eval mode.
        device: Where torch computes.

    Returns:
        A cohort of one client.

    Raises:
        ValueError: If there are no examples, or the model has another size; what the model itself
            raises goes through.

    >>> from functools import partial
    >>> from fedmgda.clients import LocalTraining
    >>> from fedmgda.models import linear
    >>> cohort = train_client(
    ...     np.zeros(4, np.float32), [[0.5], [1.0]], [0, 1], build_model=partial(linear, 1, 2),
    ...     training=LocalTraining(batch_size=None, client_lr=0.5),
    ...     seed=3, round_num=1, client_id=7,
    ... )
    >>> cohort.client_ids, cohort.updates.rows.round(4).tolist()
    ((7,), [[0.0625, -0.0625, 0.0, 0.0]])
    """
    n = len(np.asarray(targets))
    if not n:
        raise ValueError("A client needs at least one example to train on, got none.")
    mine = (np.arange(n),)
    data = FederatedData(
        name="one client",
        features=np.asarray(features),
        targets=np.asarray(targets),
        train=mine,
        validation=mine,
        test=mine,
        num_classes=None,
        pixels=pixels,
    )
    # Two examples decide the memory format, as in a pool, also for a client that has one.
    shown = gather(data, np.arange(2) % n).features
    settings = Settings(
        build_model=build_model,
        training=training,
        seed=seed,
        reported_loss=reported_loss,
        channels_last=takes_channels_last(build_model, shown),
        device=device,
    )
    trainer = TorchTrainer(data, settings)
    work = LocalWork(round_num=round_num, gradients=gradients)
    rows = Rows.for_work(work, 1, trainer.model.num_params, trainer.model.num_buffers)
    with one_thread(), torch.random.fork_rng(devices=[]):
        block = trainer.block(data.train[0])
        outcome = trainer.perform_on(block, work, client_id, params, None, rows.of(0))
    return cohort_of(work, [client_id], [n], [outcome], rows, trainer.model.num_params)
