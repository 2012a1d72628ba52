"""What a run says of itself before its first round: a few lines, not the whole spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from fedmgda._text import printable
from fedmgda.values import value_at

if TYPE_CHECKING:
    from fedmgda.experiments import Progress, Run, Spec

__all__ = ["header"]


def header(run: Run, progress: Progress) -> Table:
    """Return the data, the model, the rule, the rounds and the folder of a run that has begun."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in _lines(run, progress):
        table.add_row(name, Text(printable(text)))  # names of columns are no markup
    return table


def _lines(run: Run, progress: Progress) -> list[tuple[str, str]]:
    spec, clients = run.spec, run.clients
    train, test = (
        sum(getattr(client, f"{split}_examples") for client in clients)
        for split in ("train", "test")
    )
    return [
        ("data", f"{_data(spec)}: {len(clients)} clients, {train} rows to train, {test} to test"),
        ("model", f"{_model(spec, progress)}{_params(progress.num_params)}"),
        ("rule", _rule(spec)),
        *_protect(spec),
        ("clients", _clients(spec)),
        ("rounds", f"{_rounds(run)}, seed {spec.seed}"),
        ("folder", f"{run.path} (its spec.toml has every key; --show-spec prints it)"),
    ]


def _model(spec: Spec, progress: Progress) -> str:
    """Return the name of the model; one that gives a value instead of scores is a linear one."""
    values = bool(np.isnan(progress.evaluation.accuracies).all())
    return "linear" if values and spec.model.name == "logistic" else str(spec.model.name)


def _params(number: int) -> str:
    return f", {number} parameters" if number else ""


def _data(spec: Spec) -> str:
    data = spec.data
    name = data.path or str(data.name)
    parts = [f"{key} {value}" for key in ("client", "target") if (value := getattr(data, key))]
    return f"{name} ({', '.join(parts)})" if parts else name


def _rule(spec: Spec) -> str:
    if spec.baseline is not None:
        return f"none: the baseline {spec.baseline}"
    epsilon = spec.rule.epsilon
    box = "" if epsilon is None else f", epsilon {value_at(epsilon, 1):g}"
    attack = "" if spec.attack.name == "none" else f", under the attack {spec.attack.name}"
    return f"{spec.rule.name}{box}, {_step(spec)}{attack}"


def _protect(spec: Spec) -> list[tuple[str, str]]:
    protect = spec.server.protect
    if not protect:
        return []
    allow = 0 if protect is True else protect.allow
    who = (
        f"more than {allow} whose replies count say" if allow else "anybody whose reply counts says"
    )
    return [("protect", f"a round is held if {who} that the loss rose")]


def _step(spec: Spec) -> str:
    server = spec.server
    if server.schedule == "harmonic":
        return f"server step 2 / ({server.curvature:g} (t + 2))"
    unit = " x the median norm of the updates" if server.schedule == "median-norm" else ""
    return f"server step {server.lr:g}{unit}"


def _rounds(run: Run) -> str:
    """Return how many rounds are trained: a baseline has fewer than its spec, which it matches."""
    spec = run.carried_out
    if spec.baseline == "alone":
        return f"{spec.rounds} for each client by itself, one client after the other"
    return f"{spec.rounds}, tested every {spec.evaluation.every}"


def _clients(spec: Spec) -> str:
    clients = spec.clients
    share = clients.participation
    who = f"{clients.per_round} in a round"
    if clients.only is not None:
        who = f"only {len(clients.only)} of them"
    elif share is not None:
        who = "all in every round" if share == 1.0 else f"{100 * share:g} % in a round"
    epochs = f"{clients.local_epochs} epoch{'s' * (clients.local_epochs > 1)}"
    given = clients.client_lr
    rate = given if given is None or isinstance(given, str) else f"{value_at(given, 1):g}"
    return f"{who}, {epochs}, batches of {clients.batch_size}, learning rate {rate}"
