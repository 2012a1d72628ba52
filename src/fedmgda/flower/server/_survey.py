"""Before the first round, where nodes have files of their own: who is there, and one encoder.

Three questions: whose rows each node has; what its training rows add up to; and, where the step of
the clients is left to the data, how curved their losses are. From then on every question carries
the encoder, so that each node encodes its rows as all rows together would be.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fedmgda._errors import FederationStalledError, SpecError
from fedmgda._text import listed
from fedmgda.data import client_order, make_encoder, schema_of
from fedmgda.experiments import known_weights, settle_elsewhere, to_toml
from fedmgda.flower.server._claims import owners_of, refusals, refuse_namesakes
from fedmgda.flower.server._grid_exchanges import READING, checked
from fedmgda.flower.server._node_files import NodeFiles, ask_who, introduction_of
from fedmgda.flower.server._statistics import (
    Totals,
    add_totals,
    check_something_to_learn,
    read_curvatures,
)
from fedmgda.flower.server._successors import Said
from fedmgda.flower.server._waiting import Waiting
from fedmgda.flower.wire._messages import Answer, Question, WireError
from fedmgda.flower.wire._share import Share, schema_digest

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from fedmgda.data import Schema
    from fedmgda.experiments import Spec
    from fedmgda.flower.server._grid_exchanges import GridExchanges
    from fedmgda.flower.server._statistics import Introduction

__all__ = ["survey"]

_LOOK = 0.5  # seconds between two looks at who is connected


def survey(
    exchanges: GridExchanges,
    spec: Spec,
    num_nodes: int,
    permitted: Mapping[int, Container[int | str]] | None = None,
) -> NodeFiles | None:
    """Ask the nodes what is needed to read their files; None where they have none of their own.

    Args:
        exchanges: How they are asked.
        spec: A resolved spec.
        num_nodes: How many nodes to wait for, as long as the deadline of an exchange.
        permitted: For each node the names of the clients that it may have; None permits all.

    Raises:
        FederationStalledError: If there are too few nodes by then, or one does not answer.
        DataError: If a node says that its file does not fit; or a SpecError.
    """
    if spec.data.schema is None:
        return None
    met = _meet(exchanges, spec, num_nodes)
    if permitted is None:
        refuse_namesakes(exchanges, met)
    if not met:
        return None
    owners = owners_of(met, permitted)
    ids = {name: place for place, name in enumerate(client_order(owners))}
    shares = {
        node: Share(
            ids={name: ids[name] for name, owner in owners.items() if owner == node},
            num_clients=len(ids),
        )
        for node in sorted(set(owners.values()))
    }
    sizes = {name: met[node].rows[name] for node, share in shares.items() for name in share.ids}
    schema = schema_of(spec.data.schema, spec.data.target or "")
    answers = _ask(exchanges, spec, shares)
    totals = _totals(answers, schema, sizes, shares)
    encoder = make_encoder(schema, totals.statistics)
    check_something_to_learn(encoder, totals)
    weights = _class_weights(spec, schema, totals)
    shares = {n: replace(s, encoder=encoder, class_weights=weights) for n, s in shares.items()}
    return NodeFiles(
        spec=settle_elsewhere(spec, len(ids), _curvature(exchanges, spec, shares)),
        ids=ids,
        encoder=encoder,
        target_sums=totals.target_sums,
        fingerprint=_fingerprint(spec, sizes, totals),
        class_weights=weights,
        rows={
            node: {name: rows for name, rows in told.rows.items() if owners.get(name) == node}
            for node, told in met.items()
        },
        events=tuple(refusals(met, owners, ids)),
        said=()
        if permitted is not None
        else tuple(Said.of(met[node], shares[node], answer) for node, answer in answers.items()),
    )


def _meet(exchanges: GridExchanges, spec: Spec, num_nodes: int) -> dict[int, Introduction]:
    """Wait for nodes and ask who their clients are; nobody where the data is built in."""
    waiting = Waiting(num_nodes, spec.engine.client_timeout)
    met: dict[int, Introduction] = {}
    without: set[int] = set()
    reasons: dict[int, str] = {}
    while True:
        online = exchanges.online()
        waiting.tell(online)
        new = sorted(online - met.keys() - without)
        for node, answer in ask_who(exchanges, spec, new, 0).items():
            if isinstance(answer, Answer) and not answer.header.keys() & {"own", "error"}:
                without.add(node)
                continue
            try:
                met[node] = introduction_of(node, answer, spec)
            except WireError as error:
                reasons[node] = str(error)
        if met and without:
            raise SpecError(
                f"Node {min(met)} has a file of its own and node {min(without)} has none; name one "
                "with data in its --node-config."
            )
        if len(met) + len(without) >= num_nodes:
            return dict(sorted(met.items()))
        if waiting.is_over:
            why = listed((f"node {node}: {said}" for node, said in reasons.items()), 5)
            raise waiting.in_vain({*met, *without}, f"; {why}" if why else "", "")
        exchanges.pause(_LOOK)


def _totals(
    answers: Mapping[int, Answer],
    schema: Schema,
    sizes: Mapping[str, tuple[int, ...]],
    shares: Mapping[int, Share],
) -> Totals:
    parts = []
    for node, answer in answers.items():
        try:
            num_rows = sum(sizes[name][0] for name in shares[node].ids)
            parts.append(Totals.of(answer, schema, num_rows))
        except WireError as error:
            raise _unusable(node, error) from error
    return add_totals(parts)


def _curvature(exchanges: GridExchanges, spec: Spec, shares: Mapping[int, Share]) -> float:
    if spec.clients.client_lr != "auto":
        return 0.0
    found = []
    for node, answer in _ask(exchanges, spec, shares).items():
        try:
            found.append(read_curvatures(answer, list(shares[node].ids.values())))
        except WireError as error:
            raise _unusable(node, error) from error
    return max(found)


def _ask(exchanges: GridExchanges, spec: Spec, shares: Mapping[int, Share]) -> dict[int, Answer]:
    """Ask every node for its statistics; nobody may be missing, for they encode all rows."""
    header: dict[str, Any] = {"spec": to_toml(spec), "path": spec.clients.path}
    questions = {
        node: Question(phase="statistics", header={**header, "share": asdict(share)})
        for node, share in shares.items()
    }
    deadline = max(READING, spec.engine.client_timeout)
    answers = {}
    for node, answer in exchanges.ask(questions, round_num=0, deadline=deadline).items():
        try:
            answers[node] = checked(node, answer)
        except WireError as error:
            raise _unusable(node, error) from error
    return dict(sorted(answers.items()))


def _unusable(node: int, error: WireError) -> FederationStalledError:
    return FederationStalledError(
        f"Node {node} did not send its statistics ({error}); look at the node, and start again."
    )


def _class_weights(spec: Spec, schema: Schema, totals: Totals) -> dict[str, float] | None:
    if spec.clients.class_weights is None:
        return None
    if totals.classes is None or schema.class_names is None:
        raise SpecError("clients.class_weights does not apply to a target that is a number.")
    if spec.clients.class_weights == "balanced" and not totals.are_whole:
        raise SpecError(
            'clients.class_weights = "balanced" needs the rows of every class, and nodes with few '
            "rows of one do not tell how many (min-rows); give numbers by class instead."
        )
    found = known_weights(spec, totals.classes, schema.class_names)
    return None if found is None else dict(zip(schema.class_names, found.tolist(), strict=True))


def _fingerprint(spec: Spec, sizes: Mapping[str, tuple[int, ...]], totals: Totals) -> str:
    """Return a digest of all that was said of the rows, whichever node said it."""
    classes = None if totals.classes is None else totals.classes.tolist()
    schema = "" if spec.data.schema is None else schema_digest(spec.data.schema)
    told = [schema, sizes, asdict(totals.statistics), classes]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
