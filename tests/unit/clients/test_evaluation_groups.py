from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from fedmgda.clients import _block
from fedmgda.clients._block import Block
from fedmgda.clients._evaluation_groups import EvaluationGroups
from fedmgda.clients._objective import batch_loss, score, score_each
from unit.clients._toys import SIZES, complain, everything, federation, pool, small, trapped

if TYPE_CHECKING:
    from fedmgda.data import FederatedData

ALL = tuple(range(len(SIZES)))
sizes = st.lists(st.integers(0, 40), min_size=1, max_size=30)


def data_of(lengths: list[int]) -> FederatedData:
    data = federation((1,))
    rows = tuple(np.zeros(length, np.int64) for length in lengths)
    return dataclasses.replace(data, train=rows, validation=rows, test=rows)


@settings(max_examples=80)
@given(sizes)
def test_groups_are_neighbours_and_fill_a_pass(lengths: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_block, "_PASS_ROWS", 16)
        groups = EvaluationGroups(data_of(lengths), "test")
    members = [groups.members(group) for group in range(len(groups.sizes))]
    assert [client for group in members for client in group] == list(range(len(lengths)))
    assert groups.sizes.tolist() == [sum(lengths[i] for i in group) for group in members]
    for group in members:
        assert sum(lengths[i] for i in group[:-1]) < 16
    assert len(members) <= sum(lengths) // 16 + 1


@settings(max_examples=20)
@given(sizes, st.data())
def test_a_client_is_in_the_groups_it_is_asked_for(lengths: list[int], data: st.DataObject) -> None:
    groups = EvaluationGroups(data_of(lengths), "test")
    asked = data.draw(st.lists(st.integers(0, len(lengths) - 1)))
    found = groups.of(asked)
    assert found == sorted(set(found))
    for group in found:
        assert set(groups.members(group)) & set(asked)
    assert set(asked) <= {client for group in found for client in groups.members(group)}


@settings(max_examples=30, deadline=None)
@given(sizes, st.sampled_from(["classes", "numbers"]))
def test_scores_in_one_pass_are_the_scores_one_by_one(lengths: list[int], kind: str) -> None:
    classes = kind == "classes"
    generator = torch.Generator().manual_seed(sum(lengths))
    n = sum(lengths)
    features = torch.randn(n, 5, generator=generator)
    targets = torch.randint(3, (n,), generator=generator)
    block = Block(features, targets if classes else targets.float())
    module = small() if classes else nn.Linear(5, 1)
    together = score_each(module, block, np.array(lengths))
    alone = [
        score(module, Block(x, y))
        for x, y in zip(
            torch.split(block.features, lengths), torch.split(block.targets, lengths), strict=True
        )
    ]
    np.testing.assert_allclose(together, np.array(alone), rtol=1e-5)


def test_a_loss_that_is_not_finite_stays_with_its_client() -> None:
    features = torch.ones(4, 5)
    features[1] = torch.nan
    scores = score_each(small(), Block(features, torch.zeros(4, dtype=torch.int64)), np.full(2, 2))
    assert np.isnan(scores[0, 0])
    assert np.isfinite(scores[1]).all()


def test_company_and_order_change_no_bit_of_an_evaluation() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_block, "_PASS_ROWS", 30)
        with pool(build_model=everything) as clients:
            params = clients.initial_params()
            whole = clients.evaluate(params, ALL, "test")
            some = clients.evaluate(params, (4, 1, 1), "test")
            nobody = clients.evaluate(params, (), "test")
    np.testing.assert_array_equal(some.losses, whole.losses[[4, 1, 1]])
    np.testing.assert_array_equal(some.accuracies, whole.accuracies[[4, 1, 1]])
    assert some.client_ids == (4, 1, 1)
    assert nobody.losses.shape == (0,)


def test_an_evaluation_is_the_mean_over_the_examples_of_each_client() -> None:
    data = federation()
    with pool() as clients:
        params = clients.initial_params()
        evaluation = clients.evaluate(params, ALL, "test")
    module = small()
    nn.utils.vector_to_parameters(torch.from_numpy(params), module.parameters())
    for client, rows in enumerate(data.test):
        output = module(torch.from_numpy(data.features[rows]))
        loss = batch_loss(output, torch.from_numpy(data.targets[rows])).item()
        assert evaluation.losses[client] == pytest.approx(loss, rel=1e-5)


def test_a_few_passes_do_for_many_clients() -> None:
    calls: list[int] = []

    class Counted(nn.Linear):
        def forward(self, features: torch.Tensor) -> torch.Tensor:
            calls.append(len(features))
            return super().forward(features)

    with pool(build_model=lambda: Counted(5, 3)) as clients:
        calls.clear()
        clients.evaluate(clients.initial_params(), ALL, "test")
    assert calls == [sum(SIZES)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_client_that_fails_leaves_its_group_alone(workers: int) -> None:
    data = federation(trigger=2)
    swapped = dataclasses.replace(data, test=data.train)
    with (
        pool(data=swapped, build_model=trapped(complain), workers=workers) as clients,
        pool(data=swapped) as calm,
    ):
        params = clients.initial_params()
        found = clients.evaluate(params, ALL, "test")
        expected = calm.evaluate(params, ALL, "test")
    assert [(failure.client_id, failure.reason) for failure in found.failures] == [
        (2, "its work raised ArithmeticError: too much")
    ]
    assert np.isnan([found.losses[2], found.accuracies[2]]).all()
    others = [i for i in ALL if i != 2]
    np.testing.assert_allclose(found.losses[others], expected.losses[others], rtol=1e-6)
    np.testing.assert_array_equal(found.accuracies[others], expected.accuracies[others])


def test_who_is_asked_changes_no_bit_where_a_group_fails() -> None:
    data = federation(trigger=2)
    swapped = dataclasses.replace(data, test=data.train)
    with pool(data=swapped, build_model=trapped(complain)) as clients:
        params = clients.initial_params()
        everyone = clients.evaluate(params, ALL, "test")
        some = clients.evaluate(params, (5, 3), "test")
    np.testing.assert_array_equal(some.losses, everyone.losses[[5, 3]])
    assert some.failures == ()
