"""What the spec of a strategy's record names in the place of what a Flower app has itself.

Run folders hold these names, this module's included: under another they would be other runs.
"""

from __future__ import annotations

from typing import Any, NoReturn

from fedmgda._errors import SpecError

__all__ = ["data_of_the_nodes", "loss_of_the_app", "model_of_the_app", "optimizer_of_the_app"]


def data_of_the_nodes(**_: Any) -> NoReturn:
    """Stand for data on the nodes of a Flower app: a spec names this, and nothing can load it."""
    raise SpecError("the data is with the clients of a Flower app; go on by starting it again")


def model_of_the_app(**_: Any) -> NoReturn:
    """Stand for the model of a Flower app: a spec names this, and nothing can build it."""
    raise SpecError("the model is the one of a Flower app; load model.safetensors into it")


def loss_of_the_app(*_: Any) -> NoReturn:
    """Stand for the loss of a Flower app's clients."""
    raise SpecError("the loss is the one of a Flower app's clients; go on by starting it again")


def optimizer_of_the_app(*_: Any) -> NoReturn:
    """Stand for the optimiser of a Flower app's clients."""
    raise SpecError("the optimizer is the one of a Flower app's clients; start it again")
