"""Inputs drawn to break what reads them, and the law: a right answer or one sentence, in bounds."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import warnings
from pathlib import Path

import numpy as np

from every_byte import call
from fedmgda._errors import FedmgdaError
from fedmgda.cli._exit_codes import EXIT_CODES

CORPUS = Path(__file__).parent / "data" / "corpus"
SECONDS = 60  # that a call may take; most take hundredths of one, on a machine that is at rest
ROOM = 3 << 30  # bytes of address space beyond what the process has
LONGEST = 4000  # characters of a sentence

NUMBERS = (
    b"0", b"-1", b"1", b"2", b"1e308", b"1e400", b"-0.0", b"1e-320", b"nan", b"inf", b"-inf",
    b"2147483648", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"1" * 400, b"1" * 5000, b"0x10", b"1_000", b"true", b"1.5",
)  # fmt: skip
TEXTS = (
    b"", b"\x00", b"\n", b"\r", b"\t", b'"', b"'", b",", b";", b"\\", b"\xff\xfe", b"\xef\xbb\xbf",
    "\u202e".encode(), "\u2028".encode(), b"\x1b[2J", b"\xed\xa0\x80", b"\\ud800", b"..", b"/",
    b"/dev/zero", b"~nosuch", b"a" * 5000, b"[" * 3000, b'{"a":' * 3000, "\U0001f9ea".encode(),
    b"[bold]", b"{0}", b"%s", b"None", b"NaN",
)  # fmt: skip
VALUES = (
    None, True, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "a", "\x00", "\n", "\ud800", "\u202e", "x" * 5000, [], [[]], {}, {"": None},
    [None], ["a", "a"], {"a": {"b": {}}}, [0, 1, 2], "../../x", "/dev/zero",
)  # fmt: skip


class TooSlowError(BaseException):
    """A call did not end in time; nothing that it calls catches this."""


# What is drawn


def changed(rng, content, tokens=()):
    """Return bytes with a few changes: bits, pieces, numbers, words, lines."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 6]))):
        content = CHANGES[rng.integers(len(CHANGES))](rng, content, tokens)
    return content[: 1 << 20]


def _span(rng, content, most=40):
    start = int(rng.integers(len(content) + 1))
    return start, min(len(content), start + int(rng.integers(1, most)))


def _bit(rng, content, tokens):
    if not content:
        return b"\x00"
    place = int(rng.integers(len(content)))
    other = bytes([content[place] ^ (1 << int(rng.integers(8)))])
    return content[:place] + other + content[place + 1 :]


def _cut(rng, content, tokens):
    start, end = _span(rng, content)
    return content[:start] + content[end:]


def _end(rng, content, tokens):
    return content[: int(rng.integers(len(content) + 1))]


def _again(rng, content, tokens):
    start, end = _span(rng, content, 200)
    return content[:end] + content[start:end] * int(rng.integers(1, 4)) + content[end:]


def _word(rng, content, tokens):
    words = (*TEXTS, *NUMBERS, *tokens, *tokens)
    start, end = _span(rng, content, 8)
    keep = start if rng.random() < 0.5 else end
    return content[:start] + words[rng.integers(len(words))] + content[keep:]


def _number(rng, content, tokens):
    """Put another number in the place of one."""
    runs, start = [], None
    for place, byte in enumerate((*content, 0)):
        digit = 48 <= byte <= 57 or (start is not None and byte in b".e-+")
        if digit and start is None:
            start = place
        elif not digit and start is not None:
            runs.append((start, place))
            start = None
    if not runs:
        return _word(rng, content, tokens)
    start, end = runs[rng.integers(len(runs))]
    return content[:start] + NUMBERS[rng.integers(len(NUMBERS))] + content[end:]


def _line(rng, content, tokens):
    lines = content.split(b"\n")
    one, other = (int(rng.integers(len(lines))) for _ in range(2))
    if rng.random() < 0.3:
        del lines[one]
    elif rng.random() < 0.5:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines.insert(one, lines[other])
    return b"\n".join(lines)


def _shuffled(rng, content, tokens):
    start, end = _span(rng, content, 64)
    piece = np.frombuffer(content[start:end], np.uint8).copy()
    return content[:start] + rng.permutation(piece).tobytes() + content[end:]


CHANGES = (_bit, _cut, _end, _again, _word, _word, _number, _number, _line, _shuffled)


def changed_table(rng, table):
    """Return plain JSON with one of its parts replaced, taken away, doubled or called otherwise."""
    table = json.loads(json.dumps(table))
    places = list(_places(table))
    if not places:
        return VALUES[rng.integers(len(VALUES))]
    holder, key = places[rng.integers(len(places))]
    kind = rng.integers(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[str(VALUES[rng.integers(len(VALUES))])[:50]] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder += [holder[key]] * int(rng.integers(1, 4))
    elif kind == 3:
        other, at = places[rng.integers(len(places))]
        with contextlib.suppress(KeyError, IndexError):
            holder[key] = json.loads(json.dumps(other[at]))
    else:
        holder[key] = VALUES[rng.integers(len(VALUES))]
    return table


def _places(part):
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in items:
        yield part, key
        if isinstance(value, dict | list):
            yield from _places(value)


# The law


class Fence:
    """Tells what is written outside of a folder, by an audit hook that is there once for all."""

    folder = None
    seen: list[str] = []  # noqa: RUF012 (one for all)

    @classmethod
    def watch(cls, event, arguments):
        if cls.folder is None or not arguments:
            return
        if event == "open":
            writes = isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            paths = arguments[:1] if writes else ()
        else:
            paths = arguments[:2] if event in _CHANGING else ()
        for path in paths:
            if isinstance(path, str | bytes | os.PathLike):
                place = os.path.realpath(os.fsdecode(path))
                if not place.startswith((cls.folder, "/dev/")):
                    cls.seen.append(f"{event} {place}")


_CHANGING = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
}  # fmt: skip
sys.addaudithook(Fence.watch)


@contextlib.contextmanager
def bounded(folder):
    """Bound what is done inside in time, memory and place."""

    def too_slow(*_):
        raise TooSlowError(f"no end within {SECONDS} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, too_slow)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    if pages:
        room = pages * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (min(room, soft) if soft > 0 else room, hard))
    Fence.folder, Fence.seen[:] = os.path.realpath(folder), []
    try:
        with warnings.catch_warnings(record=True) as leaked:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", DeprecationWarning)  # which no user is shown
            yield leaked
    finally:
        Fence.folder = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def broken_law(folder, act):
    """Return why something did not end as it should; None if it did.

    Args:
        folder: Where files may be written.
        act: What is done; returns a complaint or None, and may raise a FedmgdaError.
    """
    why = None
    with bounded(folder) as leaked:
        try:
            why = act()
        except FedmgdaError as error:
            why = _no_sentence(str(error))
        except BaseException as error:  # noqa: BLE001 - a user would see a traceback
            why = f"{type(error).__name__}: {error}"[:400]
    if leaked and why is None:
        why = f"a warning: {leaked[0].message}"[:400]
    if Fence.seen and why is None:
        why = f"outside: {Fence.seen[0]}"
    return why


def command(*arguments):
    """Return an act: a command that ends with a documented code, and a sentence where it fails."""

    def act():
        code, printed, said = call(list(arguments))
        if code not in EXIT_CODES or code == 1:
            return f"code {code}: {said[-300:]}"
        lines = [line for line in (said or printed).splitlines() if line.strip()]
        if code and not lines:
            return f"code {code} without a word"
        if code:
            return _no_sentence(lines[-1])
        # What `predict` prints is the rows that it was given, as they are.
        return None if arguments[0] == "predict" else _not_shown(printed)

    return act


def _no_sentence(text):
    if not text.strip() or len(text) > LONGEST or "\n" in text.strip():
        return f"no sentence: {text[:300]!r}"
    return _not_shown(text)


def _not_shown(text):
    odd = [c for c in text if c != "\n" and (not c.isprintable() or "\ud800" <= c <= "\udfff")]
    return f"prints {odd[0]!r}: {text[:300]!r}" if odd else None
