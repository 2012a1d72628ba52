"""The ClientApp: whatever Flower brings, the node answers.

With `worker="PATH"` in the node's config the question goes to the resident worker at that Unix
socket, which has torch and the data loaded; else it is answered in this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flwr.app import Message
from flwr.clientapp import ClientApp

from fedmgda.flower.node._worker import WorkerLostError, ask
from fedmgda.flower.wire._messages import (
    answer_from_bytes,
    question_from_records,
    to_bytes,
    to_records,
)

if TYPE_CHECKING:
    from flwr.app import Context

    from fedmgda.flower.wire._messages import Answer, Question

__all__ = ["app", "simulated_app"]

app = ClientApp()

simulated_app = ClientApp()
"""The same for a simulation, in which whoever wrote the spec started the nodes, on one machine."""


@app.train()
@app.evaluate()
@app.query()
def reply(message: Message, context: Context) -> Message:
    """Answer a message; what goes wrong on the way is in the answer."""
    return _reply(message, dict(context.node_config))


@simulated_app.train()
@simulated_app.evaluate()
@simulated_app.query()
def reply_in_simulation(message: Message, context: Context) -> Message:
    """Answer a message as a node that trusts whoever asks."""
    return _reply(message, {**context.node_config, "trust": True})


def _reply(message: Message, config: dict[str, Any]) -> Message:
    question = question_from_records(message.content)
    worker = config.pop("worker", None)
    if worker:
        answer = _ask_worker(str(worker), question.with_header(node=config))
    else:
        from fedmgda.flower.node._node import answer_as  # noqa: PLC0415 (a worker has it loaded)

        answer = answer_as(config, question)
    return Message(to_records(answer), reply_to=message)


def _ask_worker(path: str, question: Question) -> Answer:
    seconds = float(question.wanted("deadline", int | float))
    try:
        return answer_from_bytes(ask(path, to_bytes(question), seconds))
    except WorkerLostError as error:
        return question.refused(error.exit_code, str(error))
