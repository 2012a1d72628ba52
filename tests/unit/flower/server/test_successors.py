"""Nodes that come later under the names of clients whose node went away."""

import json
from dataclasses import replace

import pytest

from fedmgda.experiments import open_run
from flower_grid import grid_of, node_events, run_spec
from hospitals import hospital_spec, split_by_town, write_sites

OSLO, LATER = 101, 666


@pytest.fixture
def sites(tmp_path):
    return write_sites(tmp_path / "sites")


def replaced(path, sites, config, roster="", **data):
    """Run; oslo's node goes away in round 2, and another comes. Return what is said of the latter.

    Beside it how many clients were quarantined in each of the four rounds.
    """
    grid = grid_of(sites)

    def leave(question, answer):
        if question.phase == "train" and question.header["round"] == 2:
            grid.online.pop(OSLO, None)
            grid.online[LATER] = config
            return None
        return answer

    grid.twist[OSLO] = leave
    spec = hospital_spec({"clients": {"client_lr": 0.1}}, **data)
    spec = replace(spec, engine=replace(spec.engine, client_timeout=1.0))
    assert run_spec(path, grid, spec, roster=roster) == 0
    (event,) = [event for event in node_events(path) if event["node"] == str(LATER)]
    return event, [len(row.quarantined) for row in open_run(path).rounds]


def other_patients(sites, place):
    """Write a file with as many rows as oslo's, of other patients."""
    head, *rows = (sites / "oslo.csv").read_text().splitlines()
    parts = [row.split(",", 2) for row in rows]
    other = [f"{record},33.3,{rest}" for record, _, rest in parts]
    place.write_text("\n".join([head, *other]) + "\n")
    return {"data": str(place), "client": "oslo"}


def test_the_same_rows_go_on(tmp_path, sites):
    config = {"data": str(sites / "oslo.csv")}
    event, lost = replaced(tmp_path / "run", sites, config)
    assert (event["event"], event["clients"], lost) == ("moved", [1], [0, 1, 0, 0])


def test_another_number_of_rows_is_refused(tmp_path, sites):
    config = {"data": str(sites / "bergen.csv"), "client": "oslo"}
    event, lost = replaced(tmp_path / "run", sites, config)
    assert (event["event"], lost) == ("refused", [0, 1, 1, 1])
    assert "its client 'oslo' has other rows than that of the node before" in event["reason"]


def test_as_many_rows_of_others_are_refused_unless_the_key_decides(tmp_path, sites):
    config = other_patients(sites, tmp_path / "other.csv")
    event, lost = replaced(tmp_path / "run", sites, config)
    assert (event["event"], lost) == ("refused", [0, 1, 1, 1])
    assert "its client 'oslo' has other rows than that of the node before" in event["reason"]
    names = {100: ["tromso"], OSLO: ["oslo"], 102: ["bergen"], LATER: ["oslo"]}
    event, lost = replaced(tmp_path / "keys", sites, config, roster=json.dumps(names))
    assert (event["event"], lost) == ("moved", [0, 1, 0, 0])


def test_a_part_of_the_clients_of_a_node_is_refused(tmp_path, sites):
    split_by_town(sites)
    head, *rows = (sites / "oslo.csv").read_text().splitlines()
    part = tmp_path / "part.csv"
    part.write_text("\n".join([head, *(row for row in rows if "oslo e" in row)]) + "\n")
    event, lost = replaced(tmp_path / "run", sites, {"data": str(part)}, client="town")
    assert (event["event"], lost) == ("refused", [0, 2, 2, 2])
    assert "it brings not all clients of the node before, 'oslo w" in event["reason"]
