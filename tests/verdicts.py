"""Records made by hand, and the verdict on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedmgda.experiments import GroupSummary, RoundRow, RowPredictions
from fedmgda.experiments._evidence import Evidence
from fedmgda.experiments._judge import judge
from fedmgda.experiments._rows import EvaluationRow, ProtectionRow
from runs import small_spec

ROWS = 20  # test examples of each of four clients


def evaluation(round_num, losses, accuracies=None):
    losses = np.asarray(losses, float)
    average = float(losses.mean())
    group = GroupSummary(
        users=len(losses),
        loss={"average": average} if np.isfinite(average) else None,
        accuracy=None if accuracies is None else {"average": float(np.mean(accuracies))},
    )
    return EvaluationRow(
        round_num=round_num,
        client_ids=tuple(range(len(losses))),
        accuracies=np.full(len(losses), np.nan) if accuracies is None else np.array(accuracies),
        losses=losses,
        num_examples=np.full(len(losses), float(ROWS)),
        honest=group,
    )


def round_row(number, **changes):
    common = {
        "round_num": number, "client_ids": (0, 1), "server_lr": 1.0, "quarantined": (),
        "sacrificed": (), "stalled": False, "improved": 100.0,
        "local_losses": np.array([0.9, 0.9]), "losses_before": np.array([1.0, 1.0]),
    }  # fmt: skip
    return RoundRow(**common | changes)


def protected_row(number, *, after=(0.9, 0.9), reason=None, opposed=None, scale=1.0, **changes):
    """Return a round of two clients whose losses were 1; `reason` says why it was held."""
    held = reason is not None
    after = None if held else np.array(after)
    if opposed is None:
        opposed = ((0,), (0,)) if reason == "opposed" else ((),) if not held else ()
    made = ProtectionRow(
        gradient_norms=np.ones(2), omega=0.5, omega_lam=np.full(2, 0.5), omega_gap=0.0, margin=0.3,
        inner=np.ones(2), multipliers=np.array([0.0, 0.1 * (number % 2)]), gap=0.0, violation=0.0,
        overridden=(), step_norm=1.0, turned_norm=1.0, scale=None if held else scale,
        opposed=opposed, before=np.ones(2), after=after, moved_norm=0.0 if held else 0.25,
        moved_inner=np.zeros(2), reason=reason, model="",
    )  # fmt: skip
    return round_row(number, **{"protection": made, "held": held} | changes)


def values_of(losses):
    """Squared errors that scatter a little round the losses of the clients."""
    clients = np.repeat(np.arange(len(losses)), ROWS)
    scatter = np.tile([0.9, 1.1], len(clients) // 2)
    return RowPredictions(
        rows=np.arange(len(clients)),
        clients=clients,
        targets=np.tile([-1.0, 1.0], len(clients) // 2).astype(np.float32),
        predictions=np.zeros(len(clients), np.float32),
        losses=np.repeat(losses, ROWS) * scatter,
    )


def verdict_of(losses, *, first=(1.4,) * 4, rounds=None, spec=None, **changes):
    rounds = rounds or [round_row(number) for number in range(1, 11)]
    rows = [evaluation(0, first), evaluation(10, losses)]
    evidence = Evidence(
        spec=spec or small_spec(), rounds=rounds, evaluations=rows, judged=rows[-1],
        gram=lambda _: None, cone_gram=lambda _: None, predictions=values_of(losses),
        target_sums=np.array([100.0, 0.0, 100.0]), names=("north", "south", "east", "west"),
    )  # fmt: skip
    return judge(replace(evidence, **changes))
