"""scikit-learn's handwritten digits: 1,797 images of 8 x 8, part of the package, no download."""

from __future__ import annotations

import numpy as np

from fedmgda._errors import MissingDependencyError
from fedmgda.data._dataset import Dataset
from fedmgda.data._federated import Examples

__all__ = ["DIGITS", "load_digits"]


def load_digits() -> Examples:
    """Return the images as rows of 64 values in [0, 1], and their digits."""
    try:
        from sklearn.datasets import load_digits as load  # noqa: PLC0415 (slow to import)
    except ImportError as error:
        raise MissingDependencyError(
            "The digits come with scikit-learn; install it with: pip install 'fedmgda[sim]'."
        ) from error
    features, targets = load(return_X_y=True)
    return Examples(
        name="digits",
        features=(features / 16.0).astype(np.float32),
        targets=targets.astype(np.int64),
        num_classes=10,
    )


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
