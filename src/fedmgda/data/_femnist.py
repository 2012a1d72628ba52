"""FEMNIST: handwritten characters of 62 classes, one client per writer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._examples import Examples
from fedmgda.data._federate import federate
from fedmgda.data._federated import FederatedData, Pixels
from fedmgda.data._leaf import read_hdf5, read_leaf
from fedmgda.data._partitions import natural_partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda.data._leaf import Drawings

__all__ = ["load_femnist"]

_PIXELS = Pixels(mean=0.0, std=1.0)


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
    hands = natural_partition(groups)
    if tested.all() or not tested.any():
        return federate(examples, hands, seed=seed, client_names=names.tolist())
    train = tuple(hand[~tested[hand]] for hand in hands)
    test = tuple(hand[tested[hand]] for hand in hands)
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
        validation=tuple(np.empty(0, dtype=np.int64) for _ in hands),
        test=test,
        num_classes=62,
        pixels=_PIXELS,
        client_names=tuple(names.tolist()),
    )


def _first_copies(
    groups: NDArray[np.int64], labels: NDArray[np.int64], images: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Return which images are no repetition of an earlier one of the same writer and label."""
    seen: set[tuple[int, int, bytes]] = set()
    kept = np.ones(len(groups), dtype=np.bool_)
    for row, key in enumerate(zip(groups.tolist(), labels.tolist(), images, strict=True)):
        signature = (key[0], key[1], key[2].tobytes())
        kept[row] = signature not in seen
        seen.add(signature)
    return kept
