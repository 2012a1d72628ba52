"""Which client a node of somebody's Flower app is: how it tells, and how that is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flwr.app import Message, MetricRecord, RecordDict

if TYPE_CHECKING:
    from flwr.app import Context

__all__ = ["CLIENT_ID", "claimed_client", "tell_client_id"]

CLIENT_ID = "client-id"
"""The key of a client's number among its metrics."""

_END = 2**63  # where whole numbers end on the wire; NaN is not below it


def tell_client_id(message: Message, context: Context) -> Message:
    """Answer a query with the number of this client, its `partition-id`.

    A ClientApp of one's own has it with one line, `app.query()(tell_client_id)`; its clients are
    then known before the first round, and those that are sampled are the same in every run.
    """
    number = int(context.node_config["partition-id"])
    content = RecordDict({"metrics": MetricRecord({CLIENT_ID: number})})
    return Message(content=content, reply_to=message)


def claimed_client(content: RecordDict) -> int | None:
    """Return which client a reply says it comes from; None where it does not say."""
    for record in content.metric_records.values():
        value = record.get(CLIENT_ID)
        if isinstance(value, int | float) and abs(value) < _END and value == int(value):
            return int(value)
    return None
