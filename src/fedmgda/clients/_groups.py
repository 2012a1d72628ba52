"""Which clients are evaluated together, in one forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.clients._objective import rows_per_pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices
    from fedmgda.data import FederatedData, Split

__all__ = ["Groups"]


@final
class Groups:
    """Neighbouring clients whose examples fill a forward pass, for one split of the data.

    The sizes of the splits alone decide, never who is asked or how many workers there are: the
    last bit of an output can depend on the batch it is computed in.

    Attributes:
        sizes: Of shape `(num_groups,)`: how many examples each group has.
    """

    def __init__(self, data: FederatedData, split: Split) -> None:
        lengths = np.array([len(rows) for rows in data.split(split)], np.int64)
        ends = np.cumsum(lengths)
        _, self._firsts, self._group_of = np.unique(
            (ends - lengths) // rows_per_pass(data), return_index=True, return_inverse=True
        )
        self._last = len(lengths)
        self.sizes: Indices = np.add.reduceat(lengths, self._firsts)

    def members(self, group: int) -> range:
        """Return the clients of a group."""
        following = self._firsts[group + 1 : group + 2].tolist()
        return range(int(self._firsts[group]), *(following or [self._last]))

    def of(self, client_ids: Sequence[int]) -> list[int]:
        """Return the groups that the given clients are in, ascending."""
        return np.unique(self._group_of[np.array(client_ids, np.int64)]).tolist()
