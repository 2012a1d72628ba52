"""scikit-learn's handwritten digits: 1,797 images of 8 x 8, part of the package, no download."""

from __future__ import annotations

import numpy as np

from fedmgda._errors import MissingDependencyError
from fedmgda.data._examples import Examples

__all__ = ["load_digits"]


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
