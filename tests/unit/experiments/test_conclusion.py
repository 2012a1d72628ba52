"""The last sentence of a comparison carries both: whether it learned, and who is worse off."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fedmgda.experiments import Against, ClientGain, Verdict, most_telling
from fedmgda.experiments._conclusion import conclusion


def client(number, gain=0.0):
    return ClientGain(
        client=str(number), rows=9, gain=gain, low=gain, high=gain, p_worse=1.0, p_better=1.0,
        beyond_chance=None, by_seed=(gain,),
    )  # fmt: skip


def against(name="alone", *, worse=0, of=25, chance=0.0, chance_95=0.0):
    return Against(
        name=name, seeds=(0,), gain=0.0, low=0.0, high=0.0, gaining=0, losing=worse,
        losing_by_chance=0.0, losing_by_chance_95=0.0, better=0, worse=worse,
        worse_by_chance=chance, worse_by_chance_95=chance_95, losing_by_seed=(worse,),
        worse_by_seed=(worse,), clients=tuple(map(client, range(of))),
    )  # fmt: skip


def verdict(outcome="learned", headline="It learned: test loss 0.3."):
    return Verdict(outcome=outcome, headline=headline)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (
            against(worse=79, of=194, chance=9.8, chance_95=15.0),
            (
                "It learned, but 79 of 194 clients are worse off than alone (about 10 would be by "
                "the chance of the test rows)."
            ),
        ),
        (
            against(worse=2, chance=1.04, chance_95=3.0),
            (
                "It learned; 2 of 25 clients are worse off than alone, as the chance of the test "
                "rows alone may make it (about 1.0, seldom more than 3)."
            ),
        ),
        (
            against(worse=1, chance=0.0),
            (
                "It learned, but 1 of 25 clients is worse off than alone (about 0 would be by the "
                "chance of the test rows)."
            ),
        ),
        (
            against(of=1),
            "It learned; no client is worse off than alone beyond the chance of the test rows.",
        ),
        (
            against("constant", worse=1, of=1),
            (
                "It learned, but 1 of 1 client is worse off than with a constant (about 0 would "
                "be by the chance of the test rows)."
            ),
        ),
        (
            against("b/fedavg"),
            (
                "It learned; no client is worse off than under b/fedavg beyond the chance of the "
                "test rows."
            ),
        ),
    ],
)
def test_both_are_said(other, sentence):
    """The last line said that it learned where 79 of 194 clients were worse off than alone."""
    assert conclusion({0: verdict()}, other) == sentence


def test_what_went_wrong_is_said_whole_with_its_seed():
    bad = verdict("not learned", "It did not learn. Try -c rounds=9.")
    other = against(worse=3, chance=0.1)
    clients = "3 of 25 clients are worse off than alone (about 0.1 would be by the chance of the"
    assert conclusion({0: bad}, other) == f"{bad.headline} {clients} test rows)."
    assert conclusion({0: verdict(), 4: bad}, other).startswith(f"Seed 4: {bad.headline} 3 of 25")
    assert conclusion({0: verdict(), 4: verdict()}, other).startswith(
        "It learned in all 2 seeds, but 3 of 25 clients are"
    )


def test_clients_of_whom_nothing_is_known_are_not_counted():
    other = against(worse=2, of=4)
    other = replace(other, clients=(*other.clients, client(5, math.nan)))
    assert "2 of 4 clients" in conclusion({0: verdict()}, other)


def test_alone_is_what_counts_in_whatever_folder():
    first, alone = against("b/fedavg"), against("b/alone")
    assert most_telling([first, alone]) is alone
    assert most_telling([first]) is first
