"""The ClientApp: whatever Flower brings, the node answers.

With `worker="PATH"` in the node's config the question goes to the resident worker at that Unix
socket, which has torch and the data loaded; else it is answered in this process.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from flwr.app import Message
from flwr.clientapp import ClientApp

from fedmgda._errors import FedmgdaError
from fedmgda.flower._node import Node, Pools, refusal
from fedmgda.flower._wire import (
    Answer,
    Question,
    WireError,
    answer_from_bytes,
    question_from_records,
    receive_bytes,
    send_bytes,
    to_bytes,
    to_records,
)

if TYPE_CHECKING:
    from flwr.app import Context

__all__ = ["app", "ask_worker"]

app = ClientApp()

_POOLS = Pools()  # Ray and the SuperNode call this process again and again


@app.train()  # type: ignore[untyped-decorator, unused-ignore]
@app.evaluate()  # type: ignore[untyped-decorator, unused-ignore]
@app.query()  # type: ignore[untyped-decorator, unused-ignore]
def reply(message: Message, context: Context) -> Message:
    """Answer a message; what goes wrong on the way is in the answer."""
    question = question_from_records(message.content)
    worker = context.node_config.get("worker")
    try:
        if worker:
            answer = ask_worker(str(worker), question)
        else:
            answer = Node.of_config(context.node_config, _POOLS).answer(question)
    except FedmgdaError as error:
        answer = refusal(question, error.exit_code, str(error))
    return Message(to_records(answer), reply_to=message)


def ask_worker(path: str, question: Question) -> Answer:
    """Ask the resident worker at a Unix socket.

    Raises:
        FedmgdaError: If it is not there, or does not answer before the question's deadline.
    """
    deadline = question.header.get("deadline")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(float(deadline) if isinstance(deadline, int | float) else None)
            connection.connect(path)
            send_bytes(connection, to_bytes(question))
            return answer_from_bytes(receive_bytes(connection) or b"")
    except (OSError, WireError) as error:
        raise FedmgdaError(f"its resident worker did not answer: {error}") from error
