"""Fonts for names in any script: what the usual font lacks, another one may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["fonts_for"]

_USUAL = "DejaVu Sans"  # what matplotlib brings with it
_PLACEHOLDERS = "Last Resort"  # has a box for every character
_FIRST = ("Noto Sans", "Source Han Sans", "WenQuanYi", "Droid Sans Fallback", "Arial Unicode")


def fonts_for(texts: Iterable[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the families that together draw texts, and the characters no installed font has.

    Families are looked for only where the usual font lacks a character, those of sans-serif fonts
    for many scripts first.

    >>> fonts_for(["Oslo", "Tromsø"])
    ((), frozenset())
    """
    wanted = {letter for text in texts for letter in text if letter.isprintable()}
    if all(letter.isascii() for letter in wanted):
        return (), frozenset()
    from matplotlib import font_manager  # noqa: PLC0415 (optional, and slow to import)

    lacking = _lacking(font_manager.findfont(_USUAL), wanted)
    families: list[str] = []
    known = {font.name: font.fname for font in font_manager.fontManager.ttflist}
    for family in sorted(known, key=lambda name: (not name.startswith(_FIRST), name)):
        if not lacking:
            break
        if family.startswith(_PLACEHOLDERS):
            continue
        left = _lacking(known[family], lacking)
        if left != lacking:
            families.append(family)
            lacking = left
    return ((_USUAL, *families) if families else ()), frozenset(lacking)


def _lacking(path: Any, letters: set[str]) -> set[str]:
    """Return the characters that a font file does not have; all, if it cannot be read."""
    from matplotlib import font_manager  # noqa: PLC0415

    try:
        font: Any = font_manager.get_font(path)
    except (OSError, RuntimeError):
        return letters
    return {letter for letter in letters if font.get_char_index(ord(letter)) == 0}
