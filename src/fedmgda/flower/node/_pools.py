"""The clients of a node, kept between questions."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, final

from fedmgda.experiments import Spec, build_clients, parse, parse_toml
from fedmgda.flower.wire._messages import WireError

if TYPE_CHECKING:
    from fedmgda.clients import ClientPool
    from fedmgda.flower.node._holding import Holding
    from fedmgda.flower.wire._messages import Question

__all__ = ["Pools", "read_spec"]

_KEPT = 2  # pools: that of the run, and of another that asks in between


@final
class Pools:
    """The clients of the specs that were asked about last, ready to answer.

    To load torch and data takes longer than most answers: who lives on keeps this object. Where a
    run is on the compiled path, "auto" and "compiled" are one and the same pool.
    """

    def __init__(self) -> None:
        self._known: dict[str, ClientPool] = {}

    def get(self, question: Question, spec: Spec, holding: Holding) -> ClientPool:
        """Return the clients of a resolved spec, all of them, computing on its path.

        Raises:
            FedmgdaError: If there are none: no data, or other than the spec means.
        """
        text, more = question.wanted("spec", str), holding.key(question)
        key = _digest(text, spec.clients.path, more)
        if key not in self._known:
            pool = build_clients(*holding.data(question, spec))
            self._known[_digest(text, pool.path, more)] = pool
            self._known[key] = pool
        self._known[key] = pool = self._known.pop(key)  # the newest is the last
        self._forget()
        return pool

    def _forget(self) -> None:
        newest = list(dict.fromkeys(reversed(self._known.values())))
        for pool in newest[_KEPT:]:
            self._known = {key: kept for key, kept in self._known.items() if kept is not pool}
            pool.close()


def read_spec(text: str, path: str) -> Spec:
    """Return the resolved spec of a question, on the path that the server has fixed.

    Raises:
        SpecError: If it is none.
        WireError: If there is no such path.
    """
    spec = parse(Spec, parse_toml(text, Path("the spec that the server sent")))
    if path not in {"auto", "compiled", "torch"}:
        raise WireError(f"{path!r:.40} is no path")
    chosen = cast("Any", path)
    return replace(spec, clients=replace(spec.clients, path=chosen))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
