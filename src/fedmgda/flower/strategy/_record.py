"""The run folder of a strategy: the spec that it stands for, and what is known of its clients."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from fedmgda.experiments import RuleSpec, Spec, holds_run, open_run, parse, resolve, rule_table
from fedmgda.flower import _strategy_record
from fedmgda.rules import PRESETS, QFedAvg
from fedmgda.values import ClientFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fedmgda._types import Indices, Split, Vector
    from fedmgda.flower.strategy._drawn_exchanges import DrawnExchanges
    from fedmgda.flower.strategy._model_arrays import ModelArrays
    from fedmgda.flower.strategy._settings import Settings
    from fedmgda.rules import Rule

__all__ = ["known_facts", "new_facts", "record_place", "recorded_clients", "strategy_spec"]


@contextmanager
def record_place(record: Path | None) -> Iterator[Path]:
    """Yield the run folder of a strategy; one that is gone afterwards where none is to be kept."""
    if record is not None:
        yield record
        return
    with TemporaryDirectory() as folder:
        yield Path(folder) / "run"


def strategy_spec(
    settings: Settings, exchanges: DrawnExchanges, *, rounds: int, timeout: float, kept: bool
) -> Spec:
    """Return the spec that the folder of a strategy holds; what an app does itself, it only names.

    Args:
        settings: What the strategy was told.
        exchanges: Whom it asks, with which model.
        rounds: How many rounds.
        timeout: How long a client may take, in seconds.
        kept: Whether the folder is kept, so that checkpoints are worth it.

    Raises:
        SpecError: If a setting cannot be meant.
    """
    rule = settings.rule
    shapes = repr([(tensor.name, tensor.shape) for tensor in exchanges.arrays.layout])
    clients: dict[str, Any] = {
        "per_round": exchanges.sampler.per_round,
        "reported_loss": "before" if rule.reads_losses else "during",
        "loss": _named(_strategy_record.loss_of_the_app),
        "optimizer": _named(_strategy_record.optimizer_of_the_app),
    }
    if isinstance(rule, QFedAvg):  # which was told what its clients do
        clients |= {"batch_size": rule.batch_size or "full"}
        clients |= {} if rule.client_lr is None else {"client_lr": rule.client_lr}
    schedule = "decay" if settings.schedule == "constant" else settings.schedule
    table = {
        "seed": settings.seed, "rounds": rounds,
        "data": {"name": _named(_strategy_record.data_of_the_nodes)},
        # Another model is another run; other weights to start from are not, once it began.
        "model": {
            "name": _named(_strategy_record.model_of_the_app),
            "options": {"arrays": hashlib.sha256(shapes.encode()).hexdigest()},
        },
        "clients": clients,
        "rule": _rule_table(rule),
        "server": {"lr": settings.server_lr, "schedule": schedule},
        "evaluation": {"every": 1, "improved": False, "select": "last"},
        "engine": {
            "client_timeout": min(float(timeout), 1e7),
            "checkpoint_seconds": 0.0 if kept else 1e9,
        },
        "records": {"gram": settings.gram, "predictions": False},
    }  # fmt: skip
    return resolve(parse(Spec, table))


def _rule_table(rule: Rule) -> dict[str, Any]:
    """Write a rule by the name of its method where that says all of it."""
    written = {f.name for f in fields(RuleSpec)}
    for name, preset in PRESETS.items():
        if type(rule) is preset.rule and all(
            getattr(rule, k) == v for k, v in preset.fixed.items()
        ):
            own = {k: getattr(rule, k) for k, v in preset.options.items() if getattr(rule, k) != v}
            told = {k: v for k, v in own.items() if k in written}
            if all(isinstance(value, str | bool | int | float) for value in own.values()):
                return {"name": name, **told}
    return rule_table(rule)


def _named(stand_in: Callable[..., NoReturn]) -> str:
    return f"{stand_in.__module__}:{stand_in.__name__}"


def recorded_clients(path: Path) -> int | None:
    """Return how many clients the run in a folder has; None where none has begun."""
    if not holds_run(path) or not open_run(path).begun:
        return None
    return len(open_run(path).sizes["train"])


def known_facts(path: Path, arrays: ModelArrays) -> ClientFacts:
    """Return what is known of the clients of a run that has begun."""
    run = open_run(path)
    return ClientFacts(sizes=run.sizes, fingerprint=run.fingerprint, layout=arrays.layout)


def new_facts(
    train: Vector, test: Vector, arrays: ModelArrays, numbered: Mapping[int, int]
) -> ClientFacts:
    """Return what is known of clients that said how many examples they have.

    Args:
        train: Of shape `(num_clients,)`; 0 for a client that did not say.
        test: Likewise.
        arrays: The model.
        numbered: Clients that are called so in this run only, with their nodes: what is known of
            them cannot be held against another run.
    """
    sizes: Mapping[Split, Indices] = {
        "train": train.astype(np.int64),
        "validation": np.zeros(len(train), np.int64),
        "test": test.astype(np.int64),
    }
    known = repr((train.tolist(), test.tolist(), sorted(numbered.items())))
    fingerprint = hashlib.sha256(known.encode()).hexdigest()
    return ClientFacts(sizes=sizes, fingerprint=fingerprint, layout=arrays.layout)
