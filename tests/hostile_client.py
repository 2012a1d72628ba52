"""A ClientApp that does to a federation what a file says, and is honest otherwise.

The file is JSON: for a node and a round, `"NODE:ROUND": "fault"`; for all, `"*": "fault"`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from flwr.app import Message
from flwr.clientapp import ClientApp

from fedmgda.flower.client_app import reply
from fedmgda.flower.wire._messages import answer_from_records, question_from_records, to_records

FAULTS = "FEDMGDA_TEST_FAULTS"
LATE = 1000.0  # by how much longer than others is what comes too late
app = ClientApp()


@app.train()
@app.evaluate()
@app.query()
def hostile(message, context):
    question = question_from_records(message.content)
    plan = json.loads(Path(os.environ[FAULTS]).read_text())
    place = f"{context.node_config['partition-id']}:{question.header['round']}"
    fault = plan.get(place, plan.get("*")) if question.phase == "train" else None
    match fault:
        case None:
            return reply(message, context)
        case "raises":
            raise RuntimeError("a client that raises")
        case "exits":
            sys.exit(3)
        case "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
    answer = answer_from_records(reply(message, context).content)
    arrays = {name: array.copy() for name, array in answer.arrays.items()}
    spoil(arrays, fault)
    if fault == "is late":
        time.sleep(question.header["deadline"])
    return Message(to_records(replace(answer, arrays=arrays)), reply_to=message)


def spoil(arrays, fault):
    match fault:
        case "NaN":
            arrays["updates"][0, 0] = np.nan
        case "wrong shape":
            arrays["updates"] = arrays["updates"][:, :-1]
        case "missing key":
            del arrays["updates"]
        case "negative count":
            arrays["num_examples"][0] = -1
        case "is late":
            arrays["updates"] *= LATE
