"""The eight methods of the paper by name: combinations of a rule, a client and a server step."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, final

from fedmgda.rules._afl import AFL
from fedmgda.rules._fedavg import FedAvg
from fedmgda.rules._fedmgda import FedMGDA
from fedmgda.rules._qfedavg import QFedAvg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.rules._rule import Rule

__all__ = ["PRESETS", "Preset", "make_rule"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """What a name stands for.

    Attributes:
        rule: The class of the rule.
        summary: What it does, in a few words.
        fixed: The options that make the method what it is; a user cannot change them.
        mu: The proximal weight clients use unless the user gives another.
        server: "1" (a whole step), "schedule" (server_lr and decay) or "built in".
    """

    rule: type[Rule]
    summary: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    mu: float = 0.0
    server: str = "1"

    @property
    def options(self) -> Mapping[str, Any]:
        """The options a user may set, with their defaults."""
        made: Any = self.rule  # a dataclass, as every rule
        return {f.name: f.default for f in fields(made) if f.name not in self.fixed}


PRESETS: Mapping[str, Preset] = {
    "fedavg": Preset(rule=FedAvg, summary="the mean of the updates", fixed={"normalize": False}),
    "fedavg-n": Preset(
        rule=FedAvg,
        summary="the mean of the updates, each of unit length",
        fixed={"normalize": True},
        server="schedule",
    ),
    "fedprox": Preset(
        rule=FedAvg,
        summary="the mean, and a term that keeps clients near the model they received",
        fixed={"normalize": False},
        mu=0.1,
    ),
    "fedmgda": Preset(
        rule=FedMGDA, summary="the min-norm point of the updates", fixed={"normalize": False}
    ),
    "fedmgda+": Preset(
        rule=FedMGDA,
        summary="the min-norm point of the updates, each of unit length",
        fixed={"normalize": True},
        server="schedule",
    ),
    "mgda-prox": Preset(
        rule=FedMGDA,
        summary="FedMGDA+, and a term that keeps clients near the model they received",
        fixed={"normalize": True},
        mu=0.1,
        server="schedule",
    ),
    "q-fedavg": Preset(
        rule=QFedAvg, summary="updates weighted by a power of the loss", server="built in"
    ),
    "afl": Preset(
        rule=AFL, summary="a mixture that climbs towards the largest loss", server="built in"
    ),
}
"""Every rule a spec can name: to add one is its own file, its export, and a record here."""


def make_rule(name: str, **options: Any) -> Rule:
    """Return the rule of a preset with some of its options set.

    >>> make_rule("fedmgda+", epsilon=0.1)
    FedMGDA(epsilon=0.1, normalize=True, center='uniform', zero_update='drop', constraints=())
    """
    if name not in PRESETS:
        raise ValueError(f"There is no rule {name!r}; the names are {', '.join(PRESETS)}.")
    preset = PRESETS[name]
    for option in options:
        if option not in preset.options:
            allowed = ", ".join(preset.options)
            raise ValueError(f"{option} does not apply to {name!r}, which takes {allowed}.")
    return preset.rule(**options, **preset.fixed)
