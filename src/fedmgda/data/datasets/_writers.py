"""The digits of MNIST by their true writers, whom QMNIST found again: not FEMNIST."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._dataset import Dataset
from fedmgda.data._federate import federate
from fedmgda.data._federated import Examples, Pixels
from fedmgda.data._partitions import natural_partition
from fedmgda.data.datasets._arrays import map_array
from fedmgda.data.datasets._images import read_idx
from fedmgda.data.datasets._mnist import MNIST_ORIGIN
from fedmgda.data.sources._archives import copy, gunzip, restore_plain, store_plain
from fedmgda.data.sources._origin import Download, Origin, Source, SourceError
from fedmgda.data.sources._verify import folder_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda.data._federated import FederatedData

__all__ = ["WRITERS", "load_writers"]

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
        return map_array(path)
    except ValueError as error:
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
    try:
        table = read_idx(content, name)
    except SourceError:
        table = np.empty(0)
    if table.ndim != 2 or table.shape[1] != 8:
        raise DataError(f"{name} in {folder} is damaged: it is no idx table of 8 columns.")
    return table.astype(np.int64)


_FILES = {
    "qmnist-train-labels-idx2-int": "1d43300e7f41ddcbf7fd006cbe865af9",
    "qmnist-test-labels-idx2-int": "5e00709fb0090091f3afc51d204ad83c",
}
_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"

_ORIGIN = Origin(
    name="writers",
    size=989_824,
    files=_FILES,
    sources=(
        Source(
            name="QMNIST repository",
            downloads=tuple(
                Download(client="https", address=f"{_QMNIST}{name}.gz", file=f"{name}.gz")
                for name in _FILES
            ),
        ),
    ),
    forms=dict.fromkeys(_FILES, copy) | {f"{name}.gz": gunzip for name in _FILES},
    store=store_plain,
    restore=restore_plain,
    home="https://github.com/facebookresearch/qmnist",
    needs=("mnist",),
)


WRITERS = Dataset(
    name="writers",
    title="who wrote each digit of MNIST",
    federation="836 clients, the writers, 8 to 131 digits each; not FEMNIST",
    licence="BSD 3-Clause (labels)",
    load=lambda _, seed: load_writers(folder_of(MNIST_ORIGIN), folder_of(_ORIGIN), seed=seed),
    model="femnist-cnn",
    clients="given",
    settings={"partition": "natural"},
    per_round=10,
    origin=_ORIGIN,
)
