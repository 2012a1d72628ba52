from __future__ import annotations

import pytest
import torch

from fedmgda.models import FlatModel, char_lstm


def cell(x: torch.Tensor, h: torch.Tensor, c: torch.Tensor, params: list[torch.Tensor]):
    w_x, w_h, b_x, b_h = params
    gates = x @ w_x.T + b_x + h @ w_h.T + b_h
    take, forget, fresh, show = gates.chunk(4, 1)
    c = forget.sigmoid() * c + take.sigmoid() * fresh.tanh()
    return show.sigmoid() * c.tanh(), c


def test_it_is_an_embedding_two_layers_of_cells_and_an_affine_map_of_the_last_step() -> None:
    module = char_lstm().eval()
    table, *weights = [parameter.detach() for parameter in module.parameters()]
    tokens = torch.randint(80, (3, 80))
    h1 = c1 = h2 = c2 = torch.zeros(3, 256)
    for step in range(80):
        h1, c1 = cell(table[tokens[:, step]], h1, c1, weights[:4])
        h2, c2 = cell(h1, h2, c2, weights[4:8])
    expected = h2 @ weights[8].T + weights[9]
    torch.testing.assert_close(module(tokens).detach(), expected, rtol=1e-4, atol=1e-5)


def test_the_sizes_are_those_of_the_paper() -> None:
    shapes = [tuple(parameter.shape) for parameter in char_lstm().parameters()]
    assert shapes == [
        (80, 8),
        *[(1024, 8), (1024, 256), (1024,), (1024,)],
        *[(1024, 256), (1024, 256), (1024,), (1024,)],
        *[(80, 256), (80,)],
    ]


def test_the_forget_bias_raises_the_forget_gates_of_both_layers_and_nothing_else() -> None:
    torch.manual_seed(1)
    plain = dict(char_lstm().named_parameters())
    torch.manual_seed(1)
    raised = dict(char_lstm(forget_bias=1.0).named_parameters())
    for name, parameter in raised.items():
        difference = parameter - plain[name]
        if name in {"lstm.bias_ih_l0", "lstm.bias_ih_l1"}:
            torch.testing.assert_close(difference[256:512], torch.ones(256))
            difference = torch.cat([difference[:256], difference[512:]])
        assert not difference.any(), name


def test_the_order_of_the_characters_matters() -> None:
    module, tokens = char_lstm().eval(), torch.randint(80, (1, 80))
    assert not torch.allclose(module(tokens), module(tokens.flip(1)), atol=1e-6)


def test_the_flat_model_moves_the_recurrent_weights_too() -> None:
    model = FlatModel(char_lstm())
    tokens = torch.randint(80, (2, 80))
    before = model.module(tokens)
    model.load(0.5 * model.array)
    assert not torch.allclose(model.module(tokens), before)
    model.load(0 * model.array)
    assert not model.module(tokens).any()


def test_a_symbol_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(IndexError):
        char_lstm(5)(torch.tensor([[5]]))
