from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch import nn

from fedmgda.clients import _objective
from fedmgda.clients._objective import Block, batch_loss, gather, score
from unit.clients._toys import federation, small


def classes(n: int = 50) -> Block:
    return Block(torch.randn(n, 5), torch.randint(3, (n,)))


def test_the_score_is_mean_cross_entropy_and_share_of_correct_answers() -> None:
    module, block = small(), classes()
    logits = module(block.features).detach().double()
    loss, accuracy = score(module, block)
    picked = logits.log_softmax(1)[torch.arange(50), block.targets]
    assert loss == pytest.approx(-picked.mean().item(), rel=1e-6)
    assert accuracy == (logits.argmax(1) == block.targets).double().mean().item()


def test_the_score_of_a_regression_is_the_mean_squared_error_and_no_accuracy() -> None:
    block = Block(torch.tensor([[1.0], [2.0]]), torch.tensor([0.0, 5.0]))
    loss, accuracy = score(nn.Identity(), block)
    assert loss == (1 + 9) / 2
    assert math.isnan(accuracy)


def test_an_output_that_does_not_fit_the_targets_is_an_error_not_a_broadcast() -> None:
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        batch_loss(torch.zeros(2, 2), torch.zeros(2))


def test_nothing_is_known_about_an_empty_block() -> None:
    assert all(math.isnan(value) for value in score(small(), classes(0)))


def test_the_score_is_taken_in_eval_mode() -> None:
    block = classes()
    module = nn.Sequential(nn.Dropout(0.9), small()).train()
    assert score(module, block) == score(module[1], block)


def test_scores_over_several_chunks_cover_every_example(monkeypatch: pytest.MonkeyPatch) -> None:
    module, block = small(), classes()
    whole = score(module, block)
    monkeypatch.setattr(_objective, "_PASS_ENTRIES", 5 * 7)
    assert [len(targets) for _, targets in block.chunks()] == [7] * 7 + [1]
    assert score(module, block) == pytest.approx(whole, rel=1e-6)


def test_batches_are_consecutive_and_the_last_partial_one_is_kept() -> None:
    block = classes(23)
    batches = list(block.batches(10))
    assert [len(targets) for _, targets in batches] == [10, 10, 3]
    assert torch.equal(torch.cat([features for features, _ in batches]), block.features)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float64, torch.float32),
        (np.float16, torch.float32),
        (np.int32, torch.int64),
        (np.uint8, torch.int64),
    ],
)
def test_measurements_become_floats_and_whole_numbers_stay_whole(
    dtype: type, expected: torch.dtype
) -> None:
    data = federation((4,))
    changed = np.asarray(np.abs(data.features) * 10, dtype)
    block = gather(dataclasses.replace(data, features=changed), data.train[0])
    assert block.features.dtype == expected
    np.testing.assert_array_equal(block.features.numpy(), changed[data.train[0]])


def test_a_gathered_block_is_an_aligned_copy() -> None:
    data = federation()
    data.features.flags.writeable = False
    for rows in data.train:
        block = gather(data, rows)
        assert block.features.data_ptr() % 64 == 0
        block.features.zero_()
    assert data.features.any()


def test_arrays_of_the_other_byte_order_are_read_as_they_are_meant() -> None:
    data = federation()
    swapped = dataclasses.replace(
        data, features=data.features.astype(">f4"), targets=data.targets.astype(">i8")
    )
    ours, theirs = (gather(each, data.train[0]) for each in (data, swapped))
    assert torch.equal(ours.features, theirs.features)
    assert torch.equal(ours.targets, theirs.targets)
