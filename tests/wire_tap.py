"""The ClientApp of real nodes, and a copy of every reply as it leaves the process of its node."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from flwr.clientapp import ClientApp

from fedmgda.flower.client_app import reply
from fedmgda.flower.wire._messages import answer_from_records, to_bytes

TAP = "FEDMGDA_TEST_TAP"
app = ClientApp()


@app.train()
@app.evaluate()
@app.query()
def tapped(message, context):
    left = reply(message, context)
    # What Flower is given must be what is looked at: no record beside those that are read.
    assert set(left.content) == {"arrays", "fedmgda"}
    assert set(left.content["fedmgda"]) == {"header"}
    folder = Path(os.environ[TAP])
    folder.mkdir(exist_ok=True)
    content = to_bytes(answer_from_records(left.content))
    (folder / f"{context.node_config['partition-id']}-{secrets.token_hex(8)}").write_bytes(content)
    return left
