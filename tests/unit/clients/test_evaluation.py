from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from fedmgda.clients._objective import batch_loss
from unit.clients._toys import SIZES, complain, everything, federation, pool, small, trapped

ALL = tuple(range(len(SIZES)))


@pytest.mark.parametrize("build_model", [everything, small])
def test_company_and_order_change_no_bit_of_an_evaluation(build_model) -> None:
    with pool(build_model=build_model, path="torch") as clients:
        params = clients.initial_params()
        whole = clients.evaluate(params, ALL, "test")
        some = clients.evaluate(params, (4, 1, 1), "test")
        nobody = clients.evaluate(params, (), "test")
    np.testing.assert_array_equal(some.losses, whole.losses[[4, 1, 1]])
    np.testing.assert_array_equal(some.accuracies, whole.accuracies[[4, 1, 1]])
    assert some.client_ids == (4, 1, 1)
    assert nobody.losses.shape == (0,)


@pytest.mark.parametrize("build_model", [everything, small])
def test_a_place_with_one_client_alone_gives_the_bits_of_a_place_with_all(build_model) -> None:
    data = federation()
    with pool(data=data, build_model=build_model, path="torch") as clients:
        params = clients.initial_params()
        whole = clients.evaluate(params, ALL, "test")
    for client in ALL:
        splits = {name: (data.split(name)[client],) for name in ("train", "validation", "test")}
        own = dataclasses.replace(data, **splits)
        with pool(data=own, build_model=build_model, path="torch") as clients:
            found = clients.evaluate(params, (0,), "test")
        assert found.losses[0] == whole.losses[client]
        assert found.accuracies[0] == whole.accuracies[client]


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


@pytest.mark.parametrize("workers", [1, 2])
def test_a_client_that_fails_changes_no_bit_of_the_others(workers: int) -> None:
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
    np.testing.assert_array_equal(found.losses[others], expected.losses[others])
    np.testing.assert_array_equal(found.accuracies[others], expected.accuracies[others])
