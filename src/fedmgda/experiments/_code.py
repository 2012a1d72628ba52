"""Code of the user's own that a spec names: what a spec from a stranger may not do unasked."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from fedmgda._entry import is_entry
from fedmgda._errors import SpecError

if TYPE_CHECKING:
    from fedmgda.experiments._spec import Spec

__all__ = ["named_code", "refuse_code"]


def named_code(spec: Spec) -> str | None:
    """Return the first key of a spec that names code of its own, with its value; None if none does.

    Nothing is imported.
    """
    for section in fields(spec):
        table = getattr(spec, section.name)
        for f in fields(table) if is_dataclass(table) else ():
            value = getattr(table, f.name)
            if f.metadata.get("entry") and isinstance(value, str) and is_entry(value):
                return f"{section.name}.{f.name} = {value!r}"
    return None


def refuse_code(spec: Spec) -> None:
    """Refuse a spec that names code of its own, `package.module:name`; nothing is imported.

    Raises:
        SpecError: If it does.
    """
    if (named := named_code(spec)) is not None:
        raise SpecError(
            f"{named} would run code that is not part of fedmgda, which --no-code refuses; leave "
            "it out if you trust that code."
        )
