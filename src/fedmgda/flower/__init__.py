"""The same rules and the same specs on Flower: its engine carries, everything else is ours.

For people with a Flower app, the strategies: `FedMGDAPlus(fraction_train=0.5, record="runs/a")`
stands where Flower's FedAvg stood. What needs flwr is loaded when first used.
"""

from typing import Any

from fedmgda._errors import MissingDependencyError
from fedmgda._lazy import lazy_package

_load, __all__ = lazy_package(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "flwr":
            raise
        raise MissingDependencyError(
            f"fedmgda.flower.{name} needs Flower; install it with: pip install 'fedmgda[flower]'."
        ) from error
