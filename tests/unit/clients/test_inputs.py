from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from fedmgda._errors import DataError
from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.clients._block import gather
from fedmgda.data import FederatedData, Pixels
from fedmgda.models import fmnist_cnn
from unit.models._paper import CASES, Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import nn

    from fedmgda import Cohort

HALF = Pixels(mean=0.5, std=0.5)
SIZES = (6, 5, 4)


def federation(features: np.ndarray, targets: np.ndarray, **more: Any) -> FederatedData:
    rows = np.random.default_rng(0).permutation(sum(SIZES))
    pieces = tuple(np.split(rows, np.cumsum(SIZES)[:-1]))
    return FederatedData(
        name="tiny", features=features, targets=targets, train=pieces, validation=pieces,
        test=pieces, num_classes=10, **more,
    )  # fmt: skip


def images(*shape: int, **more: Any) -> FederatedData:
    rng = np.random.default_rng(1)
    features = rng.integers(256, size=(sum(SIZES), *shape), dtype=np.uint8)
    return federation(features, rng.integers(10, size=sum(SIZES)), **more)


def one_round(
    data: FederatedData, build_model: Callable[[], nn.Module], workers: int
) -> tuple[Cohort, np.ndarray]:
    training = LocalTraining(batch_size=4, client_lr=0.05)
    with ClientPool(
        data=data, build_model=build_model, training=training, seed=2, workers=workers
    ) as clients:
        params = clients.initial_params()
        return clients.train_cohort(params, (2, 0, 1), 1), clients.gradients(
            params, (1,)
        ).updates.rows


def assert_same_bits(data: FederatedData, build_model: Callable[[], nn.Module]) -> None:
    (serial, gradient), (shared, shared_gradient) = (
        one_round(data, build_model, workers) for workers in (1, 2)
    )
    assert serial.failures == shared.failures == ()
    np.testing.assert_array_equal(serial.updates.rows, shared.updates.rows)
    np.testing.assert_array_equal(serial.losses, shared.losses)
    np.testing.assert_array_equal(gradient, shared_gradient)
    assert np.isfinite(serial.updates.rows).all()
    assert serial.updates.rows.any(axis=1).all()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_round_of_every_model_has_the_same_bits_in_worker_processes(case: Case) -> None:
    n = sum(SIZES)
    assert_same_bits(federation(case.features(n).numpy(), case.targets(n).numpy()), case.build)


def test_bytes_of_images_become_scaled_floats() -> None:
    data = images(3, 4, 4, pixels=Pixels(mean=0.1307, std=0.3081))
    block = gather(data, data.train[0])
    expected = (data.features[data.train[0]] / 255 - 0.1307) / 0.3081
    assert block.features.dtype == torch.float32
    np.testing.assert_allclose(block.features.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert block.features.data_ptr() % 64 == 0


def test_all_bytes_are_scaled_and_black_and_white_exactly() -> None:
    data = images(256, pixels=HALF)
    data.features[0] = np.arange(256)
    values = gather(data, np.array([0])).features[0]
    assert (values[0], values[255]) == (-1.0, 1.0)
    assert (values.diff() > 0).all()


def test_without_pixels_the_same_bytes_are_tokens() -> None:
    data = images(4)
    block = gather(data, data.train[0])
    assert block.features.dtype == torch.int64
    np.testing.assert_array_equal(block.features.numpy(), data.features[data.train[0]])


def test_targets_are_never_scaled() -> None:
    data = images(4, pixels=HALF)
    block = gather(data, data.train[1])
    np.testing.assert_array_equal(block.targets.numpy(), data.targets[data.train[1]])


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_pixels_that_are_not_bytes_are_refused(dtype: type) -> None:
    data = images(4, pixels=HALF)
    wrong = dataclasses.replace(data, features=data.features.astype(dtype))
    with pytest.raises(DataError, match=f"must be bytes .uint8., got {dtype.__name__}"):
        gather(wrong, data.train[0])


def test_images_have_the_same_bits_in_worker_processes() -> None:
    assert_same_bits(images(28, 28, pixels=HALF), fmnist_cnn)


def test_a_mapped_file_has_the_same_bits_as_memory_also_in_worker_processes(
    tmp_path: Path,
) -> None:
    data = images(28, 28, pixels=HALF)
    np.save(tmp_path / "features.npy", data.features)
    np.save(tmp_path / "targets.npy", data.targets)
    mapped = dataclasses.replace(
        data,
        features=np.load(tmp_path / "features.npy", mmap_mode="r"),
        targets=np.load(tmp_path / "targets.npy", mmap_mode="r"),
    )
    assert_same_bits(mapped, fmnist_cnn)
    in_memory, _ = one_round(data, fmnist_cnn, 1)
    from_file, _ = one_round(mapped, fmnist_cnn, 1)
    np.testing.assert_array_equal(in_memory.updates.rows, from_file.updates.rows)
