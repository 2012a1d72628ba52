"""scikit-learn's handwritten digits: 1,797 images of 8 x 8, part of the package, no download."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError, MissingDependencyError
from fedmgda.data._dataset import Dataset
from fedmgda.data._federated import Examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DIGITS", "load_digits"]


def load_digits() -> Examples:
    """Return the images as rows of 64 values in [0, 1], and their digits."""
    table = _table()
    return Examples(
        name="digits",
        features=(table[:, :-1] / 16.0).astype(np.float32),
        targets=table[:, -1].astype(np.int64),
        num_classes=10,
    )


def _table() -> NDArray[np.float64]:
    """Return the file as it is, of shape `(1797, 65)`, the digit last.

    To find it takes no import: all of scikit-learn would take longer than to train on it.
    """
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingDependencyError(
            "The digits come with scikit-learn; install it with: pip install 'fedmgda[sim]'."
        )
    path = Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            return np.loadtxt(file, delimiter=",")
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); install scikit-learn again.") from error


DIGITS = Dataset(
    name="digits",
    title="1,797 images of 8 x 8 digits",
    federation="20 clients, 2 shards each: the data of the demo",
    licence="BSD 3-Clause (with scikit-learn)",
    load=lambda *_: load_digits(),
    model="mlp",
    clients="dealt",
    settings={"partition": "shards", "num_clients": 20, "shards_per_client": 2},
    released={"local_split": "tail"},
    participation=0.5,
)
