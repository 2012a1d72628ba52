from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn import functional

from fedmgda.clients import LocalTraining
from fedmgda.clients._block import Block
from fedmgda.clients._local import full_gradient, local_sgd
from fedmgda.models import FlatModel
from unit.clients._toys import small

if TYPE_CHECKING:
    from torch import nn


def example(n: int = 23) -> tuple[nn.Module, Block]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(n)
        return small(), Block(torch.randn(n, 5), torch.randint(3, (n,)))


def trained(module: nn.Module, block: Block, factor: float = 1.0, **training: Any) -> torch.Tensor:
    model = FlatModel(copy.deepcopy(module))
    local_sgd(model, block, LocalTraining(**training), np.random.default_rng(7), loss_factor=factor)
    return model.vector


def reference(
    module: nn.Module, block: Block, *, slope: float = 0.0, factor: float = 1.0, **training: Any
) -> torch.Tensor:
    """The same by torch.optim.SGD and an explicit proximal term in the loss."""
    options, rng = LocalTraining(**training), np.random.default_rng(7)
    module = copy.deepcopy(module).train()
    received = [param.detach().clone() for param in module.parameters()]
    optimizer = torch.optim.SGD(module.parameters(), options.client_lr, options.momentum)
    for _ in range(options.local_epochs):
        order = torch.from_numpy(rng.permutation(len(block)))
        for start in range(0, len(block), options.batch_size or len(block)):
            batch = order[start : start + (options.batch_size or len(block))]
            optimizer.zero_grad()
            output = module(block.features[batch])
            loss = factor * functional.cross_entropy(output, block.targets[batch])
            for param, start_value in zip(module.parameters(), received, strict=True):
                loss = loss + slope / 2 * ((param - start_value) ** 2).sum()
            loss.backward()
            optimizer.step()
    return torch.cat([param.detach().flatten() for param in module.parameters()])


def test_one_full_batch_moves_by_the_learning_rate_times_the_full_gradient() -> None:
    module, block = example()
    start = FlatModel(copy.deepcopy(module))
    full_gradient(start, block)
    moved = start.vector - trained(module, block, batch_size=None, client_lr=0.5)
    torch.testing.assert_close(moved, 0.5 * start.grad, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("change", [{"momentum": 0.9}, {"mu": 3.0}])
def test_one_full_batch_feels_neither_momentum_nor_the_proximal_term(change: Any) -> None:
    module, block = example()
    plain = trained(module, block, batch_size=None)
    assert torch.equal(plain, trained(module, block, batch_size=None, **change))
    assert not torch.equal(
        trained(module, block, batch_size=None, local_epochs=2),
        trained(module, block, batch_size=None, local_epochs=2, **change),
    )


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 30),
    st.sampled_from([None, 1, 4, 10, 64]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.sampled_from([("half", 0.0), ("half", 0.5), ("full", 0.5)]),
)
def test_local_sgd_agrees_with_the_optimizer_of_pytorch(
    n: int, batch_size: int | None, epochs: int, momentum: float, prox: tuple[Any, float]
) -> None:
    module, block = example(n)
    options: dict[str, Any] = {
        "batch_size": batch_size,
        "local_epochs": epochs,
        "momentum": momentum,
        "client_lr": 0.1,
    }
    convention, mu = prox
    slope = mu if convention == "half" else 2 * mu
    fast = trained(module, block, mu=mu, prox_convention=convention, **options)
    torch.testing.assert_close(
        fast, reference(module, block, slope=slope, **options), rtol=1e-4, atol=2e-6
    )


def test_a_loss_factor_scales_the_loss_and_not_the_proximal_term() -> None:
    module, block = example()
    fast = trained(module, block, 4.0, mu=0.5, batch_size=5)
    torch.testing.assert_close(
        fast, reference(module, block, slope=0.5, factor=4.0, batch_size=5), rtol=1e-4, atol=2e-6
    )
    assert not torch.allclose(fast, reference(module, block, slope=2.0, factor=4.0, batch_size=5))


def test_a_loss_factor_of_a_single_step_is_a_factor_of_the_update() -> None:
    module, block = example()
    received = FlatModel(copy.deepcopy(module)).vector
    once = received - trained(module, block, batch_size=None, client_lr=0.1)
    scaled = received - trained(module, block, 10.0, batch_size=None, client_lr=0.01)
    torch.testing.assert_close(once, scaled, rtol=1e-3, atol=1e-7)


def test_a_batch_larger_than_the_split_is_the_full_batch() -> None:
    module, block = example()
    full = trained(module, block, batch_size=None, local_epochs=3)
    assert torch.equal(full, trained(module, block, batch_size=23, local_epochs=3))
    assert torch.equal(full, trained(module, block, batch_size=99, local_epochs=3))


def test_the_last_partial_batch_takes_part() -> None:
    module, block = example(11)
    changed = Block(block.features.clone(), block.targets)
    last = np.random.default_rng(7).permutation(11)[-1]
    changed.features[last] += 1
    assert not torch.equal(
        trained(module, block, batch_size=5), trained(module, changed, batch_size=5)
    )


def test_what_was_trained_before_leaves_no_trace() -> None:
    module, block = example()
    model = FlatModel(copy.deepcopy(module))
    received = model.array.copy()
    results = []
    for _ in range(2):
        model.load(received)
        local_sgd(model, block, LocalTraining(momentum=0.9), np.random.default_rng(7))
        results.append(model.array.copy())
    np.testing.assert_array_equal(*results)


def test_the_full_gradient_is_that_of_the_mean_loss() -> None:
    module, block = example()
    model = FlatModel(copy.deepcopy(module))
    for _ in range(2):
        full_gradient(model, block)
    functional.cross_entropy(module(block.features), block.targets).backward()
    expected = torch.cat([param.grad.flatten() for param in module.parameters()])
    torch.testing.assert_close(model.grad, expected)


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_the_local_loss_is_the_mean_of_the_batch_losses_on_the_way(factor: float) -> None:
    module, block = example(11)
    training = LocalTraining(batch_size=4, local_epochs=2, mu=0.5, client_lr=0.3)
    model = FlatModel(copy.deepcopy(module))
    returned = local_sgd(model, block, training, np.random.default_rng(7), loss_factor=factor)
    replayed, rng, losses = FlatModel(copy.deepcopy(module)), np.random.default_rng(7), []
    received = replayed.params.clone()
    for _ in range(2):
        for rows in torch.from_numpy(rng.permutation(11)).split(4):
            loss = functional.cross_entropy(
                replayed.module(block.features[rows]), block.targets[rows]
            )
            losses.append(loss.item())
            replayed.grad.zero_()
            (factor * loss).backward()
            step = replayed.grad + 0.5 * (replayed.params - received)
            replayed.params.sub_(step, alpha=0.3)
    assert returned == pytest.approx(np.mean(losses), rel=1e-5)
