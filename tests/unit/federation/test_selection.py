"""Which round is kept, and after which a run ends: the definition, over random scores."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.federation import (
    Selected,
    ServerState,
    load_checkpoint,
    save_checkpoint,
    select,
    selected_round,
)

# Few different values, so that ties are frequent.
SCORES = st.lists(
    st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan, math.inf, -math.inf]), min_size=1, max_size=12
)
MEASURES = st.sampled_from(["loss", "accuracy"])
PATIENCE = st.none() | st.integers(1, 5)


def good_first(scores, measure):
    """Return the scores as numbers of which the smallest is the best, without end the worst."""
    sign = 1.0 if measure == "loss" else -1.0
    return [sign * score if math.isfinite(score) else math.inf for score in scores]


def round_of(place):
    return 10 * place


@given(SCORES, MEASURES, PATIENCE)
def test_the_end_is_the_first_evaluation_with_so_many_in_a_row_not_better(
    scores, measure, patience
):
    costs = good_first(scores, measure)
    ends = [
        place
        for place in range(len(costs))
        if patience is not None
        and place >= patience
        # The best before the last `patience` evaluations is not beaten by any of them.
        and min(costs[place - patience + 1 : place + 1]) >= min(costs[: place - patience + 1])
    ]
    found = selected_round(
        [(round_of(place), score) for place, score in enumerate(scores)], measure, patience
    )
    seen = costs[: ends[0] + 1] if ends else costs
    assert found == (round_of(seen.index(min(seen))), round_of(ends[0]) if ends else None)


@given(SCORES, MEASURES)
def test_one_by_one_gives_the_first_of_the_best_with_its_model(scores, measure):
    best = None
    for place, score in enumerate(scores):
        candidate = Selected(round_num=place, score=score, model=np.full(2, place, np.float32))
        best = select(best, candidate, measure)
    costs = good_first(scores, measure)
    first = costs.index(min(costs))
    assert (best.round_num, best.since) == (first, len(scores) - 1 - first)
    assert best.model.tolist() == [first, first]


def test_no_score_selects_the_first_and_any_score_is_better_than_none():
    nothing = Selected(round_num=0, score=math.nan)
    assert select(None, nothing, "loss") is nothing
    some = Selected(round_num=10, score=1e9)
    assert select(nothing, some, "loss") is some


@pytest.mark.parametrize("score", [0.1, 1 / 3, math.nan, -0.0])
def test_a_checkpoint_remembers_the_selection_to_the_bit(tmp_path, score):
    model = np.array([1.0, 0.1, -3.0], np.float32)
    server = ServerState(
        round_num=30,
        params=np.ones(3, np.float32),
        rule_state={"lam": np.ones(2)},
        selected=Selected(round_num=20, score=score, since=1, model=model),
    )
    loaded = load_checkpoint(save_checkpoint(server, tmp_path))
    assert repr(loaded.selected.score) == repr(score)
    assert (loaded.selected.round_num, loaded.selected.since) == (20, 1)
    assert loaded.selected.model.tobytes() == model.tobytes()
    assert list(loaded.rule_state) == ["lam"]
