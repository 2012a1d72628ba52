"""Images by their writers, from files in LEAF's JSON or TensorFlow Federated's HDF5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fedmgda._errors import DataError, MissingDependencyError
from fedmgda._json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Drawings", "read_hdf5", "read_leaf"]

Drawings: TypeAlias = "tuple[NDArray[np.uint8], NDArray[np.int64]]"
"""Images of shape `(n, 1, 28, 28)`, 255 where the paper is empty, and their classes, `(n,)`."""

_NUM_CLASSES = 62
_MAX_JSON = 2**30
_MAX_HDF5 = 2**33


def read_leaf(path: Path) -> dict[str, Drawings]:
    """Read a LEAF file of at most 1 GiB: `users` and, for each, `user_data` with `x` and `y`.

    Raises:
        DataError: If it is not such a file, or an image or a class is not one.
    """
    _check_size(path, _MAX_JSON)
    try:
        content = read_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as JSON: {error}.") from error
    try:
        users = {user: content["user_data"][user] for user in content["users"]}
        pairs = {user: (data["x"], data["y"]) for user, data in users.items()}
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path.name} is not a LEAF file: it needs 'users' and for each of them 'user_data' "
            f"with 'x' and 'y' (missing or of another kind: {error})."
        ) from error
    return {user: _drawings(path, user, *pair) for user, pair in pairs.items()}


def read_hdf5(path: Path) -> dict[str, Drawings]:
    """Read a file of TensorFlow Federated's EMNIST: examples / writer / pixels and label."""
    try:
        import h5py  # noqa: PLC0415 (optional)
    except ImportError as error:
        raise MissingDependencyError(
            f"Reading {path.name} needs h5py; install it with: pip install h5py."
        ) from error
    _check_size(path, _MAX_HDF5)
    try:
        with h5py.File(path, "r") as file:
            return {
                writer: _drawings(path, writer, group["pixels"][()], group["label"][()])
                for writer, group in file["examples"].items()
            }
    except (OSError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path.name} is not an HDF5 file of examples / writer / pixels, label: {error}."
        ) from error


def _drawings(path: Path, writer: str, images: Any, labels: Any) -> Drawings:
    """Check what a writer drew, and keep it as the bytes it was made from."""
    pixels = _array(lambda: np.asarray(images, dtype=np.float32).reshape(len(labels), 784))
    classes = _array(lambda: np.asarray(labels, dtype=np.float64).reshape(-1))
    if pixels is None or classes is None or len(classes) == 0:
        raise DataError(
            f"Writer {writer!r} in {path.name} must have as many images of 784 numbers as labels, "
            "and at least one."
        )
    if not np.all((pixels >= 0) & (pixels <= 1)):
        raise DataError(f"Writer {writer!r} in {path.name} has a pixel outside [0, 1].")
    whole = (classes == np.rint(classes)) & (classes >= 0) & (classes < _NUM_CLASSES)
    if not whole.all():
        wrong = classes[~whole][0]
        raise DataError(
            f"Writer {writer!r} in {path.name} has the label {wrong:g}; labels go from 0 to 61."
        )
    drawn = np.rint(pixels * 255).astype(np.uint8).reshape(-1, 1, 28, 28)
    return drawn, classes.astype(np.int64)


def _array(make: Callable[[], NDArray[Any]]) -> NDArray[Any] | None:
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            return make()
    except (ValueError, TypeError, OverflowError):  # the last: an integer of 400 digits
        return None


def _check_size(path: Path, limit: int) -> None:
    if path.stat().st_size > limit:
        raise DataError(f"{path.name} has {path.stat().st_size} bytes, more than {limit}.")
