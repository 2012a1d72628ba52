"""Names for the arrays that all layers speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Flags", "Indices", "Matrix", "RuleState", "Split", "Vector"]

Vector: TypeAlias = NDArray[np.floating[Any]]
Matrix: TypeAlias = NDArray[np.floating[Any]]
Indices: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
RuleState: TypeAlias = "Mapping[str, NDArray[Any]]"
Split: TypeAlias = Literal["train", "validation", "test"]
