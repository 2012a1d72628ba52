"""Clients are called by their names wherever a spec speaks of them."""

from __future__ import annotations

import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import Spec, open_run, parse, resolve
from fedmgda.experiments._client_names import find_clients, known_ids, with_client_ids
from runs import finished_run
from tables import write_table

NAMES = ("east", "north", "south", "west")


def table_run(folder, **table):
    data = write_table(folder / "rows.csv")
    return open_run(finished_run(folder / "run", data=data, model={}, **table).path)


def test_only_may_name_clients(tmp_path):
    """Finding 5: `clients.only` took numbers, not names."""
    run = table_run(tmp_path, clients={"only": ["west", "north"]})
    assert {row.client_ids for row in run.rounds} == {(1, 3)}
    assert run.spec.clients.only == ("west", "north")


def test_attackers_may_be_named(tmp_path):
    attack = {"name": "scale-update", "clients": ["south"], "factor": 2.0}
    run = table_run(tmp_path, clients={"per_round": 2}, attack=attack)
    assert all(2 in row.client_ids for row in run.rounds)
    assert run.summary.honest.users == 3
    assert run.summary.all_users.users == 4


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"clients": {"only": ["nort"]}}, r"clients.only names a client 'nort' .* mean 'north'"),
        ({"attack": {"name": "scale-loss", "clients": ["zz"]}, "clients": {"per_round": 2}},
         "attack.clients names a client 'zz' that there is not; ids go from 0 to 3."),
        ({"clients": {"only": ["west", "3"]}}, "clients.only names a client twice; name each once"),
    ],
)  # fmt: skip
def test_a_name_nobody_has_is_one_sentence(tmp_path, table, sentence):
    with pytest.raises(SpecError, match=sentence):
        table_run(tmp_path, **table)


def test_where_clients_have_no_names_a_name_is_refused_before_anything_is_read():
    with pytest.raises(SpecError, match=r"clients.only names a client 'a' that there is not; ids"):
        resolve(parse(Spec, {"clients": {"only": ["a"]}}))


def test_a_number_is_a_number_also_where_a_client_is_called_so():
    names = ("7", "1", "0")
    spec = parse(Spec, {"clients": {"only": [1, 0]}, "attack": {"clients": ["7"]}})
    found = with_client_ids(spec, names, 3)
    assert known_ids(found.clients.only) == (1, 0)
    assert known_ids(found.attack.clients) == (0,)
    assert find_clients(["1", "0"], names, 3, "x") == [1, 2]
    assert find_clients(["1", "0"], None, 3, "x") == [1, 0]


def test_names_that_were_never_looked_up_are_no_ids():
    with pytest.raises(SpecError, match="it is not known here who they are"):
        known_ids(("a",))
