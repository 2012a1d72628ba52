"""The bound on the curvature of the clients' losses, against the curvature itself."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedmgda.data import FederatedData, Pixels, loss_curvatures


def federation(features, targets, num_classes, clients=2, pixels=None):
    rows = np.array_split(np.arange(len(targets)), clients)
    splits = {"train": rows, "validation": rows, "test": rows}
    return FederatedData(
        name="made",
        features=features,
        targets=targets,
        num_classes=num_classes,
        pixels=pixels,
        **splits,
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 12))
def test_no_squared_error_is_more_curved_than_its_bound(seed, width, rows):
    x = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    bounds = loss_curvatures(federation(x, np.zeros(rows, np.float32), None))
    for mine, bound in zip(np.array_split(x.astype(np.float64), 2), bounds, strict=True):
        ones = np.column_stack([mine, np.ones(len(mine))])
        hessian = 2 * ones.T @ ones / len(ones)
        assert np.linalg.eigvalsh(hessian)[-1] <= bound * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_no_cross_entropy_is_more_curved_than_its_bound(seed, classes):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(6, 3)).astype(np.float32), rng.integers(classes, size=6)
    weights = rng.uniform(0.1, 9.0, classes)
    bound = loss_curvatures(federation(x, y, classes, clients=1), weights)[0]
    scores = rng.normal(size=(6, classes)) * 3
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    ones = np.column_stack([x, np.ones(6)])
    hessian = sum(
        weights[c] * np.kron(np.diag(q) - np.outer(q, q), np.outer(row, row))
        for q, row, c in zip(p, ones, y, strict=True)
    )
    assert np.linalg.eigvalsh(hessian / 6)[-1] <= bound * (1 + 1e-9)


def test_images_count_as_the_numbers_that_the_model_sees():
    x = np.full((2, 1, 2, 2), 255, np.uint8)
    data = federation(x, np.array([0, 1]), 2, clients=1, pixels=Pixels(mean=0.0, std=0.5))
    assert loss_curvatures(data)[0] == pytest.approx((1 + 4 * 4) / 2)


def test_a_client_without_training_rows_bounds_nothing():
    data = federation(np.ones((1, 2), np.float32), np.zeros(1, np.float32), None)
    assert loss_curvatures(data).tolist() == [6.0, 0.0]
