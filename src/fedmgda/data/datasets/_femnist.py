"""FEMNIST: handwritten characters of 62 classes, one client per writer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._dataset import Dataset
from fedmgda.data._federate import federate
from fedmgda.data._federated import Examples, FederatedData, Pixels
from fedmgda.data._partitions import natural_partition
from fedmgda.data.datasets._leaf import read_hdf5, read_leaf
from fedmgda.data.sources._archives import copy, restore_plain, store_plain, unpack_tar
from fedmgda.data.sources._origin import Origin, SourceError
from fedmgda.data.sources._verify import folder_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Flags
    from fedmgda.data._dataset import Settings
    from fedmgda.data.datasets._leaf import Drawings

__all__ = ["FEMNIST", "load_femnist"]

_PIXELS = Pixels(mean=0.0, std=1.0)
_HDF5 = b"\x89HDF\r\n\x1a\n"


def load_femnist(folder: Path | str, *, seed: int) -> FederatedData:
    """Return the writers of a folder of LEAF or TensorFlow Federated files as clients.

    The name of a file (or of its folder, `train` or `test`) says what it holds. With both parts,
    every writer keeps its own training and test images and there is no validation split, as in the
    paper. With one part alone, each writer's images are split again, 80 / 10 / 10.

    LEAF stores the first image of most writers twice; a repeated image with the same label is kept
    once, the training copy if there is one. Images have shape `(1, 28, 28)`, with 1 for empty
    paper and 0 for ink.

    Args:
        folder: The folder with LEAF's `*.json`, or with `fed_emnist_train.h5` and
            `fed_emnist_test.h5`.
        seed: The seed of the local split, where there is one.

    Raises:
        DataError: If there is no such file, or it is not what it seems, or a writer has no image in
            one of the parts.
    """
    folder = Path(folder)
    paths = sorted([*folder.glob("**/*.json"), *folder.glob("**/*.h5"), *folder.glob("**/*.hdf5")])
    paths = [path for path in paths if path.name != "manifest.json"]
    if not paths:
        raise DataError(
            f"There is no LEAF .json or TensorFlow Federated .h5 file in {folder}; see the page on "
            "data for where FEMNIST comes from."
        )
    parts: list[tuple[str, bool, Drawings]] = []
    # Training files first: of an image in both parts, the training copy stays.
    for path in sorted(paths, key=_is_test):
        is_leaf = path.suffix == ".json"
        for writer, drawings in (read_leaf(path) if is_leaf else read_hdf5(path)).items():
            parts.append((writer, _is_test(path), drawings))
    if not parts:
        raise DataError(f"The files in {folder} hold no writer; make them again, or name another.")
    return _federation(parts, seed, distinct=any(path.suffix == ".json" for path in paths))


def _is_test(path: Path) -> bool:
    return "test" in path.stem or path.parent.name == "test"


def _federation(
    parts: list[tuple[str, bool, Drawings]], seed: int, *, distinct: bool
) -> FederatedData:
    names, writers = np.unique([writer for writer, _, _ in parts], return_inverse=True)
    sizes = [len(labels) for _, _, (_, labels) in parts]
    images = np.concatenate([images for _, _, (images, _) in parts])
    labels = np.concatenate([labels for _, _, (_, labels) in parts])
    groups = np.repeat(writers, sizes)
    tested = np.repeat([is_test for _, is_test, _ in parts], sizes)
    if distinct:
        kept = _first_copies(groups, labels, images)
        images, labels, groups, tested = images[kept], labels[kept], groups[kept], tested[kept]
    examples = Examples(
        name="femnist", features=images, targets=labels, num_classes=62, pixels=_PIXELS
    )
    owned = natural_partition(groups)
    if tested.all() or not tested.any():
        return federate(examples, owned, seed=seed, client_names=names.tolist())
    train = tuple(rows[~tested[rows]] for rows in owned)
    test = tuple(rows[tested[rows]] for rows in owned)
    for name, *rows in zip(names, train, test, strict=True):
        if min(len(own) for own in rows) == 0:
            raise DataError(
                f"Writer {str(name)!r} has no image for {'training' if len(rows[1]) else 'testing'}"
                "; make the files with LEAF's option '-t sample', which splits every writer."
            )
    return FederatedData(
        name="femnist",
        features=images,
        targets=labels,
        train=train,
        validation=tuple(np.empty(0, dtype=np.int64) for _ in owned),
        test=test,
        num_classes=62,
        pixels=_PIXELS,
        client_names=tuple(names.tolist()),
    )


def _first_copies(
    groups: NDArray[np.int64], labels: NDArray[np.int64], images: NDArray[np.uint8]
) -> Flags:
    """Return which images are no repetition of an earlier one of the same writer and label."""
    seen: set[tuple[int, int, bytes]] = set()
    kept = np.ones(len(groups), dtype=np.bool_)
    for row, key in enumerate(zip(groups.tolist(), labels.tolist(), images, strict=True)):
        signature = (key[0], key[1], key[2].tobytes())
        kept[row] = signature not in seen
        seen.add(signature)
    return kept


def _take_leaf(path: Path, folder: Path) -> None:
    with path.open("rb") as file:
        if b'"users"' not in file.read(4096):
            raise SourceError(f"{path.name} is not a LEAF file: it does not begin with its users")
    copy(path, folder)


def _take_hdf5(path: Path, folder: Path) -> None:
    with path.open("rb") as file:
        if file.read(8) != _HDF5:
            raise SourceError(f"{path.name} is not an HDF5 file")
    copy(path, folder)


_ORIGIN = Origin(
    name="femnist",
    size=0,
    files={},
    sources=(),
    forms={
        "*.json": _take_leaf,
        "*.h5": _take_hdf5,
        "*.hdf5": _take_hdf5,
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


def _load(settings: Settings, seed: int) -> FederatedData:
    path = settings.get("path")
    return load_femnist(Path(path) if path else folder_of(_ORIGIN), seed=seed)


FEMNIST = Dataset(
    name="femnist",
    title="characters by writer",
    federation="one client per writer: 3,400 (TFF) or as many as the LEAF files hold",
    licence="public domain (NIST SD 19)",
    load=_load,
    model="femnist-cnn",
    clients="given",
    settings={"partition": "natural"},
    options=("path",),
    per_round=10,
    origin=_ORIGIN,
)
