from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.nn import functional

from fedmgda.kernels import score, train, translate
from fedmgda.models import fmnist_cnn, mlp

N = 23


@dataclass
class Setting:
    """What one call of `train` gets, apart from the model."""

    batch: int = 4
    lr: float = 0.05
    momentum: float = 0.0
    prox: float = 0.0
    factor: float = 1.0
    regression: bool = False
    epochs: int = 1
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(3))


def vector(module: nn.Module) -> Any:
    return nn.utils.parameters_to_vector(module.parameters()).detach().numpy().copy()


def arrays(module: nn.Module, shape: tuple[int, ...], case: Setting) -> tuple[Any, Any, Any, Any]:
    features = case.rng.standard_normal((N, *shape)).astype(np.float32)
    outputs = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1].out_features
    classes = case.rng.integers(outputs, size=N)
    values = case.rng.standard_normal(N).astype(np.float32)
    order = np.stack([case.rng.permutation(N) for _ in range(case.epochs)])
    return features, classes, values, order


def by_torch(
    module: nn.Module, case: Setting, features, classes, values, order
) -> tuple[Any, float]:
    """Plain SGD of torch, without dropout: the parameters and the mean batch loss."""
    module.eval()
    received = [param.detach().clone() for param in module.parameters()]
    optimizer = torch.optim.SGD(module.parameters(), lr=case.lr, momentum=case.momentum)
    losses = []
    for epoch in order:
        for start in range(0, N, case.batch):
            rows = epoch[start : start + case.batch]
            output = module(torch.tensor(features[rows]))
            if case.regression:
                loss = functional.mse_loss(output.reshape(-1), torch.tensor(values[rows]))
            else:
                loss = functional.cross_entropy(output, torch.tensor(classes[rows]))
            losses.append(loss.item())
            pairs = zip(module.parameters(), received, strict=True)
            near = sum(((param - start) ** 2).sum() for param, start in pairs)
            optimizer.zero_grad()
            (case.factor * loss + case.prox / 2 * near).backward()
            optimizer.step()
    return vector(module), float(np.mean(losses))


def by_kernels(module: nn.Module, case: Setting, shape, data) -> tuple[Any, float, Any]:
    features, classes, values, order = data
    program = translate(module, shape)
    assert program is not None
    none = np.empty(0, np.int64), np.empty(0, np.float32)
    targets = (none[0], values) if case.regression else (classes, none[1])
    flat, table = features.reshape(N, -1), np.zeros((program.planes, 0), np.float32)
    params = program.arrange(vector(module))
    users = order[0], np.array([N])
    before = score(program.layers, params, flat, table, *targets, *users, False)[0]
    loss = train(
        program.layers, params, np.empty_like(params), flat, table, *targets, order, case.batch,
        case.lr, case.momentum, case.prox, case.factor, False, np.zeros(1, np.uint64),
    )  # fmt: skip
    if np.isfinite(features).all():
        assert not np.delete(params, program.positions).any(), "the padding stays zero"
    return params[program.positions], loss, before


def compare(module: nn.Module, shape: tuple[int, ...], case: Setting) -> None:
    data = arrays(module, shape, case)
    start = vector(module)
    ours, loss, before = by_kernels(module, case, shape, data)
    module.eval()
    with torch.no_grad():
        output = module(torch.tensor(data[0]))
    if case.regression:
        expected = functional.mse_loss(output.reshape(-1), torch.tensor(data[2])).item()
    else:
        expected = functional.cross_entropy(output, torch.tensor(data[1])).item()
        assert before[1] == (output.argmax(1).numpy() == data[1]).mean()
    assert before[0] == pytest.approx(expected, rel=1e-5)
    theirs, their_loss = by_torch(module, case, *data)
    assert np.linalg.norm(ours - theirs) <= 1e-5 * np.linalg.norm(start - theirs)
    assert loss == pytest.approx(their_loss, rel=1e-5)


cases = st.builds(
    Setting,
    batch=st.sampled_from([1, 4, 10, N]),
    lr=st.sampled_from([0.01, 0.1]),
    momentum=st.sampled_from([0.0, 0.5]),
    prox=st.sampled_from([0.0, 0.3]),
    factor=st.sampled_from([1.0, 2.0, 0.1]),
    epochs=st.integers(1, 2),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 37), min_size=2, max_size=4), cases)
def test_dense_networks_train_as_in_torch(sizes: list[int], case: Setting) -> None:
    torch.manual_seed(1)
    compare(mlp([*sizes, 3]), (sizes[0],), case)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 20), cases)
def test_regressions_train_as_in_torch(size: int, case: Setting) -> None:
    torch.manual_seed(1)
    case.regression, case.lr = True, 0.01
    compare(mlp([size, 1]), (size,), case)


@settings(max_examples=20, deadline=None)
@given(
    channels=st.integers(1, 3),
    filters=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=st.integers(1, 4),
    pool=st.integers(1, 2),
    order=st.permutations([0, 1]),
    case=cases,
)
def test_convolutions_train_as_in_torch(channels, filters, kernel, pool, order, case) -> None:
    torch.manual_seed(2)
    then = [nn.MaxPool2d(pool), nn.ReLU()]
    module = nn.Sequential(
        nn.Conv2d(channels, filters[0], kernel), *(then[i] for i in order),
        nn.Conv2d(filters[0], filters[1], 2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4),
    )  # fmt: skip
    module(torch.zeros(1, channels, 13, 11))
    compare(module, (channels, 13, 11), case)


def test_the_fashion_mnist_network_trains_as_in_torch() -> None:
    torch.manual_seed(0)
    compare(fmnist_cnn(), (28, 28), Setting(batch=10, momentum=0.5, epochs=2))


def run_with_dropout(module: nn.Module, seed: int, rows: np.ndarray, data) -> np.ndarray:
    program = translate(module, (6,))
    assert program is not None
    start = vector(module)
    params = program.arrange(start)
    train(
        program.layers, params, np.empty_like(params), data[0], np.zeros((1, 0), np.float32),
        data[1], np.empty(0, np.float32), rows, N, 0.1, 0.0, 0.0, 1.0, True,
        np.array([seed], np.uint64),
    )  # fmt: skip
    return start - params[program.positions]


def test_dropout_has_the_mean_and_the_spread_of_torch() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 30), nn.ReLU(), nn.Dropout(0.4), nn.Linear(30, 3))
    data = arrays(module, (6,), Setting())
    times = 1500
    rows = np.arange(N)[None]
    ours = np.stack([run_with_dropout(module, seed, rows, data) for seed in range(times)])
    module.train()
    theirs = []
    for _ in range(times):
        loss = functional.cross_entropy(module(torch.tensor(data[0])), torch.tensor(data[1]))
        grads = torch.autograd.grad(loss, list(module.parameters()))
        theirs.append(0.1 * nn.utils.parameters_to_vector(grads).numpy())
    theirs = np.stack(theirs)
    error = np.sqrt((ours.var(0) + theirs.var(0)) / times)
    z = (ours.mean(0) - theirs.mean(0)) / np.maximum(error, 1e-12)
    assert np.abs(z).max() < 5
    assert ours.std(0).sum() == pytest.approx(theirs.std(0).sum(), rel=0.05)


def test_dropout_depends_on_the_seed_alone() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 30), nn.Dropout(0.4), nn.Linear(30, 3))
    data, rows = arrays(module, (6,), Setting()), np.arange(N)[None]
    first, again, other = (run_with_dropout(module, seed, rows, data) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_broken_example_is_never_hidden(bad: float) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3)
    )
    case = Setting()
    data = arrays(module, (1, 6, 6), case)
    data[0][5] = bad
    with np.errstate(all="ignore"):
        ours, _, _ = by_kernels(module, case, (1, 6, 6), data)
    assert not np.isfinite(ours).all()
