"""A hostile server asks a real node: what the spec of a question may do on the node's machine."""

import sys

import numpy as np
import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import Spec, parse, resolve, settle_elsewhere, to_toml
from fedmgda.flower.node._agreed import first_difference
from fedmgda.flower.node._node import answer_as, answer_bytes
from fedmgda.flower.wire._leaving import documented
from fedmgda.flower.wire._messages import Answer, Question, answer_from_bytes, to_bytes
from hospitals import COLUMNS, hospital_spec, write_sites
from tables import write_rows

ENCODER = {
    "columns": [
        {"name": "age", "mean": 60.0, "scale": 9.0},
        {"name": "dose", "mean": 0.0, "scale": 1.0},
        {"name": "ward", "categories": ["A", "B", "C"]},
    ],
    "clip": 1e9, "target": "ill", "class_names": ["no", "yes"],
}  # fmt: skip
PHASES = ("hello", "statistics", "train", "evaluate", "gradients")
AGREED = """
[data]
target = "ill"
schema.classes = ["no", "yes"]
schema.columns = [
    { name = "age", kind = "number" },
    { name = "dose", kind = "number" },
    { name = "ward", kind = "category", categories = ["A", "B", "C"] },
]
[evaluation]
every = 2
"""


@pytest.fixture
def sites(tmp_path):
    return write_sites(tmp_path / "sites")


@pytest.fixture
def agreed(tmp_path):
    place = tmp_path / "agreed.toml"
    place.write_text(AGREED)
    return {"spec": str(place)}


def built_in(table=None, **data):
    return resolve(parse(Spec, {"clients": {"client_lr": 0.1}, "data": data} | (table or {})))


def share(encoder=None, names=("oslo",), **more):
    ids = {name: place for place, name in enumerate(names)}
    told = {"ids": ids, "num_clients": len(ids), "encoder": encoder, "class_weights": None}
    return told | {"fingerprint": "f"} | more


def ask(config, spec, phase="hello", arrays=None, **header):
    asked = {"spec": to_toml(spec), "path": "auto", "run": "r", "round": 1, "exchange": 1}
    question = Question(phase=phase, header=asked | header, arrays=arrays or {})
    return answer_as(config, question)


def refusals(config, spec):
    """Return what a node says to a spec in every phase, and assert that it says nothing else."""
    said = set()
    model = {"params": np.zeros(12, np.float32)}
    header = {"client_ids": [0], "split": "test", "predictions": True, "also": ["train"]}
    for phase in PHASES:
        for more in ({}, {"share": share()}, {"share": share(ENCODER)}):
            answer = ask(config, spec, phase, model, **header, **more)
            assert set(answer.header) == {"run", "round", "exchange", "phase", "error"}
            assert not answer.arrays
            assert answer.header["error"][0] == SpecError.exit_code
            said.add(answer.header["error"][1])
    (sentence,) = said
    return sentence


def test_a_node_with_a_file_answers_no_spec_without_a_schema(sites):
    config = {"data": str(sites / "oslo.csv"), "partition-id": 0, "num-partitions": 1}
    said = refusals(config, built_in(name="digits"))
    assert "has a file of its own and answers no spec without [data.schema]" in said


@pytest.mark.parametrize("file", ["oslo.csv", "bergen.csv"])
def test_no_spec_names_a_file_of_a_node_that_has_its_own(sites, file):
    config = {"data": str(sites / "oslo.csv"), "partition-id": 0, "num-partitions": 1}
    open_table = built_in({"records": {"predictions": True}}, path=str(sites / file), target="ill")
    assert "without [data.schema]" in refusals(config, open_table)
    described = hospital_spec({"clients": {"client_lr": 0.1}}, path=str(sites / file))
    assert "data.path names a file on the machine of this node" in refusals(config, described)
    model = hospital_spec({"clients": {"client_lr": 0.1}, "model": {"init": str(sites / file)}})
    assert "model.init names a file on the machine of this node" in refusals(config, model)


def test_no_spec_names_a_file_of_a_node_unless_it_may(sites, tmp_path):
    config = {"partition-id": 0, "num-partitions": 1}
    spec = built_in(path=str(sites / "oslo.csv"), target="ill", client="town")
    assert "which only a spec may that the site has agreed to" in refusals(config, spec)
    assert ask(config | {"trust": True}, spec).header["client_names"] == ["east", "west"]
    place = tmp_path / "named by the site.toml"
    place.write_text(to_toml(spec))
    assert "error" not in ask(config | {"spec": str(place)}, spec).header
    other = built_in(path=str(sites / "bergen.csv"), target="ill", client="town")
    assert "data.path is not what this site has agreed" in refusals(
        config | {"spec": str(place)}, other
    )


CODE = {
    "model": {"model": {"name": "evil_module:thing"}},
    "loss": {"clients": {"loss": "evil_module:thing", "client_lr": 0.1}},
    "optimizer": {"clients": {"optimizer": "evil_module:thing", "client_lr": 0.1}},
    "rule": {"rule": {"name": "evil_module:thing"}},
    "attack": {"attack": {"name": "evil_module:thing"}},
}


@pytest.mark.parametrize("kind", CODE)
@pytest.mark.parametrize("own", [True, False])
def test_a_spec_runs_no_code_on_a_node_unless_it_may(sites, tmp_path, monkeypatch, kind, own):
    (tmp_path / "evil_module.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef thing(*a, **k): raise ValueError\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "evil_module", raising=False)
    config = {"partition-id": 0, "num-partitions": 1}
    config |= {"data": str(sites / "oslo.csv")} if own else {}
    spec = hospital_spec(CODE[kind]) if own else built_in(CODE[kind])
    assert "would run code on this node" in refusals(config, spec)
    assert not (tmp_path / "ran").exists()
    if kind in {"model", "loss"}:
        ask(config | {"allow-code": True}, spec, share=share(ENCODER))
        assert (tmp_path / "ran").exists()
    monkeypatch.delitem(sys.modules, "evil_module", raising=False)


def test_data_that_is_code_is_code_too():
    config = {"partition-id": 0, "num-partitions": 1}
    assert "data.name = 'os:system'" in refusals(config, built_in(name="os:system"))


def test_predictions_are_of_test_rows_only(sites):
    config = {"data": str(sites / "oslo.csv")}
    table = {"records": {"predictions": True}, "clients": {"client_lr": 0.1, "per_round": 1}}
    spec, told = hospital_spec(table), share(ENCODER)
    hello = ask(config, spec, share=told)
    params = np.zeros_like(hello.arrays["initial"])
    (start,) = (at for _, shape, at in hello.header["layout"] if len(shape) == 2)
    params[start + 1] = 1.0  # a model that says the dose of a row
    for split in ("train", "validation", "test"):
        asked = {"share": told, "client_ids": [0], "split": split, "predictions": True}
        answer = ask(config, spec, "evaluate", {"params": params}, **asked, also=["train"])
        single = [name for name in answer.arrays if "predictions" in name]
        assert bool(single) == (split == "test")
        assert "also.train.losses" in answer.arrays
    question = Question(phase="evaluate", header={})
    arrays = {"also.train.predictions.outputs": np.zeros(3)}
    assert not documented(question, Answer(header={}, arrays=arrays), predictions=True).arrays


def ill_rows(place, counts):
    """Write a file in which each class of the target has so many rows."""
    rows = [
        [f"{40 + i % 30}", f"{100 + i}", "ABC"[i % 3], name]
        for name, count in counts.items()
        for i in range(count)
    ]
    write_rows(place, ["age", "dose", "ward", "ill"], rows)
    return {"data": str(place), "client": "oslo"}


@pytest.mark.parametrize(
    ("counts", "fewest", "told"),
    [
        ({"no": 100, "yes": 100}, 10, "all"),
        ({"no": 100, "yes": 4}, 10, "nothing"),  # else the rest would tell the 4
        ({"no": 100, "yes": 100, "perhaps": 4}, 10, "one"),
        ({"no": 100, "yes": 100, "perhaps": 4, "no answer": 5}, 3, "all"),
        ({"no": 100, "yes": 0}, 10, "all"),
    ],
)
def test_of_a_class_with_few_rows_nothing_is_told(tmp_path, counts, fewest, told):
    config = ill_rows(tmp_path / "oslo.csv", counts) | {"min-rows": fewest}
    spec = hospital_spec(schema={"columns": COLUMNS, "classes": list(counts)})
    answer = ask(config, spec, "statistics", share=share())
    rows = ask(config, spec).arrays["sizes"][0, 0]
    classes = answer.arrays["classes"]
    hidden = rows - classes.sum()
    assert hidden == 0 or hidden >= fewest
    assert ((classes == 0) | (classes >= fewest)).all()
    assert {"all": len(counts), "one": 1, "nothing": 0}[told] == np.count_nonzero(classes) + (
        told == "all"
    ) * sum(not count for count in counts.values())


def test_a_guess_at_somebodys_value_is_not_confirmed(sites):
    """The server may list any text as a class: whether one row has it is not told."""
    config, names = {"data": str(sites / "oslo.csv")}, ["A", "B", "C", "Fridtjof Nansen"]
    data = {"target": "ward", "schema": {"columns": [COLUMNS[0]], "classes": names}}
    answer = ask(config, hospital_spec(**data), "statistics", share=share())
    classes = answer.arrays["classes"]
    assert classes[3] == 0
    assert ask(config, hospital_spec(**data)).arrays["sizes"][0, 0] - classes.sum() >= 10


ALLOWED = {
    "rule": {"rule": {"name": "fedprox"}},
    "rounds": {"rounds": 77},
    "protection": {"server": {"protect": True}},
    "participation": {"clients": {"per_round": 2}},
    "attack": {"attack": {"name": "scale-update", "clients": [0], "factor": 2.0}},
    "engine": {"engine": {"client_timeout": 5.0}},
}
OTHER = {
    "seed": ({"seed": 9}, {}, "seed"),
    "target": ({}, {"target": "days"}, "data.target"),
    "client": ({}, {"client": "town"}, "data.client"),
    "columns": ({}, {"schema": {"columns": COLUMNS[:2], "classes": ["no", "yes"]}}, "data.schema"),
    "min_rows": ({}, {"min_rows": 3}, "data.min_rows"),
    "model": ({"model": {"name": "mlp"}}, {}, "model.name"),
    "weights": ({"clients": {"class_weights": {"yes": 1e9}}}, {}, "clients.class_weights"),
    "step": ({"clients": {"batch_size": 1}}, {}, "clients.batch_size"),
    "predictions": ({"records": {"predictions": True}}, {}, "records.predictions"),
    "metrics": ({"evaluation": {"every": 2, "metrics": ["auc"]}}, {}, "evaluation.metrics"),
    "baseline": ({"baseline": "alone"}, {}, "baseline"),
}


def usual(table=None, **data):
    """Return a spec of a run whose site has agreed to `AGREED`."""
    return hospital_spec({"engine": {}} | (table or {}), **data)


@pytest.mark.parametrize("case", ALLOWED)
def test_a_site_answers_the_spec_that_it_has_agreed_to(sites, agreed, case):
    config = {"data": str(sites / "oslo.csv")} | agreed
    spec = usual(ALLOWED[case])
    assert ask(config, spec).header["client_names"] == ["oslo"]
    assert "classes" in ask(config, spec, "statistics", share=share()).arrays
    settled = settle_elsewhere(spec, 3, 4.0)
    assert "initial" in ask(config, settled, share=share(ENCODER), initial=True).arrays


@pytest.mark.parametrize("case", OTHER)
def test_a_site_answers_no_other_spec(sites, agreed, case):
    table, data, key = OTHER[case]
    config = {"data": str(sites / "oslo.csv")} | agreed
    assert f"{key} is not what this site has agreed to" in refusals(config, usual(table, **data))


def test_what_is_agreed_to_is_not_left_to_the_server():
    agreed = parse(Spec, {"data": {"name": "digits"}, "clients": {"client_lr": 0.05, "mu": 0.5}})
    same = resolve(agreed)
    assert first_difference(same, agreed) is None
    other = parse(Spec, {"data": {"name": "digits"}, "clients": {"client_lr": 0.06, "mu": 0.5}})
    assert first_difference(resolve(other), agreed) == "clients.client_lr"
    prox = {"data": {"name": "digits"}, "clients": {"client_lr": 0.05}, "rule": {"name": "fedprox"}}
    assert first_difference(resolve(parse(Spec, prox)), agreed) == "clients.mu"


@pytest.mark.parametrize("config", [{"trust": "yes"}, {"allow-code": 1}, {"spec": 3}])
def test_a_wrong_switch_is_refused(config):
    sentence = ask(config | {"partition-id": 0, "num-partitions": 1}, built_in()).header["error"][1]
    assert f"{next(iter(config))} in the node's --node-config must be" in sentence


def test_a_server_does_not_say_what_the_node_lets_it(sites):
    """The node config is the node's own, whatever a question carries under its name."""
    config = {"data": str(sites / "oslo.csv"), "partition-id": 0, "num-partitions": 1}
    asked = {"node": {"trust": True}, "trust": True, "allow-code": True}
    answer = ask(config, built_in(name="digits"), **asked)
    assert "without [data.schema]" in answer.header["error"][1]
    header = {"spec": to_toml(built_in(name="digits")), "path": "auto", **asked}
    carried = Question(phase="hello", header=header).with_header(node=config)
    over_a_socket = answer_from_bytes(answer_bytes(to_bytes(carried)))
    assert "without [data.schema]" in over_a_socket.header["error"][1]
