"""Where a command may write: never over what it reads, nor over the files of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._errors import SpecError
from fedmgda.experiments import is_file_of_run

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_place"]


def check_place(place: Path, option: str, *, suffix: str | None = None) -> None:
    """Refuse to write over a file of a run, or one that does not look like what is written.

    Args:
        place: The file to write.
        option: What it was given by, for messages.
        suffix: How its name must end.

    Raises:
        SpecError: If it must not be written.
    """
    if suffix is not None and place.suffix.lower() != suffix:
        raise SpecError(f"The file to write must end in {suffix}, got {str(place)!r}.")
    if is_file_of_run(place):
        raise SpecError(
            f"{place} belongs to the run in {place.parent}; choose another place for {option}."
        )
