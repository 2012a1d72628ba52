"""Handwriting with its writers: FEMNIST from the user's disk, and the writers of MNIST's digits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fedmgda.data.sources._archives import copy, gunzip, unpack_tar
from fedmgda.data.sources._dataset import Dataset, Download, Source, SourceError
from fedmgda.data.sources._plain import restore_plain, store_plain

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FEMNIST", "WRITERS"]

_LABELS = {
    "qmnist-train-labels-idx2-int": "1d43300e7f41ddcbf7fd006cbe865af9",
    "qmnist-test-labels-idx2-int": "5e00709fb0090091f3afc51d204ad83c",
}
_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"
_HDF5 = b"\x89HDF\r\n\x1a\n"


def _leaf(path: Path, folder: Path) -> None:
    with path.open("rb") as file:
        if b'"users"' not in file.read(4096):
            raise SourceError(f"{path.name} is not a LEAF file: it does not begin with its users")
    copy(path, folder)


def _hdf5(path: Path, folder: Path) -> None:
    with path.open("rb") as file:
        if file.read(8) != _HDF5:
            raise SourceError(f"{path.name} is not an HDF5 file")
    copy(path, folder)


WRITERS = Dataset(
    name="writers",
    title="who wrote each digit of MNIST",
    federation="836 clients, the writers, 8 to 131 digits each; not FEMNIST",
    licence="BSD 3-Clause (labels)",
    size=989_824,
    files=_LABELS,
    sources=(
        Source(
            name="QMNIST repository",
            downloads=tuple(
                Download(client="https", address=f"{_QMNIST}{name}.gz", file=f"{name}.gz")
                for name in _LABELS
            ),
        ),
    ),
    forms=dict.fromkeys(_LABELS, copy) | {f"{name}.gz": gunzip for name in _LABELS},
    store=store_plain,
    restore=restore_plain,
    home="https://github.com/facebookresearch/qmnist",
    needs=("mnist",),
)

FEMNIST = Dataset(
    name="femnist",
    title="characters by writer",
    federation="one client per writer: 3,400 (TFF) or as many as the LEAF files hold",
    licence="public domain (NIST SD 19)",
    size=0,
    files={},
    sources=(),
    forms={
        "*.json": _leaf,
        "*.h5": _hdf5,
        "*.hdf5": _hdf5,
        "fed_emnist.tar.bz2": partial(
            unpack_tar,
            inside="",
            names=("fed_emnist_train.h5", "fed_emnist_test.h5"),
            max_bytes=8 << 30,
        ),
    },
    store=store_plain,
    restore=restore_plain,
    home="LEAF (https://leaf.cmu.edu) or TensorFlow Federated",
)
