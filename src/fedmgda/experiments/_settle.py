"""What a spec leaves to the data: numbers that can be told only when it has been read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from fedmgda._errors import SpecError
from fedmgda.data import find_dataset, loss_curvatures
from fedmgda.experiments._baselines import pooled_data
from fedmgda.experiments._build_data import build_data
from fedmgda.experiments._class_weights import class_weights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedmgda.data import FederatedData
    from fedmgda.experiments._spec import Spec

__all__ = [
    "Settled",
    "is_settled",
    "settle",
    "settle_all",
    "settle_elsewhere",
    "with_participants",
]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settled:
    """A spec in which every number is told.

    Attributes:
        spec: The spec; what was left to the data is a number in it.
        data: The data, if it had to be read; None if the spec said everything.
        notes: Sentences the user should see.
    """

    spec: Spec
    data: FederatedData | None = None
    notes: tuple[str, ...] = ()


def is_settled(spec: Spec) -> bool:
    """Tell whether a resolved spec leaves nothing to the data."""
    return spec.clients.client_lr != "auto" and not _open_participation(spec)


def settle(spec: Spec) -> Settled:
    """Read the data of a resolved spec if it leaves something open, and put in what follows.

    `clients.client_lr = "auto"` becomes 1 / L, rounded to two digits, where L bounds the curvature
    of every client's whole loss under a linear model; batches of few rows can be more curved, so
    this is a sound start and no guarantee. `clients.per_round` becomes the smaller of the number
    of clients and what goes with the data. Settling a settled spec reads nothing and changes
    nothing.

    Raises:
        DataError: If the data cannot be read.
        SpecError: If it does not go with the spec.
    """
    if is_settled(spec):
        return Settled(spec=spec)
    data, notes = build_data(spec)
    found = _Measured.of(spec, data)
    note = () if spec.clients.client_lr != "auto" else (found.note(),)
    return Settled(spec=_with(spec, found), data=data, notes=(*note, *notes))


def settle_all(specs: Iterable[Spec]) -> list[Settled]:
    """Settle many specs, reading the data of those that share it once; none of it is kept."""
    known: list[tuple[Spec, _Measured, tuple[str, ...]]] = []
    settled = []
    for spec in specs:
        if is_settled(spec):
            settled.append(Settled(spec=spec))
            continue
        told = next((told for told in known if _same_data(spec, told[0])), None)
        if told is None:
            data, notes = build_data(spec)
            told = (spec, _Measured.of(spec, data), notes)
            known.append(told)
        _, found, notes = told
        settled.append(Settled(spec=_with(spec, found), notes=notes))
    return settled


def settle_elsewhere(spec: Spec, num_clients: int, curvature: float) -> Spec:
    """Put in what follows from data that lies elsewhere.

    Args:
        spec: A resolved spec.
        num_clients: How many clients there are.
        curvature: The largest of the bounds L_i that the clients sent.

    Raises:
        SpecError: If no finite step follows.
    """
    return _with(spec, _Measured("the data of the nodes", num_clients, curvature))


def settled_like(spec: Spec, other: Spec) -> Spec:
    """Put in what a resolved spec leaves to the data, as another spec has it."""
    open_keys = ["per_round"] * _open_participation(spec)
    open_keys += ["client_lr"] * (spec.clients.client_lr == "auto")
    told = {key: getattr(other.clients, key) for key in open_keys}
    return replace(spec, clients=replace(spec.clients, **told))


@final
@dataclass(frozen=True, slots=True)
class _Measured:
    """What the data says: how many clients there are, and L, which is at least every L_i."""

    name: str
    num_clients: int
    curvature: float

    @classmethod
    def of(cls, spec: Spec, data: FederatedData) -> _Measured:
        rows = pooled_data(data) if spec.baseline == "pooled" else data
        bounds = loss_curvatures(rows, class_weights(spec, data))
        return cls(data.name, data.num_clients, float(bounds.max(initial=0.0)))

    def note(self) -> str:
        return (
            f"clients.client_lr is 1 / {self.curvature:.3g}: no linear model's loss is more curved "
            "than that for any client."
        )


def _same_data(spec: Spec, other: Spec) -> bool:
    keys = [
        (s.data, s.seed, s.compat, s.baseline == "pooled", s.clients.class_weights)
        for s in (spec, other)
    ]
    return keys[0] == keys[1]


def with_participants(spec: Spec, num_clients: int) -> Spec:
    """Say how many take part in a round, where a spec leaves that to the number of clients."""
    if not _open_participation(spec):
        return spec
    most = find_dataset(spec.data.name or "").most_per_round or num_clients
    return replace(spec, clients=replace(spec.clients, per_round=min(most, num_clients)))


def _with(spec: Spec, found: _Measured) -> Spec:
    spec = with_participants(spec, found.num_clients)
    if spec.clients.client_lr != "auto":
        return spec
    return replace(spec, clients=replace(spec.clients, client_lr=_client_lr(spec, found)))


def _client_lr(spec: Spec, found: _Measured) -> float:
    """Return 1 / L, shortened for momentum, which lengthens a step by 1 / (1 - momentum)."""
    if not 0 < found.curvature < float("inf"):
        raise SpecError(
            f"clients.client_lr = 'auto' finds no finite step for {found.name}, whose features "
            f"bound the curvature of the loss by {found.curvature:g}; give a number."
        )
    return float(f"{(1.0 - (spec.clients.momentum or 0.0)) / found.curvature:.2g}")


def _open_participation(spec: Spec) -> bool:
    clients = spec.clients
    return clients.per_round is None and clients.participation is None and clients.only is None
