"""Federated learning that sacrifices no participating user.

The names below are loaded when first used, so that `import fedmgda` stays instant and needs
neither torch nor a plotting library.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AFL": "rules",
    "Aggregate": "values",
    "Cohort": "values",
    "FedAvg": "rules",
    "FedMGDA": "rules",
    "FederatedData": "data",
    "Federation": "federation",
    "FedmgdaError": "_errors",
    "MinNormSolution": "minnorm",
    "QFedAvg": "rules",
    "ServerState": "federation",
    "fairness": "metrics",
    "gramian": "minnorm",
    "make_rule": "rules",
    "min_norm": "minnorm",
    "min_norm_constrained": "minnorm",
    "run_round": "federation",
    "simulate": "federation",
}

__all__ = sorted(["__version__", *_HOME])  # noqa: PLE0605 (a list, built from the table above)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
