"""The tables `server` and `attack` of a spec: what is done with a direction, and to the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

from fedmgda.attacks import ATTACKS
from fedmgda.experiments._spec_key import key

__all__ = ["AttackSpec", "ProtectSpec", "ServerSpec"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectSpec:
    """How steps are protected: after a round at most `allow` say a higher loss, or it is held."""

    allow: int = key(
        0,
        "How many participants a step may leave with a higher loss, in each round; fewer than "
        "take part in one.",
        see="protection.md#keys",
        low=0,
    )
    margin: float = key(
        0.9,
        "κ: how far inside the cone of steps that serve all the step must lie, from 0 (on its "
        "edge) to 1.",
        see="protection.md#how-it-works",
        low=0.0,
        high=1.0,
    )
    trials: int = key(
        12, "How many lengths of a step are tried, each half of the one before.", low=1, high=64
    )
    patience: int = key(20, "After so many held rounds in a row the run ends.", low=1)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """The server's step: how far the model moves along the direction, and whom that must serve."""

    lr: float = key(1.0, "η_g: multiplies the step of every rule.", above=0.0)
    decay: float = key(
        1.0,
        "The step is lr · decay^(100/rounds) to the power ⌊t/100⌋, t from 0; 0 and 1 mean none. "
        "Up to 100 rounds, and with another schedule, it would change nothing: `run` and `sweep` "
        "refuse it then, `reproduce` notes it.",
        low=0.0,
    )
    schedule: Literal["decay", "harmonic", "median-norm"] | None = key(
        None,
        '`"decay"`; `"harmonic"`: 2 / (c (t + 2)) with c = `server.curvature`; `"median-norm"`: '
        "lr times the median length of the updates.",
        unset='`"decay"`; `"median-norm"` for tables, with rules that take updates at unit length',
        see="specification.md#10-a-round",
    )
    curvature: float | None = key(None, 'c, for `schedule = "harmonic"`.', above=0.0)
    protect: bool | ProtectSpec | None = key(
        None,
        "`true`, or a table of its own keys: no participant that is not quarantined, but for "
        "`allow` of them, says a higher training loss after a round than before it; where that "
        "cannot be had the round is held, and `patience` held rounds in a row end the run.",
        unset="false",
        see="protection.md",
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttackSpec:
    """Who is malicious, and how; always-on attackers take part in every round."""

    name: str = key(
        "none",
        "What the malicious do. `veto` and `oppose-gradient` are against `server.protect`, and "
        "change nothing without it. Also a `fedmgda.Attack` of yours.",
        see="specification.md#2-attacks",
        names=("none", *ATTACKS),
        entry=True,
    )
    clients: tuple[str, ...] | tuple[int, ...] | None = key(
        None, "Who is malicious, with an attack, by name or number.", unset="`[0]`"
    )
    factor: float | None = key(
        None, "What `scale-loss` and `scale-update` multiply by.", unset="10.0"
    )
    bias: float | None = key(
        None,
        "For `bias-loss`: added to the mean loss, so that "
        '`rule.loss_scale = "batch-sum"` multiplies it by the number of batches.',
        unset="1.0",
    )
    always_on: bool | None = key(
        None, "Whether the malicious take part in every round.", unset="true"
    )
    options: dict[str, Any] | None = key(
        None, "Arguments of an attack of your own, beside `clients`, as `data.options`."
    )
