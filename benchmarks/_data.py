"""The data of the benchmarks, from the library's cache, so that no run needs a network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from _measure import BENCH
from fedmgda.data import (
    FederatedData,
    Pixels,
    iid_partition,
    load_adult,
    load_fashion_mnist,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

W1_USERS, W1_EXAMPLES = 100, 480


def export_w1() -> Path:
    """Write 100 users with 480 images each to `.bench/w1`, once; return the folder."""
    folder = BENCH / "w1"
    if not (folder / "targets.npy").exists():
        folder.mkdir(parents=True, exist_ok=True)
        source = load_fashion_mnist()
        hands = iid_partition(len(source.targets), W1_USERS, np.random.default_rng(0))
        rows = np.stack([hand[:W1_EXAMPLES] for hand in hands])
        np.save(folder / "images.npy", source.features[rows].reshape(*rows.shape, 28, 28))
        np.save(folder / "targets.npy", source.targets[rows])
    return folder


def w1_data(path: Path) -> FederatedData:
    """Return the exported users of W1 as a federation; the images stay in their file."""
    images = np.load(path / "images.npy", mmap_mode="r")
    users, size = images.shape[:2]
    return _federation(
        images.reshape(users * size, 1, 28, 28),
        np.load(path / "targets.npy").reshape(-1),
        np.arange(users * size).reshape(users, size),
        Pixels(mean=0.1307, std=0.3081),
    )


def adult_data() -> FederatedData:
    """Return Adult in two clients of 413 and 32,148 rows, the sizes of its two domains."""
    data = load_adult()
    rows = np.arange(32_561)
    return replace(data, train=(rows[:413], rows[413:]))


def random_images(shape: tuple[int, ...], users: int, size: int) -> FederatedData:
    """Return clients of `size` random images of ten classes: time does not depend on them."""
    rng = np.random.default_rng(0)
    return _federation(
        rng.integers(256, size=(users * size, *shape), dtype=np.uint8),
        rng.integers(10, size=users * size),
        np.arange(users * size).reshape(users, size),
        Pixels(mean=0.5, std=0.5),
    )


def random_texts(length: int, users: int, size: int) -> FederatedData:
    """Return clients of `size` random texts of 80 symbols."""
    rng = np.random.default_rng(0)
    return _federation(
        rng.integers(80, size=(users * size, length), dtype=np.uint8),
        rng.integers(80, size=users * size),
        np.arange(users * size).reshape(users, size),
        None,
    )


def random_rows(num_features: int, users: int, size: int) -> FederatedData:
    """Return clients of `size` rows of random numbers in two classes."""
    rng = np.random.default_rng(0)
    return _federation(
        rng.normal(size=(users * size, num_features)).astype(np.float32),
        rng.integers(2, size=users * size),
        np.arange(users * size).reshape(users, size),
        None,
    )


def _federation(
    features: NDArray[Any], targets: NDArray[Any], rows: NDArray[Any], pixels: Pixels | None
) -> FederatedData:
    nothing = (np.empty(0, np.int64),) * len(rows)
    return FederatedData(
        name="benchmark",
        features=features,
        targets=targets,
        train=tuple(rows),
        validation=nothing,
        test=nothing,
        num_classes=int(targets.max()) + 1,
        pixels=pixels,
    )
