"""Images in the cache: arrays that are mapped into memory, and the idx files behind them."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._federated import Examples, Pixels
from fedmgda.data.datasets._arrays import map_array
from fedmgda.data.sources._origin import SourceError
from fedmgda.data.sources._verify import folder_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fedmgda.data.sources._origin import Origin

__all__ = ["IDX_FILES", "Part", "load_images", "read_idx", "restore_idx", "store_idx", "write_idx"]

Part: TypeAlias = Literal["train", "test"]

IDX_FILES = {
    "train-images-idx3-ubyte": "train-images.npy",
    "train-labels-idx1-ubyte": "train-labels.npy",
    "t10k-images-idx3-ubyte": "test-images.npy",
    "t10k-labels-idx1-ubyte": "test-labels.npy",
}
"""The official files, and the arrays they become."""

_TYPES = {0x08: ">u1", 0x0C: ">i4"}


def read_idx(content: bytes, name: str) -> NDArray[Any]:
    """Return the array of an idx file, in the byte order of the file.

    Raises:
        SourceError: If the header is not one, or does not fit the length.
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES:
        raise SourceError(f"{name} is not an idx file")
    start = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:start]) if len(content) >= start else ()
    dtype = np.dtype(_TYPES[content[2]])
    if len(content) - start != dtype.itemsize * math.prod(shape):
        raise SourceError(f"{name} has {len(content)} bytes, which its header {shape} denies")
    try:
        return np.frombuffer(content, dtype, offset=start).reshape(shape)
    except ValueError as error:  # more sides, or longer ones beside one of 0, than arrays have
        raise SourceError(f"{name} is of a shape that no array has ({error})") from error


def write_idx(array: NDArray[Any]) -> bytes:
    """Return the idx file of an array of bytes."""
    header = bytes([0, 0, 0x08, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + np.ascontiguousarray(array, dtype=np.uint8).tobytes()


def store_idx(raw: Path, folder: Path) -> None:
    """Keep images as `(n, 1, H, W)` bytes, as a convolution wants them, and labels as int64."""
    for official, cached in IDX_FILES.items():
        array = read_idx((raw / official).read_bytes(), official)
        array = array[:, None] if array.ndim == 3 else array.astype(np.int64)
        np.save(folder / cached, array.astype(array.dtype.newbyteorder("=")))


def restore_idx(folder: Path, official: str) -> bytes:
    """Make the official file again."""
    array = map_array(folder / IDX_FILES[official])
    return write_idx(array[:, 0] if array.ndim == 4 else array)


def load_images(origin: Origin, part: Part, shape: tuple[int, ...], pixels: Pixels) -> Examples:
    """Return images and labels of ten classes from the cache: mapped into memory, never copied.

    Args:
        origin: The data set.
        part: Which of its two parts.
        shape: Of all images, `(n, channels, height, width)`.
        pixels: How their bytes are scaled.

    Raises:
        DataError: If the data set is not in the cache or its files are damaged.
    """
    folder = folder_of(origin)
    return Examples(
        name=origin.name,
        features=_map(folder / f"{part}-images.npy", shape, np.uint8),
        targets=_map(folder / f"{part}-labels.npy", shape[:1], np.int64),
        num_classes=10,
        pixels=pixels,
    )


def _map(path: Path, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    remedy = f"get it again with: fedmgda data fetch {path.parent.name}"
    try:
        array = map_array(path)
    except ValueError as error:
        raise DataError(f"{path} is damaged ({error}); {remedy}") from error
    if array.shape != shape or array.dtype != dtype:
        raise DataError(
            f"{path} is damaged: it holds {array.shape} {array.dtype} instead of {shape}; {remedy}"
        )
    return array
