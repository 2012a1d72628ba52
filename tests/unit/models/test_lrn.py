from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from fedmgda.models import LocalResponseNorm

FORMATS = [torch.contiguous_format, torch.channels_last]


def both(
    x: torch.Tensor, size: int, options: dict[str, float]
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Output and input gradient of our module and of torch's."""
    results = []
    for kind in (LocalResponseNorm, nn.LocalResponseNorm):
        given_x = x.clone().requires_grad_()
        y = kind(size, **options)(given_x)
        y.backward(torch.linspace(-1, 1, y.numel(), dtype=x.dtype).view_as(y))
        assert given_x.grad is not None
        results.append((y.detach(), given_x.grad))
    return results


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 7),
    st.integers(1, 6),
    st.sampled_from([0.75, 0.5, 1.3]),
    st.sampled_from([1e-4, 1.0]),
    st.sampled_from([0.5, 2.0]),
    st.sampled_from(FORMATS),
)
def test_it_is_the_function_of_torch_with_its_derivative(
    size: int, channels: int, beta: float, alpha: float, k: float, layout: torch.memory_format
) -> None:
    generator = torch.Generator().manual_seed(size * channels)
    x = 3 * torch.randn(2, channels, 4, 3, generator=generator)
    x = x.to(memory_format=layout)
    (y, grad), (expected, expected_grad) = both(x, size, {"alpha": alpha, "beta": beta, "k": k})
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(grad, expected_grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", FORMATS)
def test_the_layers_of_the_paper_agree_to_single_precision(layout: torch.memory_format) -> None:
    x = torch.randn(10, 64, 14, 14).to(memory_format=layout)
    (y, grad), (expected, expected_grad) = both(x, 2, {"alpha": 1e-4, "beta": 0.75, "k": 1.0})
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(grad, expected_grad, rtol=1e-6, atol=1e-7)
    assert y.is_contiguous(memory_format=layout)
    assert grad.is_contiguous(memory_format=layout)


@pytest.mark.parametrize("beta", [0.75, 0.6])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_derivative_is_that_of_the_function(size: int, beta: float) -> None:
    x = torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
    module = LocalResponseNorm(size, alpha=1.5, beta=beta, k=0.7)
    assert torch.autograd.gradcheck(module, x)


def test_an_input_without_examples_has_an_output_without_examples() -> None:
    assert LocalResponseNorm(2)(torch.zeros(0, 4, 3, 3)).shape == (0, 4, 3, 3)


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    x = torch.randn(1, 2, 1, requires_grad=True)
    (grad,) = torch.autograd.grad(LocalResponseNorm(2)(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^size must be at least 1, got 0\.$"):
        LocalResponseNorm(0)
