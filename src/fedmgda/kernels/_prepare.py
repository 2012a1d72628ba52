"""Compile before the first round rather than in it, and say so where it takes time."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.kernels._client import score, train
from fedmgda.kernels._layout import DENSE, LANES, LAYER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["prepare"]

_PATIENCE = 1.0  # seconds: what is stored on disk is loaded sooner
_log = logging.getLogger("fedmgda")


def prepare(arrays: Sequence[NDArray[Any]]) -> None:
    """Load or compile the kernels for data of these types (features, table, classes, values)."""
    work = threading.Thread(target=_touch, args=(tuple(arrays),))
    work.start()
    work.join(_PATIENCE)
    if work.is_alive():
        _log.warning("Compiling the kernels for small networks: about ten seconds, once.")
        work.join()


def _touch(arrays: tuple[NDArray[Any], ...]) -> None:
    """Call both kernels, for no example, with one dense unit."""
    layers = np.zeros(1, LAYER)
    layers["kind"], layers["row"], layers["features"], layers["size"] = DENSE, LANES, 1, 1
    layers["outputs"], layers["biases"], layers["end"] = LANES, LANES, 2 * LANES
    params, noise = np.zeros(2 * LANES, np.float32), np.zeros(1, np.uint64)
    rows = np.zeros((0, 1), np.int64)
    train(layers, params, params.copy(), *arrays, rows, 1, 0.0, 0.0, 0.0, 1.0, False, noise)
    score(layers, params, *arrays, rows.reshape(-1), rows.reshape(-1), False)
