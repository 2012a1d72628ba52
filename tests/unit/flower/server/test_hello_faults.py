"""What nodes say of themselves is checked: no lie is believed, and none ends a healthy run."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fedmgda.experiments import open_run, to_toml
from fedmgda.flower.server_app import Settings, serve
from fedmgda.flower.wire._end import read_end
from flower_grid import MemoryGrid, node_events, run_over, with_arrays
from hospitals import hospital_spec, write_sites
from runs import finished_run, results

SIX = {"data": {"num_clients": 6}, "clients": {"per_round": 4}, "engine": {"client_timeout": 0.3}}
SPLITS = ("train", "validation", "test")
ROSTER = json.dumps({"100": ["tromso"], "101": ["oslo"], "102": ["bergen"]})  # ids 2, 1, 0


def at_hello(change, when=lambda question: True):  # noqa: ARG005
    def twist(question, answer):
        return change(answer) if question.phase == "hello" and when(question) else answer

    return twist


def shared(question):
    """Tell whether a node was told its share before."""
    return "share" in question.header


def with_header(answer, **header):
    return replace(answer, header={**answer.header, **header})


def sized(answer, *sizes):
    """Return an answer with other sizes, and no rows."""
    told = {f"sizes.{split}": np.array(sizes) for split in SPLITS}
    return with_arrays(answer, **told, **{f"rows.{split}": None for split in SPLITS})


def refused(path):
    return {e["node"]: e["reason"] for e in node_events(path) if e["event"] == "refused"}


def run_files(path, twist=None, roster="", **table):
    grid = MemoryGrid()
    files = sorted(write_sites(path.parent / "sites").glob("*.csv"), reverse=True)
    grid.online = {100 + i: {"data": str(file)} for i, file in enumerate(files)}
    grid.twist = twist or {}
    engine = {"checkpoint_seconds": 0.0, "client_timeout": 1.0}
    spec = to_toml(hospital_spec({"engine": engine} | table))
    return serve(grid, "a run", Settings(spec=spec, out=path, num_nodes=3, roster=roster))


LIES = {
    "ids of others under its own name": (
        lambda a: sized(with_header(a, client_ids=[0, 1, 2], client_names=["tromso"] * 3), 9, 9, 9),
        "client_names has a name twice",
    ),
    "an id of another": (
        lambda a: with_header(a, client_ids=[0]),
        "it does not speak of the clients that were given to it",
    ),
    "a client more": (
        lambda a: sized(with_header(a, client_ids=[0, 2], client_names=["x", "tromso"]), 9, 9),
        "it does not speak of the clients that were given to it",
    ),
    "other sizes": (
        lambda a: sized(a, 1000),
        "client 'tromso' has not as many rows as it had before",
    ),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("roster", [ROSTER, ""])
def test_a_node_speaks_of_the_clients_that_were_given_to_it_and_of_no_others(tmp_path, lie, roster):
    change, reason = LIES[lie]
    twist = {100: at_hello(change, shared)}
    assert run_files(tmp_path / "run", twist, roster) == 6
    assert refused(tmp_path / "run") == {"100": reason}
    said = read_end(tmp_path / "run").sentence
    assert said.startswith("2 of 3 nodes joined within 1 s (101 and 102), and none ")
    assert f"refused: node 100: {reason}; " in said
    assert open_run(tmp_path / "run").rounds == ()


def test_a_refused_claim_changes_nothing_of_the_client_it_was_made_for(tmp_path):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()

    def claim_0(answer):
        mine = answer.header["client_ids"]
        return sized(with_header(answer, client_ids=[0, *mine]), 10**6, *[5] * len(mine))

    grid.online[7] = {"partition-id": 2, "num-partitions": 3}  # the lowest: met first
    grid.twist[7] = at_hello(claim_0)
    roster = json.dumps({"100": "0/3", "101": "1/3", "102": "2/3"})
    assert run_over(tmp_path / "run", grid, num_nodes=4, roster=roster, **SIX) == 0
    assert results(tmp_path / "run") == results(tmp_path / "here")


@pytest.mark.parametrize("names", [["a", "a"], ["a", "b\u202e"], ["a", "b\n"], ["a", "n" * 201]])
def test_names_are_different_short_and_visible(tmp_path, names):
    grid = MemoryGrid()
    grid.twist[101] = at_hello(lambda a: with_header(a, client_names=names))
    assert run_over(tmp_path / "run", grid, **SIX) == 6
    assert "client_names" in refused(tmp_path / "run")["101"]


@pytest.mark.parametrize("name", ["a\ud800b", "x\n\x1b[2J\u202eevil", "n" * 201, " ", "\u200b"])
def test_so_are_those_that_a_node_introduces_itself_with(tmp_path, name):
    change = at_hello(lambda a: with_header(a, client_names=[name]), lambda q: not shared(q))
    assert run_files(tmp_path / "run", {100: change}) == 6
    said = read_end(tmp_path / "run").sentence
    assert "node 100: client_names is no list of names" in said


def test_of_two_nodes_that_name_a_client_differently_the_first_is_believed(tmp_path):
    grid = MemoryGrid()
    called = {100: ["a", "d"], 101: ["b", "d"], 102: ["c", "f"]}
    for node, names in called.items():
        grid.twist[node] = at_hello(lambda a, names=names: with_header(a, client_names=names))
    assert run_over(tmp_path / "run", grid, **SIX) == 6
    assert refused(tmp_path / "run") == {"101": "client 4 is not 'd', as its node says"}


NONSENSE = {
    "digits": lambda a: with_arrays(a, **{"value." + "9" * 5000: np.zeros(1)}),
    "layout of numbers": lambda a: with_header(a, layout=[1, 2]),
    "layout of texts": lambda a: with_header(a, layout="abc"),
    "shape of texts": lambda a: with_header(a, layout=[["w", ["a"], 0]]),
    "shape below 0": lambda a: with_header(a, layout=[["w", [-1], 0]]),
    "place of text": lambda a: with_header(a, layout=[["w", [1], "0"]]),
    "place outside": lambda a: with_header(a, layout=[["w", [10], 10**9]]),
    "value of nothing": lambda a: with_header(a, layout=[["w", [1], None]]),
    "tensors that are the model many times": lambda a: with_header(
        a, layout=[[f"w{i}", [a.header["num_params"]], 0] for i in range(65)]
    ),
    "classes": lambda a: with_header(a, num_classes="ten"),
    "class names": lambda a: with_header(a, class_names=[["a"]]),
    "encoder": lambda a: with_header(a, encoder={"columns": 5}),
    "fingerprint": lambda a: with_header(a, fingerprint={"a": 1}),
    "sums of NaN": lambda a: with_arrays(a, target_sums=np.full(10, np.nan)),
    "sums of too few": lambda a: with_arrays(a, target_sums=np.zeros(2)),
    "NaN as model": lambda a: with_arrays(
        a, initial=np.full(a.header["num_params"], np.nan, np.float32)
    ),
    "sizes beyond counting": lambda a: sized(a, 2**62, 2**62),
}


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_of_a_node_that_comes_late_never_ends_the_run(tmp_path, nonsense):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()

    def call(question, answer):
        if question.phase == "train":
            grid.online[7] = {"partition-id": 1, "num-partitions": 3}
        return answer

    grid.twist |= {100: call, 7: at_hello(NONSENSE[nonsense])}
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    assert results(tmp_path / "run") == results(tmp_path / "here")
    # Digits that are no place in the layout are not read; the rest is refused for what it is.
    reason = refused(tmp_path / "run")["7"]
    assert (reason == "node 101 answers for them") == (nonsense == "digits"), reason


def test_the_initial_model_is_that_of_the_node_of_client_0(tmp_path):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()
    grid.online = {103 - i: config for i, config in enumerate(grid.online.values())}

    def other(answer):
        return with_arrays(answer, initial=np.full(answer.header["num_params"], 9, np.float32))

    grid.twist[101] = at_hello(other)  # the lowest, and of clients 2 and 5
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    assert results(tmp_path / "run") == results(tmp_path / "here")


@pytest.mark.parametrize("wrong", [None, np.nan])
def test_without_an_initial_model_the_run_ends_with_one_sentence(tmp_path, wrong):
    grid = MemoryGrid()

    def without(answer):
        size = answer.header["num_params"]
        model = None if wrong is None else np.full(size, wrong, np.float32)
        return with_arrays(answer, initial=model)

    grid.twist[100] = at_hello(without)
    assert run_over(tmp_path / "run", grid, **SIX) == 6
    said = read_end(tmp_path / "run").sentence
    assert ("The node of client 0 did not send the initial model" in said) == (wrong is None)
