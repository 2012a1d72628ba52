from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fedmgda.clients import LocalTraining, train_client
from fedmgda.data import Pixels
from fedmgda.models import initial_vector
from unit.clients._toys import (
    Viewing,
    convolutions,
    dropout,
    everything,
    federation,
    pictures,
    pool,
    small,
)

TRAINING = LocalTraining(local_epochs=2, batch_size=4, mu=0.1, momentum=0.5)


@pytest.mark.parametrize("reported", ["before", "during"])
@pytest.mark.parametrize("client_id", [0, 4])
@pytest.mark.parametrize("build", [small, dropout, everything, convolutions, Viewing])
def test_a_client_alone_gives_the_bits_of_its_row(
    build: Any, client_id: int, reported: Any
) -> None:
    data = pictures() if build in (convolutions, Viewing) else federation()
    with pool(data=data, build_model=build, training=TRAINING, reported_loss=reported) as clients:
        params = clients.initial_params()
        expected = clients.train_cohort(params, (3, client_id), 7, gradients=True)
    mine = data.train[client_id]
    alone = train_client(
        params, data.features[mine], data.targets[mine],
        build_model=build, training=TRAINING, seed=5, round_num=7, client_id=client_id,
        reported_loss=reported, gradients=True,
    )  # fmt: skip
    assert alone.client_ids == (client_id,)
    assert alone.failures == ()
    np.testing.assert_array_equal(alone.updates.rows[0], expected.updates.rows[1])
    np.testing.assert_array_equal(alone.gradients.rows[0], expected.gradients.rows[1])
    for name in ("losses", "local_losses", "before", "num_examples"):
        assert getattr(alone, name)[0] == getattr(expected, name)[1]
    if expected.buffers is not None:
        np.testing.assert_array_equal(alone.buffers[0], expected.buffers[1])


def test_bytes_of_images_are_scaled() -> None:
    rng, pixels = np.random.default_rng(0), Pixels(mean=0.4, std=0.3)
    images = rng.integers(256, size=(8, 5), dtype=np.uint8)
    targets = rng.integers(3, size=8)
    params = initial_vector(small, 1)
    options: dict[str, Any] = {
        "build_model": small, "training": TRAINING, "seed": 1, "round_num": 1, "client_id": 2,
    }  # fmt: skip
    scaled = train_client(params, images, targets, pixels=pixels, **options)
    floats = ((torch.tensor(images).float() / 255 - 0.4) / 0.3).numpy()
    plain = train_client(params, floats, targets, **options)
    np.testing.assert_array_equal(scaled.updates.rows, plain.updates.rows)


def test_a_client_with_one_example_trains_in_the_format_of_the_others() -> None:
    data = pictures()
    one = replace(data, train=(data.train[0][:1], *data.train[1:]))
    mine = one.train[0]
    with pool(data=one, build_model=convolutions, training=TRAINING) as clients:
        params = clients.initial_params()
        expected = clients.train_cohort(params, (0,), 1)
    alone = train_client(
        params, one.features[mine], one.targets[mine],
        build_model=convolutions, training=TRAINING, seed=5, round_num=1, client_id=0,
    )  # fmt: skip
    np.testing.assert_array_equal(alone.updates.rows, expected.updates.rows)


def test_nothing_to_train_on_is_refused_in_one_sentence() -> None:
    data = federation()
    with pytest.raises(ValueError, match=r"^A client needs at least one example .* got none\.$"):
        train_client(
            initial_vector(small, 1), data.features[:0], data.targets[:0],
            build_model=small, training=TRAINING, seed=1, round_num=1, client_id=0,
        )  # fmt: skip


def test_what_the_model_raises_goes_through_and_torch_is_left_as_it_was() -> None:
    data = federation()
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    with pytest.raises(ValueError, match="75 parameters"):
        train_client(
            np.zeros(3, np.float32), data.features, data.targets,
            build_model=small, training=TRAINING, seed=1, round_num=1, client_id=0,
        )  # fmt: skip
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
