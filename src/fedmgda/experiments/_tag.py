"""What a checkpoint belongs to: a digest of everything in a spec that changes a result."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from fedmgda.experiments._toml import toml_value

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
    tables = [_format_1_table(spec, section) for section in _FORMAT_1]
    text = "\n\n".join([*tables, _FORMAT_1_ENGINE.format(device=toml_value(spec.engine.device))])
    for line in sorted(_added_since(spec)):
        text += line + "\n"
    return hashlib.sha256(text.encode()).hexdigest()


def _format_1_table(spec: Spec, section: str) -> str:
    table = getattr(spec, section) if section else spec
    values = {key: getattr(table, key) for key in _FORMAT_1[section]}
    lines = [f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None]
    return "\n".join([f"[{section}]", *lines] if section else lines)


def _added_since(spec: Spec) -> Iterator[str]:
    for section in fields(spec):
        table = getattr(spec, section.name)
        if section.name in _NO_RESULT:
            continue
        if is_dataclass(table):
            yield from _differences(section.name, table)
        elif section.name not in _FORMAT_1[""] and table != section.default:
            yield f"{section.name} = {toml_value(table)}"


def _differences(section: str, table: Any) -> Iterator[str]:
    default = type(table)()
    for key in fields(table):
        value = getattr(table, key.name)
        known = key.name in _FORMAT_1.get(section, ())
        if not known and value != getattr(default, key.name):
            yield f"{section}.{key.name} = {toml_value(value)}"
