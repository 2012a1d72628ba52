"""Sentences about names: the one that was meant, many in one line, what none can show."""

from __future__ import annotations

import difflib
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

__all__ = [
    "counted",
    "did_you_mean",
    "listed",
    "nearest_names",
    "printable",
    "shown",
    "told_apart",
    "without_colours",
]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PLUS = re.compile(r"[ _-]?plus$", re.IGNORECASE)
_UNSHOWN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, halves of characters, line breaks
_UNSEEN = _UNSHOWN | {"Cf"}  # what turns the direction of writing, or cannot be seen
_KEPT = frozenset("\n\t\u200c\u200d")  # lines, and joiners, without which some scripts are misspelt


def counted(count: int, what: str) -> str:
    """Return how many there are of something.

    >>> counted(1, "client"), counted(0, "client")
    ('1 client', '0 clients')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def nearest_names(
    word: str, names: Iterable[str], *, count: int = 1, cutoff: float = 0.6
) -> list[str]:
    """Return the names most like a word, the nearest first.

    Args:
        word: What the user wrote.
        names: What exists.
        count: How many names at most.
        cutoff: How alike a name must be, from 0 (any name) to 1 (the word itself).

    >>> nearest_names("cifar", ["adult", "cifar10", "mnist"])
    ['cifar10']
    >>> nearest_names("fedmgda_plus", ["fedmgda", "fedmgda+"])
    ['fedmgda+']
    """
    known = list(names)
    signed = _PLUS.sub("+", word)
    return difflib.get_close_matches(
        signed if signed in known else word, known, n=count, cutoff=cutoff
    )


def did_you_mean(near: Sequence[str], otherwise: str, *, shown: Callable[[str], str] = repr) -> str:
    """End a sentence with the names that may have been meant, or with something else.

    Args:
        near: The names, as from `nearest_names`; there may be none.
        otherwise: What the sentence ends with where there is no such name.
        shown: How a name is written.

    >>> did_you_mean(["cifar10"], "there are adult and cifar10.")
    "did you mean 'cifar10'?"
    >>> did_you_mean([], "there are adult and cifar10.")
    'there are adult and cifar10.'
    """
    return f"did you mean {' or '.join(map(shown, near))}?" if near else otherwise


def listed(texts: Iterable[str], most: int = 12, last: str = ", ") -> str:
    """Return texts in one line, those beyond the first few as their number.

    Args:
        texts: What is to be listed.
        most: How many at most.
        last: What comes before the last one, where it is not one of many.

    >>> listed(["a", "b", "c"], most=2), listed(["a", "b", "c"], last=" and ")
    ('a, b and 1 more', 'a, b and c')
    """
    known = list(texts)
    if len(known) > most:
        return f"{', '.join(known[:most])} and {len(known) - most} more"
    return last.join(part for part in (", ".join(known[:-1]), *known[-1:]) if part)


def shown(text: str) -> str:
    r"""Return a name with "?" for line breaks and other control characters: one line, as kept.

    >>> shown("a\x01b")
    'a?b'
    """
    return "".join("?" if unicodedata.category(c) in _UNSHOWN else c for c in text)


def printable(text: str) -> str:
    r"""Return a text in which a terminal shows every character, escaped where it would not.

    Nothing in it moves the cursor, turns the direction of writing or hides between letters, so two
    texts that differ in such characters look different. Line breaks and tabs stay.

    >>> printable("a\u202eb"), printable("a\x1bb")
    ('a\\u202eb', 'a\\x1bb')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode()
        if c not in _KEPT and unicodedata.category(c) in _UNSEEN
        else c
        for c in text
    )


def one_line(text: str, most: int = 300) -> str:
    r"""Return what somebody else said as one line of at most so many printable characters.

    >>> one_line("no\nexit 0:  \x1bfine"), one_line("abc", most=2)
    ('no exit 0: \\x1bfine', 'ab')
    """
    return printable(" ".join(text[: 4 * most].split()))[:most]


def told_apart(names: Iterable[str], taken: Collection[str] = ()) -> list[str]:
    """Return names with a number behind each that another has already.

    >>> told_apart(["a", "b", "a"], taken=["b"])
    ['a', 'b 2', 'a 2']
    """
    found = dict.fromkeys(taken)
    for name in names:
        free, number = name, 2
        while free in found:
            free, number = f"{name} {number}", number + 1
        found[free] = None
    return list(found)[len(set(taken)) :]


def without_colours(text: str) -> str:
    r"""Return what a program printed without what colours it on a terminal.

    >>> without_colours("\x1b[36mone\x1b[0m two")
    'one two'
    """
    return _COLOURS.sub("", text)
