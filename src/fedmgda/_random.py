"""Randomness as a value: every generator is a function of the seed and of what it is for."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

__all__ = ["Stream", "generator"]


class Stream(IntEnum):
    """What a generator is for. Two streams of one seed are independent."""

    SAMPLING = 0
    CLIENT = 1
    INITIAL_MODEL = 2
    PARTITION = 3
    LOCAL_SPLIT = 4
    SYNTHETIC = 5
    ATTACK = 6
    COMPARISON = 7


def generator(seed: int, stream: Stream, *key: int) -> np.random.Generator:
    """Return the generator of `stream` for `key`, for example `(round_num, client_id)`.

    The key is a spawn key rather than more entropy: NumPy pads short entropy with zeros, so that
    the plain seeds `(3, 1)` and `(3, 1, 0)` would give the same numbers.

    >>> a = generator(3, Stream.CLIENT, 1)
    >>> b = generator(3, Stream.CLIENT, 1, 0)
    >>> a.integers(1000, size=4).tolist() == b.integers(1000, size=4).tolist()
    False
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(stream), *key)))
