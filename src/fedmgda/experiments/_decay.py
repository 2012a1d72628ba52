"""A decay of the server's step that a run would never feel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._errors import SpecError

if TYPE_CHECKING:
    from fedmgda.experiments._spec import Spec

__all__ = ["inert_decay", "refuse_inert_decay"]

_STAIR = 100  # rounds with the same step: the paper's t // 100


def inert_decay(spec: Spec) -> str | None:
    """Return a sentence if the decay that a spec asks for changes no step, else None.

    >>> from fedmgda.experiments import Spec, parse
    >>> inert_decay(parse(Spec, {"rounds": 101, "server": {"decay": 0.1}})) is None
    True
    """
    server = spec.server
    if server.decay in {0.0, 1.0}:
        return None
    if server.schedule not in {None, "decay"}:  # None will be the decay, where a table says nothing
        return (
            f"server.decay = {server.decay:g} does not apply to server.schedule = "
            f"{server.schedule!r}; leave it out, or set server.schedule to 'decay'."
        )
    if spec.rounds <= _STAIR:
        return (
            f"server.decay = {server.decay:g} changes nothing in {spec.rounds} rounds, since the "
            f"step falls after every {_STAIR}; train for more than {_STAIR} rounds, or leave it "
            "out."
        )
    return None


def refuse_inert_decay(spec: Spec) -> None:
    """Refuse a key that would be ignored.

    Raises:
        SpecError: If the decay changes no step.
    """
    if (problem := inert_decay(spec)) is not None:
        raise SpecError(problem)
