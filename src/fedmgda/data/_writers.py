"""The digits of MNIST by their true writers, whom QMNIST found again: not FEMNIST."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._examples import Examples
from fedmgda.data._federate import federate
from fedmgda.data._federated import Pixels
from fedmgda.data._partitions import natural_partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda.data._federated import FederatedData

__all__ = ["load_writers"]

_MNIST_TEST = 10_000
_MAX_BYTES = 2**23


def load_writers(mnist: Path | str, labels: Path | str, *, seed: int) -> FederatedData:
    """Return MNIST's 70,000 digits as 836 clients, each a person who wrote 8 to 131 of them.

    The clients' names are NIST's numbers of the writers. Each writer's digits are split 80 / 10 /
    10; pixels are scaled with MNIST's mean and deviation, 0.1307 and 0.3081.

    Args:
        mnist: The folder with MNIST as arrays: `train-images.npy`, `train-labels.npy`,
            `test-images.npy` and `test-labels.npy`; images of shape `(n, 1, 28, 28)`.
        labels: The folder with `qmnist-train-labels-idx2-int` and `qmnist-test-labels-idx2-int`,
            as they are or compressed (.gz).
        seed: The seed of the local split.

    Raises:
        DataError: If a file is missing or damaged, or the digits of the two sources differ.
    """
    images, digits, writers = [], [], []
    for part in ("train", "test"):
        images.append(_read_array(Path(mnist) / f"{part}-images.npy"))
        digits.append(np.asarray(_read_array(Path(mnist) / f"{part}-labels.npy"), dtype=np.int64))
        known = _read_labels(Path(labels), f"qmnist-{part}-labels-idx2-int")
        # QMNIST's test set goes on where MNIST's was cut off.
        known = known[:_MNIST_TEST] if part == "test" else known
        if not np.array_equal(known[:, 0], digits[-1]):
            raise DataError(
                f"The {part} digits of MNIST in {mnist} and of QMNIST in {labels} differ; fetch "
                "both again."
            )
        writers.append(known[:, 2])
    names, groups = np.unique(np.concatenate(writers), return_inverse=True)
    examples = Examples(
        name="writers",
        features=np.concatenate(images),
        targets=np.concatenate(digits),
        num_classes=10,
        pixels=Pixels(mean=0.1307, std=0.3081),
    )
    return federate(
        examples,
        natural_partition(groups),
        seed=seed,
        client_names=[str(name) for name in names],
    )


def _read_array(path: Path) -> NDArray[Any]:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(
            f"{path} cannot be read ({error}); get it with: fedmgda data fetch mnist."
        ) from error


def _read_labels(folder: Path, name: str) -> NDArray[Any]:
    """Return the label table, of shape `(n, 8)`: digit, series, writer and so on."""
    plain, packed = folder / name, folder / f"{name}.gz"
    try:
        with plain.open("rb") if plain.is_file() else gzip.open(packed) as file:
            content = file.read(_MAX_BYTES)
    except (OSError, EOFError) as error:
        raise DataError(
            f"There is no readable {name} or {name}.gz in {folder} ({error}); get it with: fedmgda "
            "data fetch writers."
        ) from error
    if content[:4] != bytes([0, 0, 0x0C, 2]) or (len(content) - 12) % 32:
        raise DataError(f"{name} in {folder} is damaged: it is no idx table of 8 columns.")
    return np.frombuffer(content, ">i4", offset=12).reshape(-1, 8).astype(np.int64)
