"""The answers of somebody's Flower clients, as the engine takes them: nothing is believed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from flwr.app import MetricRecord, RecordDict

from fedmgda._errors import SpecError
from fedmgda.federation import MAX_EXAMPLES, Reply, collect
from fedmgda.flower.strategy._client_id import CLIENT_ID
from fedmgda.values import Evaluation, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fedmgda._types import Vector
    from fedmgda.flower.strategy._received import Asked, Received
    from fedmgda.values import Cohort

__all__ = [
    "Keys", "cohort_of", "evaluation_of", "shared_metrics", "sizes_of",
]  # fmt: skip

_SEEN_WHILE_TRAINING = "train_loss"  # as most apps call it
_UNASKED = "not asked in this round"
_LARGEST = float(np.finfo(np.float64).max)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What numbers are called among the metrics of a reply.

    Attributes:
        examples: How many examples there were.
        loss: The mean loss of the received model over the training examples.
        test_loss: The loss of an evaluation; None takes "loss", or what ends in it.
        test_accuracy: Its accuracy; None takes "acc" or "accuracy", or what ends in them.
    """

    examples: str = "num-examples"
    loss: str = "loss"
    test_loss: str | None = None
    test_accuracy: str | None = None


def cohort_of(asked: Asked, received: Received, keys: Keys, *, reads_losses: bool) -> Cohort:
    """Return what the clients of a round made of the model, for the gate to look at.

    Args:
        asked: What was sent.
        received: What came back.
        keys: What the numbers are called.
        reads_losses: Whether a client must say its loss.

    Raises:
        SpecError: If it must, this is the first round, and nobody does.
    """
    if reads_losses and asked.round_num == 1:
        _refuse_missing_losses(received, keys.loss)
    replies, failures = list[Reply](), list(received.failures)
    for client, content in received.contents.items():
        try:
            replies.append(_reply(asked, client, content, keys, reads_losses=reads_losses))
        except ValueError as error:
            failures.append(Failure(client_id=client, reason=str(error)))
    usable, failed = {r.client_id for r in replies}, {f.client_id for f in failures}
    open_ones = tuple(c for c in asked.clients if c in usable or c not in failed)
    key, num_buffers = ("", asked.round_num), asked.arrays.num_buffers
    cohort = collect(replies, asked.params, open_ones, key, num_buffers)
    return replace(cohort, failures=(*failures, *cohort.failures))


def _reply(
    asked: Asked, client: int, content: RecordDict, keys: Keys, *, reads_losses: bool
) -> Reply:
    arrays = _only(content.array_records, "ArrayRecord")
    metrics = _only(content.metric_records, "MetricRecord")
    with np.errstate(invalid="ignore", over="ignore"):  # which the gate names
        moved = asked.params - asked.arrays.vector(arrays)
    split = asked.arrays.num_params
    seen = metrics.get(_SEEN_WHILE_TRAINING)
    return Reply(
        client_id=client,
        round_num=asked.round_num,
        update=moved[:split],
        num_examples=_number(metrics, keys.examples),
        loss=_number(metrics, keys.loss) if reads_losses else 0.0,  # which nobody reads
        local_loss=seen if isinstance(seen, int | float) else float("nan"),
        buffers=moved[split:] if asked.arrays.num_buffers else None,
    )


def _refuse_missing_losses(received: Received, key: str) -> None:
    """Refuse an app of which no client says its loss, with the lines that are missing."""
    contents = received.contents.values()
    if not contents or any(key in m for c in contents for m in c.metric_records.values()):
        return
    raise SpecError(
        f"The rule reads the clients' losses, and no reply has {key!r} among its metrics. Add "
        "three lines to the client's train function: before it trains, loss = the mean loss of the "
        f'received model over its training data; in the metrics it returns, "{key}": loss; and '
        f'there too, "{CLIENT_ID}": context.node_config["partition-id"].'
    )


def sizes_of(received: Received, keys: Keys, num_clients: int) -> Vector:
    """Return how many examples each client says it has, of shape `(num_clients,)`.

    0 where it says nothing, or what cannot be true.
    """
    sizes = np.zeros(num_clients)
    for client, content in received.contents.items():
        count = _usable(content).get(keys.examples, 0)
        sizes[client] = int(count) if 0 < count <= MAX_EXAMPLES else 0
    return sizes


def evaluation_of(received: Received, keys: Keys, sizes: Vector) -> Evaluation:
    """Return how a model does on everyone's test examples, as far as it was told.

    Args:
        received: What came back.
        keys: What the numbers are called.
        sizes: Of shape `(num_clients,)`: how many test examples each client has. Who speaks of
            others failed, as did who has some and did not answer.
    """
    n = len(sizes)
    losses, accuracies = np.full(n, np.nan), np.full(n, np.nan)
    reasons = {f.client_id: f.reason for f in received.failures if f.client_id >= 0}
    for client, content in received.contents.items():
        found = _usable(content)
        loss, accuracy = _scores(found, keys)
        count = found.get(keys.examples)
        if count is None or loss is None:
            missing = repr(keys.examples) if count is None else "loss that is a finite number"
            reasons[client] = f"its metrics have no {missing}"
        elif count != sizes[client]:
            reasons[client] = f"it has {count:g} test examples, not the {sizes[client]:g} it had"
        else:
            losses[client] = loss
            accuracies[client] = np.nan if accuracy is None else accuracy
    for client in np.flatnonzero(np.isnan(losses) & (sizes > 0)).tolist():
        reasons.setdefault(client, _UNASKED)
    return Evaluation(
        client_ids=tuple(range(n)),
        losses=losses,
        accuracies=accuracies,
        num_examples=sizes,
        failures=tuple(Failure(client_id=c, reason=r) for c, r in sorted(reasons.items())),
    )


def _scores(found: Mapping[str, float], keys: Keys) -> tuple[float | None, float | None]:
    loss = keys.test_loss or _named(found, ("loss",))
    accuracy = keys.test_accuracy or _named(found, ("acc", "accuracy"))
    return found.get(loss), found.get(accuracy)


def _named(found: Iterable[str], words: Sequence[str]) -> str:
    """Return the first key that is one of some words, or ends in one."""
    plain = {key: key.lower().replace("-", "_") for key in found}
    exact = [key for key, text in plain.items() if text in words]
    ending = [k for k, text in plain.items() if text.endswith(tuple(f"_{w}" for w in words))]
    return next(iter([*exact, *ending]), "")


def shared_metrics(contents: Sequence[RecordDict], weight: str) -> list[RecordDict]:
    """Return of several replies the numbers that all of them have, so that they can be averaged."""
    found = [_usable(content) for content in contents]
    shared = set[str].intersection(*map(set, found)) - {CLIENT_ID} if found else set[str]()
    if weight not in shared or sum(one[weight] for one in found) <= 0:
        return []
    return [
        RecordDict({"metrics": MetricRecord({key: one[key] for key in one if key in shared})})
        for one in found
    ]


def _usable(content: RecordDict) -> dict[str, float]:
    """Return the finite numbers among the metrics of a reply, by name."""
    metrics = next(iter(content.metric_records.values()), MetricRecord())
    # A whole number may be beyond all floats, which no function of NumPy's takes.
    return {k: v for k, v in metrics.items() if isinstance(v, int | float) and abs(v) <= _LARGEST}


def _only(records: Mapping[str, Any], kind: str) -> Any:
    if len(records) != 1:
        raise ValueError(f"the reply has {len(records) or 'no'} {kind}, and one is wanted")
    return next(iter(records.values()))


def _number(metrics: MetricRecord, key: str) -> float:
    value = metrics.get(key)
    if value is None:
        raise ValueError(f"its metrics have no {key!r}")
    if not isinstance(value, int | float):
        raise ValueError(f"{key!r} is a {type(value).__name__}, not a number")  # noqa: TRY004
    return value
