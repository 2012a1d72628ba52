"""Pooled images from the cache: mapped into memory, never copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._examples import Examples
from fedmgda.data._federated import Pixels
from fedmgda.data.sources._catalogue import dataset_folder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Part", "load_cifar10", "load_fashion_mnist", "load_mnist"]

Part: TypeAlias = Literal["train", "test"]

_MNIST_PIXELS = Pixels(mean=0.1307, std=0.3081)  # the released code uses MNIST's for both
_SIZES: dict[str, dict[Part, int]] = {
    "cifar10": {"train": 50_000, "test": 10_000},
    "fashion-mnist": {"train": 60_000, "test": 10_000},
    "mnist": {"train": 60_000, "test": 10_000},
}


def load_fashion_mnist(part: Part = "train") -> Examples:
    """Return the 60,000 training images, for the federation, or the 10,000 official test images.

    The features are of shape `(n, 1, 28, 28)`, bytes.

    Raises:
        DataError: If Fashion-MNIST is not in the cache or its files are damaged.
    """
    return _load("fashion-mnist", part, (1, 28, 28), _MNIST_PIXELS)


def load_mnist(part: Part = "train") -> Examples:
    """Return MNIST in the same form.

    Raises:
        DataError: If MNIST is not in the cache or its files are damaged.
    """
    return _load("mnist", part, (1, 28, 28), _MNIST_PIXELS)


def load_cifar10(part: Part = "train") -> Examples:
    """Return the 50,000 training images, for the federation, or the 10,000 official test images.

    The features are of shape `(n, 3, 32, 32)`, bytes.

    Raises:
        DataError: If CIFAR-10 is not in the cache or its files are damaged.
    """
    return _load("cifar10", part, (3, 32, 32), Pixels(mean=0.5, std=0.5))


def _load(name: str, part: Part, shape: tuple[int, ...], pixels: Pixels) -> Examples:
    folder, rows = dataset_folder(name), _SIZES[name][part]
    return Examples(
        name=name,
        features=_map(folder / f"{part}-images.npy", (rows, *shape), np.uint8),
        targets=_map(folder / f"{part}-labels.npy", (rows,), np.int64),
        num_classes=10,
        pixels=pixels,
    )


def _map(path: Path, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    remedy = f"get it again with: fedmgda data fetch {path.parent.name}"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is damaged ({error}); {remedy}") from error
    if array.shape != shape or array.dtype != dtype:
        raise DataError(
            f"{path} is damaged: it holds {array.shape} {array.dtype} instead of {shape}; {remedy}"
        )
    return array
