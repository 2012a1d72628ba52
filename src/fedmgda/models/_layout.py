"""Whether a module can work with the channels of its images last in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from fedmgda.models._flat import FlatModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["takes_channels_last"]


def takes_channels_last(build_model: Callable[[], nn.Module], features: Tensor) -> bool:
    """Try the memory format in which convolutions are fastest on small batches.

    The format changes no meaning, but a module that cuts up its activations with `view` instead
    of `reshape` raises: it is left in torch's own format.

    Args:
        build_model: Returns a new module.
        features: Of shape `(n, ...)`: a few examples as the clients will see them.
    """
    with torch.random.fork_rng(devices=[]):
        module = build_model()
        if not len(features) or not any(isinstance(part, nn.Conv2d) for part in module.modules()):
            return False
        model = FlatModel(module, channels_last=True)
        if features.ndim == 4:
            features = features.contiguous(memory_format=torch.channels_last)
        try:
            for training in (True, False):
                model.module.train(training)(features).sum().backward()
        except Exception:  # noqa: BLE001 - whatever it is, the plain format is the way to find out
            return False
    return True
