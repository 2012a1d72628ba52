"""A decay that changes no step is refused, and only such a one."""

import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import SpecError
from fedmgda.experiments import Spec, inert_decay, parse, refuse_inert_decay
from fedmgda.federation import PaperDecay


def spec_of(rounds, **server):
    return parse(Spec, {"rounds": rounds, "server": server})


@given(st.integers(1, 400), st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]))
def test_it_is_refused_where_no_step_differs_from_that_without_it(rounds, decay):
    schedule = PaperDecay(server_lr=1.5, decay=decay, num_rounds=rounds)
    changes = any(schedule(round_num, None) != 1.5 for round_num in range(1, rounds + 1))
    asked_for = decay not in {0.0, 1.0}
    assert (inert_decay(spec_of(rounds, decay=decay)) is not None) == (asked_for and not changes)


def test_the_sentence_has_the_value_and_the_remedy():
    with pytest.raises(
        SpecError, match=r"server.decay = 0.1 changes nothing in 40 .* more than 100"
    ):
        refuse_inert_decay(spec_of(40, decay=0.1))


@pytest.mark.parametrize(
    "server", [{"schedule": "median-norm"}, {"schedule": "harmonic", "curvature": 1.0}]
)
def test_another_schedule_knows_no_decay(server):
    with pytest.raises(SpecError, match=r"does not apply to server\.schedule"):
        refuse_inert_decay(spec_of(500, decay=0.1, **server))
    refuse_inert_decay(spec_of(500, **server))
