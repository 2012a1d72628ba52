"""What a checkpoint belongs to: a digest of everything in a spec that changes a result."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from fedmgda.experiments._toml import to_table, toml_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.experiments._spec import Spec

__all__ = ["spec_tag"]

_NO_RESULT = ("engine", "records")  # sections that change none, but for the rounding of a device
_FORMAT_1 = {
    "": ("seed", "rounds", "compat"),
    "data": (
        "name", "path", "client", "target", "features", "task", "partition", "num_clients",
        "shards_per_client", "classes_per_client", "alpha", "beta", "min_size", "index_shift",
        "local_split",
    ),
    "model": ("name", "hidden", "dropout"),
    "clients": (
        "participation", "per_round", "local_epochs", "batch_size", "client_lr", "momentum", "mu",
        "prox_convention", "reported_loss", "path", "only",
    ),
    "rule": (
        "name", "epsilon", "center", "zero_update", "q", "lipschitz", "loss_scale", "gamma_w",
        "gamma_lambda", "average_iterates",
    ),
    "server": ("lr", "decay", "schedule", "curvature"),
    "attack": ("name", "clients", "factor", "bias", "always_on"),
    "evaluation": ("every", "offset", "last", "improved", "improved_every", "pareto"),
}  # fmt: skip
_FORMAT_1_ENGINE = """[engine]
workers = 1
client_timeout = 600.0
checkpoint_seconds = 1.0
max_failed_rounds = 5
device = {device}
"""


def spec_tag(spec: Spec) -> str:
    """Return the digest, in hexadecimal digits.

    The law that keeps old checkpoints alive: the keys of format 1 are written as format 1 wrote
    them, whatever has been added since, and any other key enters only where it differs from its
    default. So a key to come must have a default that means what was done before it existed.
    """
    table, default = to_table(spec), to_table(type(spec)())
    parts = [_format_1_part(table, section) for section in _FORMAT_1]
    text = "\n\n".join([*parts, _FORMAT_1_ENGINE.format(device=toml_value(spec.engine.device))])
    new = set(_added_since(table)) - set(_added_since(default))
    return hashlib.sha256((text + "".join(sorted(new))).encode()).hexdigest()


def _format_1_part(table: dict[str, Any], section: str) -> str:
    values = table[section] if section else table
    lines = [f"{key} = {toml_value(values[key])}" for key in _FORMAT_1[section] if key in values]
    return "\n".join([f"[{section}]", *lines] if section else lines)


def _added_since(table: dict[str, Any]) -> Iterator[str]:
    """Yield a line for every key that format 1 does not know."""
    for section, values in table.items():
        if section in _NO_RESULT or section in _FORMAT_1[""]:
            continue
        for key, value in values.items() if isinstance(values, dict) else [("", values)]:
            if key not in _FORMAT_1.get(section, ()):
                yield f"{section}.{key} = {toml_value(value)}\n"
