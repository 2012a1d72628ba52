"""The user's own arrays: npz archives, read without trusting a byte of them."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError
from fedmgda._npy import read_npy_header
from fedmgda._paths import kind_of
from fedmgda._text import shown, told_apart
from fedmgda.data._federated import Examples, Pixels
from fedmgda.data.own._values import LARGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda.data.own._table import LearningTask

__all__ = ["join_npz", "load_npz"]

_MAX_BYTES = 2**33
_ENCRYPTED = 1  # the flag of a zip entry


def load_npz(path: Path | str, *, task: LearningTask | None = None) -> Examples:
    """Read an npz file with arrays `features`, `targets` and, if examples have owners, `client`.

    Features are numbers of shape `(n, ...)` and are taken as they are; bytes (uint8) of shape
    `(n, height, width)` or more are images, and become numbers in [0, 1]. Whole-number or text
    targets are classes, in their own order; floating-point targets are regressed on. A `task`
    overrides this: whole floating-point numbers may be classes, and integers be regressed on.

    Raises:
        DataError: If the file is missing, damaged or encrypted, holds pickled objects or more than
            8 GiB, a number is not below 1e30, or its arrays do not fit together or the task.
    """
    path = Path(path)
    arrays = _read_npz(path)
    return _examples(path.name, arrays["features"], arrays["targets"], arrays.get("client"), task)


def join_npz(path: Path, files: list[Path], task: LearningTask | None) -> Examples:
    arrays = [_read_npz(file) for file in files]
    shape = arrays[0]["features"].shape[1:]
    for file, content in zip(files, arrays, strict=True):
        if content["features"].shape[1:] != shape:
            raise DataError(
                f"The features of {file.name} have the shape {content['features'].shape[1:]} per "
                f"example, those of {files[0].name} {shape}."
            )
        _check_arrays(file.name, content["features"], content["targets"])
    owners = np.repeat([file.stem for file in files], [len(a["targets"]) for a in arrays])
    features = np.concatenate([content["features"] for content in arrays])
    targets = np.concatenate([content["targets"] for content in arrays])
    return _examples(path.name, features, targets, owners, task)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays this library knows, and no other."""
    if kind_of(path) is None:
        raise DataError(f"There is no file {path}; check data.path.")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            size = sum(entry.file_size for entry in archive.infolist())
            if size > _MAX_BYTES:
                raise DataError(f"{path.name} unpacks to {size} bytes, more than {_MAX_BYTES}.")
            for key in ("features", "targets"):
                if key not in entries:
                    held = ", ".join(map(shown, entries))
                    raise DataError(f"{path.name} has no array {key!r}; it has {held}.")
            arrays: dict[str, NDArray[Any]] = {
                key: _read_member(path.name, key, archive, entries[key])
                for key in ("features", "targets", "client")
                if key in entries
            }
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(
            f"{path.name} is not an npz file of plain arrays: {str(error).rstrip('.')}."
        ) from error
    for key in ("targets", "client"):
        if key in arrays and arrays[key].shape != arrays["features"].shape[:1]:
            raise DataError(
                f"{key!r} of {path.name} has the shape {arrays[key].shape}; it must have one value "
                f"for each of the {len(np.atleast_1d(arrays['features']))} examples."
            )
    return arrays


def _read_member(
    file: str, key: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo
) -> NDArray[Any]:
    """Read an array, after its header has been held against the bytes that are there."""
    if entry.flag_bits & _ENCRYPTED:
        raise DataError(
            f"{file} is not an npz file of plain arrays: {key!r} is encrypted; save it without a "
            "password."
        )
    try:
        with archive.open(entry) as member:
            shape, _, dtype = read_npy_header(member)
            held = entry.file_size - member.tell()
        _check_declared(file, key, shape, dtype, held)
        with archive.open(entry) as member:
            array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
    except DataError:
        raise
    except Exception as error:  # the ways to be damaged are many: in the zip, the header, the data
        raise DataError(
            f"{file} is not an npz file of plain arrays: {key!r} is damaged or no array; write it "
            "again with numpy.savez."
        ) from error
    return array


def _check_declared(
    file: str, key: str, shape: tuple[int, ...], dtype: np.dtype[Any], held: int
) -> None:
    if dtype.hasobject:
        raise DataError(
            f"{file} is not an npz file of plain arrays: {key!r} holds Python objects; save "
            "numbers or texts."
        )
    if math.prod(shape) * dtype.itemsize != held:
        raise DataError(
            f"{file} is not an npz file of plain arrays: {key!r} declares the shape {shape} of "
            f"{dtype}, but has {held} bytes; write it again with numpy.savez."
        )


def _check_arrays(name: str, features: NDArray[Any], targets: NDArray[Any]) -> None:
    if features.dtype.kind not in "fiub" or features.ndim < 2 or features.size == 0:
        raise DataError(
            f"'features' of {name} must be numbers of shape (n, ...), got {features.dtype} of "
            f"shape {features.shape}."
        )
    if targets.dtype.kind not in "fiubUS":
        raise DataError(f"'targets' of {name} must be numbers or texts, got {targets.dtype}.")
    for key, array in (("features", features), ("targets", targets)):
        if array.dtype.kind == "f":
            limit = min(LARGEST, float(np.finfo(array.dtype).max))
            wrong = np.argwhere(~(np.abs(array) <= limit))
            if len(wrong):
                raise DataError(
                    f"{key!r} of {name} has {array[tuple(wrong[0])]} in example {wrong[0][0]}; "
                    f"numbers must be finite and below {LARGEST:g}, so correct or remove it."
                )


def _examples(
    name: str,
    features: NDArray[Any],
    targets: NDArray[Any],
    client: NDArray[Any] | None,
    task: LearningTask | None,
) -> Examples:
    _check_arrays(name, features, targets)
    targets, class_names = _npz_targets(name, targets, task)
    owners, groups = (None, None) if client is None else _npz_clients(name, client)
    images = features.dtype == np.uint8 and features.ndim > 2
    return Examples(
        name=name,
        features=features if images else features.astype(np.float32),
        targets=targets,
        num_classes=None if class_names is None else len(class_names),
        pixels=Pixels(mean=0.0, std=1.0) if images else None,
        groups=groups,
        group_names=owners,
        class_names=class_names,
    )


def _npz_targets(
    name: str, targets: NDArray[Any], task: LearningTask | None
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return class numbers and the names of the classes, or float32 values and None."""
    if (task or ("regression" if targets.dtype.kind == "f" else "classification")) == "regression":
        if targets.dtype.kind in "US":
            raise DataError(f"'targets' of {name} are texts; regression needs numbers.")
        return targets.astype(np.float32), None
    if targets.dtype.kind == "f" and not (whole := targets == np.rint(targets)).all():
        row = int(whole.argmin())
        raise DataError(
            f"'targets' of {name} has {targets[row]} in example {row}; classes are whole numbers "
            "or texts, so set data.task to regression."
        )
    classes, codes = np.unique(targets, return_inverse=True)
    if len(classes) == 1:
        only = shown(_class_name(classes[0].item()))
        raise DataError(f"Every target of {name} is {only}; there is nothing to learn.")
    return codes, tuple(told_apart(shown(_class_name(label)) for label in classes.tolist()))


def _class_name(label: Any) -> str:
    """Return how a class is written: 1.0 as 1, bytes as their text."""
    if isinstance(label, bytes):
        return label.decode(errors="replace")
    return str(int(label) if isinstance(label, float) else label)


def _npz_clients(name: str, client: NDArray[Any]) -> tuple[tuple[str, ...], NDArray[Any]]:
    if client.dtype.kind not in "fiubUS":
        raise DataError(f"'client' of {name} must be numbers or texts, got {client.dtype}.")
    if client.dtype.kind == "f" and np.isnan(client).any():
        row = int(np.isnan(client).argmax())
        raise DataError(f"'client' of {name} is missing in example {row}; remove it.")
    owners, groups = np.unique(client, return_inverse=True)
    return tuple(told_apart(shown(str(owner)) for owner in owners)), groups
