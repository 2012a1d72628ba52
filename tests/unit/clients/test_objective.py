from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from fedmgda.clients import _block
from fedmgda.clients._block import Block
from fedmgda.clients._objective import batch_loss, score
from unit.clients._toys import small


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
    monkeypatch.setattr(_block, "_PASS_ENTRIES", 5 * 7)
    assert [len(targets) for _, targets in block.chunks()] == [7] * 7 + [1]
    assert score(module, block) == pytest.approx(whole, rel=1e-6)
