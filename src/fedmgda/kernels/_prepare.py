"""Compile before the first round rather than in it, and say so where it is done."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numba.core import event

from fedmgda.kernels._client import score, train
from fedmgda.kernels._kept import is_kept
from fedmgda.kernels._layout import DENSE, LANES, LAYER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["prepare"]

_log = logging.getLogger("fedmgda")


@final
class _Announcement(event.Listener):
    """Says so when the first kernel is compiled; what is loaded from disk is not."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, _: Any) -> None:
        if not self.said:
            _log.warning("Compiling the kernels for small networks: about ten seconds, once.")
        self.said = True

    def on_end(self, _: Any) -> None:
        pass


def prepare(arrays: Sequence[NDArray[Any]]) -> None:
    """Load or compile the kernels for data of these types (features, table, classes, values)."""
    compiling = _Announcement()
    with event.install_listener("numba:compile", compiling):
        _touch(tuple(arrays))
    if compiling.said and not (is_kept(train) and is_kept(score)):
        _log.warning(
            "They could not be kept on disk, so the next process compiles them again; name a "
            "folder that can be written in the environment variable NUMBA_CACHE_DIR."
        )


def _touch(arrays: tuple[NDArray[Any], ...]) -> None:
    """Call both kernels, for no example, with one dense unit."""
    layers = np.zeros(1, LAYER)
    layers["kind"], layers["row"], layers["features"], layers["size"] = DENSE, LANES, 1, 1
    layers["outputs"], layers["biases"], layers["end"] = LANES, LANES, 2 * LANES
    params, noise = np.zeros(2 * LANES, np.float32), np.zeros(1, np.uint64)
    rows = np.zeros((0, 1), np.int64)
    train(layers, params, params.copy(), *arrays, rows, 1, 0.0, 0.0, 0.0, 1.0, False, noise)
    score(layers, params, *arrays, rows.reshape(-1), rows.reshape(-1), False)
