"""What a node lets the spec of a server do on its machine; checked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from fedmgda._errors import SpecError
from fedmgda.experiments import Spec, named_code, parse, read_toml
from fedmgda.flower.node._agreed import first_difference

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RefusedError", "Terms"]


class RefusedError(SpecError):
    """A question that the node does not answer; the sentence is of the question, not of a file."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a node lets the spec of a server do.

    Attributes:
        own: Whether the node has a file of its own.
        trust: Whether whoever writes the specs is whoever started the node, as on one machine:
            then only `agreed` can refuse one.
        allow_code: Whether a spec may name code.
        agreed: A file with the spec that the site has agreed to; None agrees to what is safe.
    """

    own: bool = False
    trust: bool = False
    allow_code: bool = False
    agreed: Path | None = None

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> Self:
        """Return what Flower's node config says: `data`, `trust`, `allow-code`, `spec`.

        Raises:
            SpecError: If one of these is wrong.
        """
        switches = {key: config.get(key, False) for key in ("trust", "allow-code")}
        for key, value in switches.items():
            if not isinstance(value, bool):
                raise SpecError(
                    f"{key} in the node's --node-config must be true or false, got {value!r}."
                )
        place = config.get("spec")
        if place is not None and (not isinstance(place, str) or not place):
            raise SpecError(f"spec in the node's --node-config must be a path, got {place!r}.")
        return cls(
            own=config.get("data") is not None,
            trust=switches["trust"],
            allow_code=switches["allow-code"],
            agreed=None if place is None else Path(place),
        )

    def check(self, spec: Spec) -> None:
        """Refuse a spec that does what the node does not let it.

        Raises:
            RefusedError: If it does; a SpecError if the file of the site is none.
        """
        if self.agreed is not None:
            other = first_difference(spec, parse(Spec, read_toml(self.agreed)))
            if other is not None:
                raise RefusedError(
                    f"{other} is not what this site has agreed to; send the spec that its node was "
                    "started with (fedmgda flower node --spec)"
                )
        if not self.trust:
            self._check_stranger(spec)

    def _check_stranger(self, spec: Spec) -> None:
        if not self.allow_code and (named := named_code(spec)) is not None:
            raise RefusedError(
                f"{named:.80} would run code on this node, which it does not let a spec do; start "
                "it with fedmgda flower node --allow-code if that code is trusted"
            )
        if self.own and spec.data.schema is None:
            raise RefusedError(
                "this node has a file of its own and answers no spec without [data.schema]; make "
                "one with fedmgda flower schema, or start the node without --data"
            )
        if self.own and spec.data.path is not None:
            raise RefusedError(
                "data.path names a file on the machine of this node, whose rows are those of its "
                "own file (--data); leave data.path out"
            )
        for key, value in (("data.path", spec.data.path), ("model.init", spec.model.init)):
            if value is not None and self.agreed is None:
                raise RefusedError(
                    f"{key} names a file on the machine of this node, which only a spec may that "
                    "the site has agreed to; start the node with fedmgda flower node --spec"
                )
