from __future__ import annotations

import numpy as np
import pytest

from fedmgda._json import encode
from fedmgda.experiments import GroupSummary
from fedmgda.experiments._measure import evaluation_row
from fedmgda.values import Evaluation, Failure


def evaluation(*failed: int) -> Evaluation:
    losses, accuracies = np.array([1.0, 2.0, 6.0]), np.array([0.5, 0.25, 0.0])
    losses[list(failed)] = accuracies[list(failed)] = np.nan
    return Evaluation(
        client_ids=(0, 1, 2),
        losses=losses,
        accuracies=accuracies,
        num_examples=np.array([4.0, 4.0, 2.0]),
        failures=tuple(Failure(client_id=i, reason="it raised") for i in failed),
    )


def test_a_client_that_could_not_be_evaluated_is_named_and_left_out() -> None:
    row = evaluation_row(3, evaluation(2), (), None)
    assert row.failures == (Failure(client_id=2, reason="it raised"),)
    assert row.honest.users == 2
    assert row.honest.loss["average"] == pytest.approx(1.5)
    assert np.isnan(row.losses[2])


def test_a_whole_evaluation_says_nothing_of_failures() -> None:
    row = evaluation_row(3, evaluation(), (), None)
    assert "failures" not in encode(row)
    assert row.honest.users == 3


def test_nobody_left_has_no_summary() -> None:
    row = evaluation_row(3, evaluation(0, 1, 2), (0,), None)
    assert row.honest == GroupSummary(users=0)
    assert row.all_users.users == 0
