"""The paper's recurrent network for Shakespeare: which character comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch
from torch import nn

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["char_lstm"]


def char_lstm(num_symbols: int = 80, *, forget_bias: float = 0.0) -> nn.Module:
    """Return the network for tokens of shape `(n, length)`; it gives `(n, num_symbols)` logits.

    PyTorch's default initialisation (SPEC 4).

    Args:
        num_symbols: The size of the vocabulary; tokens lie in 0..num_symbols - 1.
        forget_bias: What the forget gates start with on top of that. TensorFlow's cells add 1.0.

    >>> sum(parameter.numel() for parameter in char_lstm().parameters())
    819920
    """
    return _CharLSTM(num_symbols, forget_bias)


@final
class _CharLSTM(nn.Module):
    """Embedding, two recurrent layers, and an affine map of the last step."""

    def __init__(self, num_symbols: int, forget_bias: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_symbols, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)
        self.fc = nn.Linear(256, num_symbols)
        with torch.no_grad():
            for name, param in self.lstm.named_parameters():
                # Four gates one below the other: input, forget, cell, output. Each has two biases,
                # whose sum counts.
                if name.startswith("bias_ih"):
                    param.view(4, -1)[1] += forget_bias

    def forward(self, tokens: Tensor) -> Tensor:
        outputs, _ = self.lstm(self.embedding(tokens))
        return self.fc(outputs[:, -1])
