"""Where results and everything else are printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape as without_markup
from rich.text import Text

from fedmgda._text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["err", "escape", "note", "out", "say"]

out = Console(highlight=False, emoji=False)
"""Results, on standard output: what a pipe should get."""

err = Console(stderr=True, highlight=False, emoji=False)
"""Progress, notes and errors, on standard error."""


def escape(text: str) -> str:
    """Return what is not ours as markup that shows it, character by character."""
    return without_markup(printable(text))


def say(console: Console, text: str, *, wrap: bool = False) -> None:
    """Print a sentence or a path so that no word of it is broken.

    A terminal gets lines that end between words; a word that is longer than a line, such as a
    path, stays whole. A pipe gets one line, as it is read by programs.

    Args:
        console: `out` or `err`.
        text: With markup; what is not ours must have been escaped.
        wrap: Whether it is a paragraph, which is cut into lines for a pipe too.
    """
    if not console.is_terminal and not wrap:
        console.print(text, soft_wrap=True)
        return
    for paragraph in Text.from_markup(text, emoji=False).split("\n", allow_blank=True):
        for line in paragraph.divide(_line_starts(paragraph.plain, console.width)):
            line.rstrip()
            console.print(line, soft_wrap=True)


def note(sentences: Iterable[str], said: set[str] | None = None) -> None:
    """Print sentences that the user should see, each once.

    Args:
        sentences: What is to be said.
        said: What has been said already; what is said now is added.
    """
    known = set[str]() if said is None else said
    for sentence in sentences:
        if sentence not in known:
            say(err, f"[yellow]Note:[/] {escape(sentence)}")
            known.add(sentence)


def _line_starts(text: str, width: int) -> list[int]:
    """Return where new lines begin, the first apart, so that each word is in one of them.

    >>> _line_starts("one two three", 8)
    [8]
    """
    starts, used = list[int](), 0
    for word in re.finditer(r"\s*\S+\s*", text):
        if used and used + cell_len(word[0].rstrip()) > width:
            starts.append(word.start())
            used = 0
        used += cell_len(word[0])
    return starts
