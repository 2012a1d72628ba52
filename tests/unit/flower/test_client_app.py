"""The ClientApp, called as Flower calls it: whom a node trusts is its own to say."""

import pytest
from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from fedmgda.experiments import Spec, parse, resolve, to_toml
from fedmgda.flower.client_app import reply, reply_in_simulation
from fedmgda.flower.wire._messages import Question, answer_from_records, to_records
from hospitals import write_sites


@pytest.mark.parametrize("trusts", [True, False])
def test_a_simulation_reads_what_its_spec_names_and_a_node_does_not(tmp_path, trusts):
    file = write_sites(tmp_path) / "oslo.csv"
    table = {"path": str(file), "target": "ill", "client": "town"}
    spec = to_toml(resolve(parse(Spec, {"data": table, "clients": {"client_lr": 0.1}})))
    header = {"spec": spec, "path": "auto", "run": "r", "round": 0, "exchange": 1}
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    question = Question(phase="hello", header=header | {"trust": True})
    message = Message(to_records(question), dst_node_id=7, message_type="query")
    context = Context(
        run_id=1,
        node_id=7,
        node_config={"partition-id": 0, "num-partitions": 1},
        state=RecordDict(),
        run_config={"trust": True},
    )
    answered = (reply_in_simulation if trusts else reply)(message, context)
    answer = answer_from_records(answered.content)
    assert ("error" in answer.header) is not trusts
    assert (answer.header.get("client_names") == ["east", "west"]) is trusts
