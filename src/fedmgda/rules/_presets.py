"""The eight methods of the paper by name: combinations of a rule, a client and a server step."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
        fixed: The options that make the method what it is; a user cannot change them.
        mu: The proximal weight clients use unless the user gives another.
        server: "1" (a whole step), "schedule" (server_lr and decay) or "built in".
    """

    rule: type[FedAvg] | type[FedMGDA] | type[QFedAvg] | type[AFL]
    fixed: Mapping[str, Any]
    mu: float = 0.0
    server: str = "1"

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options a user may set."""
        return tuple(f.name for f in fields(self.rule) if f.name not in self.fixed)


PRESETS: Mapping[str, Preset] = {
    "fedavg": Preset(rule=FedAvg, fixed={"normalize": False}),
    "fedavg-n": Preset(rule=FedAvg, fixed={"normalize": True}, server="schedule"),
    "fedprox": Preset(rule=FedAvg, fixed={"normalize": False}, mu=0.1),
    "fedmgda": Preset(rule=FedMGDA, fixed={"normalize": False}),
    "fedmgda+": Preset(rule=FedMGDA, fixed={"normalize": True}, server="schedule"),
    "mgda-prox": Preset(rule=FedMGDA, fixed={"normalize": True}, mu=0.1, server="schedule"),
    "q-fedavg": Preset(rule=QFedAvg, fixed={}, server="built in"),
    "afl": Preset(rule=AFL, fixed={}, server="built in"),
}


def make_rule(name: str, **options: Any) -> Rule:
    """Return the rule of a preset with some of its options set.

    >>> make_rule("fedmgda+", epsilon=0.1)
    FedMGDA(epsilon=0.1, normalize=True, center='uniform', zero_update='drop')
    """
    if name not in PRESETS:
        raise ValueError(f"There is no rule {name!r}; the names are {', '.join(PRESETS)}.")
    preset = PRESETS[name]
    for option in options:
        if option not in preset.options:
            allowed = ", ".join(preset.options)
            raise ValueError(f"{option} does not apply to {name!r}, which takes {allowed}.")
    rule: Rule = preset.rule(**options, **preset.fixed)
    return rule
