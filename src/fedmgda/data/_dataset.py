"""What the library knows about a data set, in one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

if TYPE_CHECKING:
    from fedmgda.data._federated import Examples, FederatedData
    from fedmgda.data.own._encoding import Table
    from fedmgda.data.sources._origin import Origin

__all__ = ["Dataset", "Loader", "Settings"]

Settings: TypeAlias = Mapping[str, Any]
"""What a spec says about its data: keys of its table `[data]`, without those that are not set."""

Loader: TypeAlias = "Callable[[Settings, int], Examples | Table | FederatedData]"
"""Returns the data for its settings and a seed: a federation, or examples that will be dealt."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A data set: what it is, where it comes from, and what a spec means that names it.

    Attributes:
        name: What a user types.
        title: What it is, in a few words.
        federation: The federation it becomes.
        licence: Under which conditions it may be used.
        load: How it is read or made.
        model: The name of the model it is used with by default.
        clients: "dealt" if a partition deals its examples, "given" if its clients are what they
            are, "either" if that is for the user to say.
        settings: The keys a spec may give for it, with their defaults; those of its partition are
            added.
        options: Further keys that have no default.
        released: The settings that `compat = "released-code"` changes (SPEC 9.2, 9.3, 9.5 and 3.5).
        local_splits: The values of `local_split` that mean something for it.
        participation: The share of clients that take part in a round by default.
        per_round: Or their number.
        most_per_round: Or their number unless there are fewer, which takes the data to know.
        client_lr: The step of a client by default; "auto" where the model is one of ours whose
            curvature the data tells.
        schedule: The server's step by default, for rules that take updates at unit length.
        select: By what the best round is chosen by default; None keeps the last one.
        origin: Where its official files come from; None if there is nothing to fetch or import.
        default_partition: The partition for the keys that are given, where it depends on them.
        defaults: Further settings by default, where they depend on those that are given.
        official_test: Reads its official test set, which no client holds, where it has one.
        check: Refuses settings that do not go together, with a SpecError.
    """

    name: str
    title: str
    federation: str
    licence: str
    load: Loader
    model: str
    clients: Literal["dealt", "given", "either"]
    settings: Settings = field(default_factory=dict)
    options: tuple[str, ...] = ()
    released: Settings = field(default_factory=dict)
    local_splits: tuple[str, ...] = ("shuffled", "tail")
    participation: float | None = None
    per_round: int | None = None
    most_per_round: int | None = None
    client_lr: float | Literal["auto"] = 0.1
    schedule: Literal["decay", "median-norm"] = "decay"
    select: Literal["loss", "accuracy"] | None = None
    origin: Origin | None = None
    default_partition: Callable[[Settings], str] | None = None
    defaults: Callable[[Settings], Settings] | None = None
    official_test: Callable[[], Examples] | None = None
    check: Callable[[Settings], None] | None = None
