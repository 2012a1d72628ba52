"""Every model a spec can name, one record each; nothing here needs torch before it is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

__all__ = ["MODELS", "ModelRecord"]


def _outputs(inputs: int, outputs: int, options: Mapping[str, Any]) -> tuple[Any, ...]:
    del inputs, options
    return (outputs,)


def _sizes(inputs: int, outputs: int, options: Mapping[str, Any]) -> tuple[Any, ...]:
    return ((inputs, *options["hidden"], outputs),)


def _both(inputs: int, outputs: int, options: Mapping[str, Any]) -> tuple[Any, ...]:
    del options
    return (inputs, outputs)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    """What a name stands for.

    Attributes:
        summary: What it is, in a few words.
        function: The function of `fedmgda.models` that makes the module.
        arguments: What it is called with, for the entries of an example, the number of outputs
            and the options.
        options: Keys of the spec's `model` table that apply, with their defaults.
        keywords: Those of the options that the function takes by name.
        auto_lr: Whether the mean square of its inputs tells a step size: it has affine layers only.
    """

    summary: str
    function: str
    arguments: Callable[[int, int, Mapping[str, Any]], tuple[Any, ...]] = _outputs
    options: Mapping[str, Any] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    auto_lr: bool = False

    def factory(
        self, inputs: int, outputs: int, given: Mapping[str, Any]
    ) -> Callable[[], nn.Module]:
        """Return a function that makes the module, which worker processes can be given.

        Args:
            inputs: The number of entries of an example.
            outputs: The number of classes, or 1 for a regression.
            given: Options of the user's; those that are None count as not given.
        """
        known = {key: value for key, value in given.items() if value is not None}
        options = {key: known.get(key, default) for key, default in self.options.items()}
        function = getattr(import_module("fedmgda.models"), self.function)
        keywords = {key: options[key] for key in self.keywords}
        return partial(function, *self.arguments(inputs, outputs, options), **keywords)


MODELS: Mapping[str, ModelRecord] = {
    "mlp": ModelRecord(
        summary="a multi-layer perceptron",
        function="mlp",
        arguments=_sizes,
        options={"hidden": (32,)},
        auto_lr=True,
    ),
    "logistic": ModelRecord(
        summary="multinomial logistic regression",
        function="linear",
        arguments=_both,
        auto_lr=True,
    ),
    "linear": ModelRecord(
        summary="linear regression", function="linear", arguments=_both, auto_lr=True
    ),
    "cifar-cnn": ModelRecord(summary="the paper's network for CIFAR-10", function="cifar_cnn"),
    "fmnist-cnn": ModelRecord(
        summary="the paper's network for Fashion-MNIST",
        function="fmnist_cnn",
        options={"dropout": True},
        keywords=("dropout",),
    ),
    "femnist-cnn": ModelRecord(summary="the paper's network for FEMNIST", function="femnist_cnn"),
    "char-lstm": ModelRecord(summary="the paper's network for Shakespeare", function="char_lstm"),
}
"""To add a model is its own file, its export, and a record here."""
