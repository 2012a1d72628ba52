"""Who answers for whom: one node at most, connected, permitted, and the first that claimed."""

import json

import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import SpecError
from fedmgda.flower.server._roster import Roster, permissions

NODES, CLIENTS = st.integers(1, 5), st.integers(0, 6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("online"), st.sets(NODES)),
        st.tuples(st.just("claim"), NODES, st.lists(CLIENTS, unique=True)),
    ),
    max_size=12,
)


@given(steps=steps, permitted=st.none() | st.dictionaries(NODES, st.frozensets(CLIENTS)))
def test_a_client_has_one_node_which_claims_it_is_connected_and_may_have_it(steps, permitted):
    told = []
    roster = Roster(permitted, told.append)
    online, claims = set(), {}
    holders = dict.fromkeys(range(7))
    for number, (kind, *what) in enumerate(steps):
        if kind == "online":
            online = what[0]
            assert set(roster.refresh(online, number)) == online - claims.keys()
        elif what[0] in online and what[0] not in claims:
            claims[what[0]] = set(what[1])
            roster.claim(what[0], what[1], None, number)
        before, holders = holders, {i: roster.holder(i) for i in range(7)}
        for client, node in holders.items():
            able = {
                n for n, ids in claims.items()
                if client in ids and n in online
                and (permitted is None or client in permitted.get(n, ()))
            }  # fmt: skip
            assert node in able if able else node is None
            if before[client] in able:
                assert node == before[client], "who has a client and is there keeps it"
            if node not in {None, before[client]}:
                news = [e for e in told if e.event in {"joined", "moved"} and client in e.clients]
                assert news[-1].node == str(node)


def test_nothing_is_told_twice():
    told = []
    roster = Roster(None, told.append)
    roster.refresh({1, 2}, 0)
    roster.claim(1, [0, 1], None, 0)
    roster.claim(2, [1, 2], None, 0)
    for number in range(1, 4):
        roster.refresh({1, 2}, number)
    assert [(e.event, e.node, e.clients) for e in told] == [
        ("joined", "1", (0, 1)),
        ("joined", "2", (2,)),
        ("refused", "2", (1,)),
    ]
    roster.refresh({2}, 9)
    assert [(e.round_num, e.event, e.node, e.clients) for e in told[3:]] == [
        (9, "gone", "1", (0, 1)),
        (9, "moved", "2", (1,)),
    ]


def test_a_name_is_as_good_as_a_number():
    told = []
    roster = Roster({5: frozenset({"north"})}, told.append)
    roster.refresh({5}, 0)
    roster.claim(5, [0, 1], ["north", "south"], 0)
    assert (roster.holder(0), roster.holder(1)) == (5, None)
    assert [(e.event, e.clients) for e in told] == [("refused", (1,)), ("joined", (0,))]
    assert json.loads(told[0].line())["node"] == "5"


@pytest.mark.parametrize("text", ["[]", "{", '{"a": [1]}', '{"1": 2}', '{"1": [true]}', "3"])
def test_permissions_that_are_none_are_refused(text):
    with pytest.raises(SpecError, match="roster must be JSON"):
        permissions(text)


def test_no_permissions_permit_everything():
    assert permissions(" ") is None
