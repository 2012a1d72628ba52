"""A node's own file: what it tells of it, and how it becomes the data of its clients.

All that leaves the node because of the file is written here: the names of its clients and how many
rows each has, once; sums over training rows, once; a bound of the curvature of each client's loss,
where the step of the clients is to be found. What an error says of the file stays in the node's
log. Of few rows even sums tell single values, so clients with few rows are left out; that makes
nothing private, it only makes guessing harder.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda.data import loss_curvatures
from fedmgda.experiments import FEWEST_ROWS, local_part
from fedmgda.flower.node._terms import RefusedError
from fedmgda.flower.wire._leaving import documented
from fedmgda.flower.wire._messages import Answer, WireError
from fedmgda.flower.wire._share import Share, schema_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedmgda._types import Vector
    from fedmgda.data import FederatedData, FederationPart, Sums
    from fedmgda.experiments import Spec
    from fedmgda.flower.node._holding import Holding
    from fedmgda.flower.wire._messages import Question

__all__ = ["OwnFile"]

_LOG = logging.getLogger("flwr")
_LEAST = 3  # rows of a client: one to train, one to validate, one to test on


@final
class OwnFile:
    """The table, or the folder of tables, that one node has.

    Attributes:
        path: Where it lies.
        name: What its one client is called, where neither a column nor a folder says.
        fewest: Clients with fewer rows stay out, whatever a spec says.
    """

    def __init__(self, path: Path, name: str | None = None, fewest: int = FEWEST_ROWS) -> None:
        self.path, self.name, self.fewest = path, name, fewest

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Self | None:
        """Return the file that Flower's node config names: `data`, `client`, `min-rows`.

        Raises:
            SpecError: If one of these is wrong.
        """
        path, name, fewest = (config.get(key) for key in ("data", "client", "min-rows"))
        if path is None:
            return None
        if not isinstance(path, str) or not path:
            raise SpecError(f"data in the node's --node-config must be a path, got {path!r}.")
        if name is not None and not isinstance(name, str):
            raise SpecError(f"client in the node's --node-config must be a text, got {name!r}.")
        fewest = FEWEST_ROWS if fewest is None else fewest
        if isinstance(fewest, bool) or not isinstance(fewest, int) or fewest < _LEAST:
            raise SpecError(
                f"min-rows in the node's --node-config must be a whole number of at least {_LEAST},"
                f" got {fewest!r}."
            )
        return cls(Path(path), name, fewest)

    def early(
        self, question: Question, spec: Spec
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Say whose rows lie here, and what they add up to."""
        if question.phase == "hello" and "share" not in question.header:
            return self._introduction(spec)
        if question.phase != "statistics":
            return None
        share = _share(question)
        if share.encoder is None:
            return {}, self._statistics(spec, share)
        return {}, self._curvatures(spec, share)

    def key(self, question: Question) -> str:
        """Return the file and what the server said of its clients."""
        share = json.dumps(question.header.get("share"), sort_keys=True)
        return f"{self.path}\0{self.name}\0{self.fewest}\0{share}"

    def data(self, question: Question, spec: Spec) -> tuple[Spec, FederatedData]:
        """Return the data of the federation as this node sees it: its clients have rows."""
        share = _share(question)
        weights: Any = share.class_weights
        if weights is not None:  # those of all nodes together, which this one cannot know
            spec = replace(spec, clients=replace(spec.clients, class_weights=dict(weights)))
        return spec, self._data(spec, share)

    def clients(self, question: Question, num_clients: int) -> list[int]:
        """Return the clients that the server gave an id."""
        return sorted(client for client in _share(question).ids.values() if client < num_clients)

    def public(self, question: Question, spec: Spec, answer: Answer) -> Answer:
        """Return what is documented of an answer; single test rows only where the spec says so."""
        wanted = bool(spec.records.predictions) or spec.evaluation.metrics is not None
        single = wanted and question.header.get("split") == "test"
        answer = documented(question, answer, predictions=single)
        if "predictions.clients" in answer.arrays:  # where a row stands in the file is not told
            order = {"predictions.rows": _places(answer.arrays["predictions.clients"])}
            answer = Answer(header=answer.header, arrays={**answer.arrays, **order})
        if "fingerprint" in answer.header:  # a digest of the file would tell who guesses its rows
            told = {"fingerprint": _share(question).fingerprint}
            answer = Answer(header={**answer.header, **told}, arrays=answer.arrays)
        return answer

    def sentence(self, error: Exception) -> str:
        """Return what others may be told of an error; all of it goes into the log of the node."""
        _LOG.error("fedmgda: %s", error)
        if isinstance(error, WireError | RefusedError):
            return str(error)  # of the question, not of the file
        if isinstance(error, DataError):
            return (
                "its file cannot be used with this spec; at the node, its log and `fedmgda flower "
                "schema FILE --check SPEC` say why"
            )
        return "it cannot carry out this spec; its log says why"

    def _introduction(self, spec: Spec) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return whose rows lie here and how many, as header and arrays."""
        part = self._part(spec)
        header = {
            "own": True,
            "schema": "" if spec.data.schema is None else schema_digest(spec.data.schema),
            "client_names": list(part.client_names),
        }
        return header, {"sizes": part.sizes}

    def _statistics(self, spec: Spec, share: Share) -> dict[str, NDArray[Any]]:
        """Return what the training rows of the node add up to, as arrays.

        `sums` has a row for each column of numbers: how many values are known, their sum and the
        sum of their squares, each as two float64. Where fewer are known than a client must have
        rows, nothing is told of a column, as if none were. `classes` has the rows of each class,
        those of few rows as if they had none; a regression has `target` instead, a row of sums.
        """
        part = self._shared(self._part(spec), share)
        ids = [share.ids[name] for name in part.client_names]
        found = part.statistics(ids)
        sums = [self._told(one) for one in found.sums if one is not None]
        arrays = {"sums": np.array(sums, np.float64).reshape(len(sums), 5)}
        if found.target is not None:
            return arrays | {"target": np.array(self._told(found.target), np.float64)}
        return arrays | {"classes": _told_classes(part.class_counts(ids), self.fewest)}

    def _told(self, sums: Sums) -> tuple[float, ...]:
        if sums.count < self.fewest:
            return (0.0,) * 5
        return (float(sums.count), *sums.total, *sums.squares)

    def _curvatures(self, spec: Spec, share: Share) -> dict[str, NDArray[Any]]:
        """Return for each client of the node a bound of the curvature of a linear model's loss."""
        data = self._data(spec, share)
        weights = None
        if share.class_weights is not None:
            weights = np.array([share.class_weights.get(n, 1.0) for n in data.class_names or ()])
        ids = sorted(share.ids.values())
        return {
            "client_ids": np.array(ids, np.int64),
            "curvatures": loss_curvatures(data, weights)[ids],
        }

    def _data(self, spec: Spec, share: Share) -> FederatedData:
        if share.encoder is None:
            raise WireError("the question has no encoder")
        part = self._shared(self._part(spec), share)
        ids = [share.ids[name] for name in part.client_names]
        return part.federate(ids, share.num_clients, share.encoder)

    def _part(self, spec: Spec) -> FederationPart:
        return local_part(spec, self.path, name=self.name, fewest=self.fewest)

    def _shared(self, part: FederationPart, share: Share) -> FederationPart:
        """Return the clients that take part, all of which must be here."""
        lacking = share.ids.keys() - set(part.client_names)
        if lacking:
            raise WireError(f"client {min(lacking)!r:.60} is not of this node")
        kept = [place for place, name in enumerate(part.client_names) if name in share.ids]
        return replace(
            part,
            client_names=tuple(part.client_names[place] for place in kept),
            client_rows=tuple(part.client_rows[place] for place in kept),
        )


def _told_classes(counts: Vector, fewest: int) -> Vector:
    """Return the rows of each class, 0 for one with few.

    How many rows there are is told, so what is left out can be told from the rest: the smallest
    classes go until that is none, or as many rows as may be told.

    >>> _told_classes(np.array([40.0, 3.0, 12.0, 0.0]), 10).tolist()
    [40.0, 0.0, 0.0, 0.0]
    >>> _told_classes(np.array([90.0, 3.0]), 10).tolist()
    [0.0, 0.0]
    """
    told, hidden = counts.copy(), 0.0
    for place in np.argsort(counts, kind="stable").tolist():
        if counts[place] >= fewest and (hidden == 0 or hidden >= fewest):
            break
        hidden += counts[place]
        told[place] = 0.0
    return told


def _places(clients: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each row how many of the same client come before it."""
    places = np.zeros(len(clients), np.int64)
    for client in np.unique(clients):
        mine = clients == client
        places[mine] = np.arange(np.count_nonzero(mine))
    return places


def _share(question: Question) -> Share:
    return Share.of(question.header.get("share"))


if TYPE_CHECKING:

    def _is_a_kind_of_holding(file: OwnFile) -> Holding:
        return file
