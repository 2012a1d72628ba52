"""The tables `clients` and `rule` of a spec: what clients do, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

from fedmgda.experiments._spec_key import MOST_EPOCHS, key
from fedmgda.rules import PRESETS
from fedmgda.values import Annealed

__all__ = ["ClientsSpec", "ConstraintSpec", "RuleSpec"]

_ANNEALED = "or `{{ first = {first}, power = 0.5 }}`: first / t^power in round t"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsSpec:
    """Who takes part, and what a client does with the model it receives."""

    participation: float | None = key(
        None,
        "The share of clients in a round, rounded up; or give `clients.per_round`.",
        unset="by the data",
        see="how-to/choose-epsilon.md",
        above=0.0,
        high=1.0,
    )
    per_round: int | None = key(
        None,
        "How many clients take part in a round; or give `clients.participation`.",
        unset="10 for tables, or all clients if they are fewer",
        see="how-to/choose-epsilon.md",
        low=1,
    )
    local_epochs: int = key(
        1, "Passes of a client over its rows in a round.", low=1, high=MOST_EPOCHS
    )
    batch_size: int | Literal["full"] = key(
        10, 'Rows in a local step; `"full"` is all rows of the client in one.', low=1
    )
    client_lr: float | Literal["auto"] | Annealed | None = key(
        None,
        f"η, the step of local SGD: a number, {_ANNEALED.format(first=0.1)}; or "
        '`"auto"`: a number that the data tells, 1 / L, for the models `mlp`, `logistic` and '
        "`linear`.",
        unset='0.1; `"auto"` for tables',
        see="tables.md#the-step-of-a-client",
        above=0.0,
    )
    momentum: float | None = key(
        None,
        "Of local SGD; it starts anew in every round.",
        unset="by `compat`: 0, or 0.5",
        low=0.0,
        below=1.0,
    )
    mu: float | None = key(
        None,
        "μ, the strength of the proximal term that keeps a client near the model it received.",
        unset="by the rule: 0.1 for `fedprox` and `mgda-prox`, else 0",
        low=0.0,
    )
    prox_convention: Literal["half", "full"] | None = key(
        None,
        '`"half"`: (mu/2)‖w − w_t‖²; `"full"`: mu‖w − w_t‖².',
        unset="by `compat`",
        see="specification.md#13-fedprox",
    )
    reported_loss: Literal["before", "during"] | None = key(
        None,
        'What loss a client reports: `"before"`: f_i(w_t), one more pass over its data; '
        '`"during"`: the mean of its batch losses while it trains.',
        unset="by what reads it",
    )
    path: Literal["auto", "torch", "compiled"] = key(
        "auto",
        '`"compiled"`: the kernels for small networks, on threads; `"torch"`: the module itself, '
        'in processes; `"auto"`: the kernels where they know the model and are faster. '
        "`environment.json` says which it was.",
    )
    only: tuple[str, ...] | tuple[int, ...] | None = key(
        None,
        "Exactly these clients take part, by name or number, in every round; the others are only "
        "evaluated.",
    )
    class_weights: Literal["balanced"] | dict[str, Any] | None = key(
        None,
        '`"balanced"`, or numbers by class, `{ bad = 10.0 }`: by what the loss of an example of a '
        "class is multiplied; computes with torch.",
        see="tables.md#class-weights",
    )
    loss: str | None = key(
        None,
        "A function of yours, from the outputs of the model and n targets to the n losses of the "
        "examples, a tensor of shape (n,); means over batches and splits are ours. The accuracy "
        "stays the share of examples whose largest score is that of their class, and is absent if "
        "the outputs are not scores of two classes or more. Computes with torch.",
        unset="cross-entropy for classes, squared error for numbers",
        entry=True,
    )
    optimizer: str | None = key(
        None,
        "A function of yours, from the list of parameters and `clients.client_lr` to a "
        "`torch.optim.Optimizer`, made anew in every round; `clients.mu` still adds its proximal "
        "term to the gradient. Computes with torch.",
        unset="SGD",
        entry=True,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintSpec:
    """A preference over λ: the weights of some clients, with coefficients or without, bounded."""

    clients: tuple[str, ...] | tuple[int, ...] | dict[str, Any]
    at_most: float | None = None
    at_least: float | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSpec:
    """How updates are combined; the options beside the name belong to some rules only."""

    name: str = key(
        "fedmgda+",
        "Which rule: one of ours, or a `fedmgda.Rule` of yours.",
        see="rules/index.md",
        names=PRESETS,
        entry=True,
    )
    epsilon: float | Annealed | None = key(
        None,
        "ε, how far λ may go from λ0, for `fedmgda`, `fedmgda+` and `mgda-prox`. At 1 the "
        "direction is one of common descent: it opposes no participant's update. At 0 it is the "
        "average, bit for bit. In between only the mixtures inside the box are protected, and the "
        f"record of every round lists who was not. A number, {_ANNEALED.format(first=1.0)}.",
        unset="1.0",
        see="explanation/epsilon.md",
        low=0.0,
        high=1.0,
    )
    center: Literal["uniform", "examples"] | tuple[float, ...] | dict[str, Any] | None = key(
        None,
        'λ0: `"uniform"`; `"examples"`, in proportion to the training rows; or positive numbers, '
        "`[3, 1, 1]` in the order of the clients or `{ north = 3, south = 1, east = 1 }` by their "
        "names, scaled to sum to one over the participants of a round. λ stays within ε of it: at "
        "ε = 1 it only decides between directions that are equally short.",
        unset='`"uniform"`',
        above=0.0,
    )
    zero_update: Literal["drop", "stall", "error"] | None = key(
        None,
        "What becomes of a client whose update is zero (‖g‖ <= 1e-12): it is left out of the "
        "round, the model stays, or the run ends with code 8.",
        unset='`"drop"`',
    )
    q: float | None = key(
        None,
        "For `q-fedavg`: the power of the loss that weighs an update; 0 is averaging.",
        unset="1.0",
        see="rules/q-fedavg.md",
        low=0.0,
    )
    lipschitz: float | Literal["1/eta"] | None = key(
        None,
        "For `q-fedavg`: L, which sets the length of the step.",
        unset='`"1/eta"`',
        see="specification.md#17-q-fedavg",
        above=0.0,
    )
    loss_scale: Literal["mean", "batch-sum", "sum"] | None = key(
        None,
        "For `q-fedavg`: the mean loss of a client, or that times its number of batches or rows.",
        unset='`"mean"`',
        see="specification.md#17-q-fedavg",
    )
    gamma_w: float | None = key(
        None, "For `afl`: multiplies the step of the model.", unset="1.0", above=0.0
    )
    gamma_lambda: float | None = key(
        None,
        "For `afl`: how fast the mixture climbs towards the clients with large losses.",
        unset="0.1",
        low=0.0,
    )
    average_iterates: bool | None = key(
        None,
        "For `afl`: whether the model of a run is the average of w_1 .. w_T instead of w_T.",
        unset="true",
    )
    constraints: tuple[ConstraintSpec, ...] | None = key(
        None,
        "Preferences over λ for `fedmgda`, `fedmgda+` and `mgda-prox`, a list of tables: "
        '`{ clients = ["north", "south"], at_most = 0.5 }`, or `at_least`, or with coefficients, '
        "`clients = { north = 1.0, south = -2.0 }`. They hold over the participants of a round; "
        "where those who take part cannot satisfy them, the run ends and says so.",
    )
    options: dict[str, Any] | None = key(
        None, "Arguments of a rule of your own, as `data.options`."
    )
