"""Who takes after a node that is gone: the same rows under the same names, or nobody.

Without keys a name is all that a node shows. So one that comes later with clients of another must
bring all of them, as many rows of each, and rows that add up to the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, final

from fedmgda.experiments import to_toml
from fedmgda.flower.server._grid_exchanges import READING
from fedmgda.flower.wire._messages import Answer, Question
from fedmgda.flower.wire._share import Share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.experiments import Spec
    from fedmgda.flower.server._grid_exchanges import GridExchanges
    from fedmgda.flower.server._statistics import Introduction

__all__ = ["Said", "refuse_others"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a node said of its clients before the first round.

    Attributes:
        ids: The id of each, by name.
        sizes: How many rows each trains, validates and tests on, by name.
        statistics: A digest of what their rows add up to.
    """

    ids: Mapping[str, int]
    sizes: Mapping[str, tuple[int, ...]]
    statistics: str

    @classmethod
    def of(cls, told: Introduction, share: Share, answer: Answer) -> Said:
        """Remember an introduction and the sums that followed it."""
        sizes = told.rows
        known = {name: sizes[name] for name in share.ids}
        return cls(ids=dict(share.ids), sizes=known, statistics=_digest(answer))

    def unlike(self, told: Introduction) -> str | None:
        """Return why a node cannot take after this one, as far as its introduction tells."""
        sizes = told.rows
        for name, size in self.sizes.items():
            if name not in sizes:
                return f"it brings not all clients of the node before, {name!r:.60} is missing"
            if sizes[name] != size:
                return _other(name)
        return None


def refuse_others(
    exchanges: GridExchanges,
    spec: Spec,
    said: Sequence[Said],
    newcomers: Mapping[int, Introduction],
    *,
    num_clients: int,
    round_num: int,
) -> tuple[dict[int, str], set[int]]:
    """Ask nodes that came later what the rows add up to whose clients they claim.

    Args:
        exchanges: How they are asked.
        spec: A resolved spec.
        said: What was said before the first round.
        newcomers: Whose rows the nodes say they have.
        num_clients: How many clients there are everywhere.
        round_num: The round before which they came.

    Returns:
        Why some cannot take part, and those that did not answer.
    """
    refused: dict[int, str] = {}
    silent: set[int] = set()
    for before in said:
        claimed = {n: t for n, t in newcomers.items() if before.ids.keys() & set(t.client_names)}
        for node, told in claimed.items():
            if (why := before.unlike(told)) is not None:
                refused.setdefault(node, why)
        share = Share(ids=before.ids, num_clients=num_clients)
        header = {"spec": to_toml(spec), "path": spec.clients.path, "share": asdict(share)}
        questions = {
            node: Question(phase="statistics", header=header)
            for node in claimed
            if node not in refused
        }
        if not questions:
            continue
        deadline = max(READING, spec.engine.client_timeout)
        heard = exchanges.ask(questions, round_num=round_num, deadline=deadline)
        for node, answer in heard.items():
            if not isinstance(answer, Answer):
                silent.add(node)
            elif _digest(answer) != before.statistics:
                refused[node] = _other(min(before.ids))
    return refused, silent - refused.keys()


def _other(name: str) -> str:
    return (
        f"its client {name!r:.60} has other rows than that of the node before; with registered "
        "keys and a roster the key decides"
    )


def _digest(answer: Answer) -> str:
    found = hashlib.sha256()
    for name, array in sorted(answer.arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()
