import pytest
from flwr.common.config import parse_config_args

from fedmgda._errors import SpecError
from fedmgda.cli._app import run_app
from fedmgda.experiments import to_toml
from fedmgda.flower.deployment._seat import Seat
from fedmgda.flower.node._node import answer_as
from fedmgda.flower.node._own_file import OwnFile
from fedmgda.flower.node._terms import Terms
from fedmgda.flower.wire._messages import Question
from hospitals import hospital_spec


@pytest.mark.parametrize(
    "config", [{"data": 3}, {"data": "x.csv", "min-rows": 1}, {"data": "x.csv", "client": 7}]
)
def test_a_wrong_node_config_is_refused(config):
    spec = to_toml(hospital_spec())
    answer = answer_as(config, Question(phase="hello", header={"spec": spec, "path": "auto"}))
    assert answer.header["error"][0] == SpecError.exit_code
    assert "--node-config must be" in answer.header["error"][1]


def test_what_a_node_is_started_with_reaches_its_config(tmp_path):
    """As Flower itself reads a node config."""
    seat = Seat(
        superlink="x",
        index=1,
        nodes=3,
        data=tmp_path / "t.csv",
        client="St Olav",
        min_rows=20,
        spec=tmp_path / "agreed to.toml",
        allow_code=True,
    )
    command = seat.command(tmp_path / "w", 1)
    config = parse_config_args([command[-1]])
    config.pop("worker")
    found = OwnFile.of_config(config)
    assert (found.path, found.name, found.fewest) == (tmp_path / "t.csv", "St Olav", 20)
    terms = Terms.of_config(config)
    assert terms == Terms(own=True, allow_code=True, agreed=tmp_path / "agreed to.toml")
    plain = parse_config_args([Seat(superlink="x", index=0, nodes=1).command(tmp_path, 1)[-1]])
    assert Terms.of_config(plain) == Terms()


def test_what_a_node_would_refuse_itself_is_refused_before_it_starts(tmp_path, monkeypatch, capfd):
    place = tmp_path / "agreed.toml"
    place.write_text('[data]\nname = "digits"\n')
    words = ["--superlink", "x", "--node", "0", "--nodes", "1", "--insecure", "--data", "x.csv"]
    words = ["fedmgda", "flower", "node", *words, "--spec", str(place)]
    monkeypatch.setattr("sys.argv", words)
    assert run_app() == SpecError.exit_code
    said = " ".join(capfd.readouterr().err.split())
    assert "would refuse" in said
    assert "without [data.schema]" in said
