"""Folders with one byte changed, and commands that must say so or not care: called in process."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from itertools import cycle

from fedmgda.cli._app import run_app
from fedmgda.cli._exit_codes import EXIT_CODES


def files_of(folder):
    """Return every file of a folder, by its name below it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in found]


def places(folder, per_file, names=None):
    """Yield file, place and mask of the bits to flip: so many of each file, spread evenly.

    Of a file that is not longer than that, every byte; the bit that is flipped goes round.
    """
    for name in names or files_of(folder):
        size = (folder / name).stat().st_size
        number = min(size, per_file)
        for step in range(number):
            place = step * size // number
            yield name, place, 1 << (place % 8)


@contextlib.contextmanager
def changed(path, place, mask):
    """Change a byte of a file, for as long as the block runs."""
    content = path.read_bytes()
    path.write_bytes(content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :])
    try:
        yield
    finally:
        path.write_bytes(content)


def call(arguments):
    """Run a command in this process; return its code, what it printed and what it said.

    What it raises is raised: a traceback is what no changed byte may bring about.
    """
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["fedmgda", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_app()
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def broken_by(folder, per_file, commands, names=None):
    """Change bytes of a folder one after the other, and call the commands in turn.

    Returns:
        Every change that was not survived: the file, the place, the command and why.
    """
    found, turn = [], cycle(commands)
    for name, place, mask in places(folder, per_file, names):
        command = next(turn)
        with changed(folder / name, place, mask):
            if (why := fault(command)) is not None:
                found.append((name, place, mask, " ".join(command), why))
    return found


def fault(command):
    """Return why a command did not end as it should; None if it did."""
    try:
        code, printed, said = call(command)
    except BaseException as error:  # noqa: BLE001 - whatever it is, a user would see a traceback
        return f"{type(error).__name__}: {error}"[:300]
    if code not in EXIT_CODES:
        return f"code {code}"
    if code and not (printed + said).strip():
        return f"code {code} without a word"
    return None


def resumed_otherwise(stopped, folder, per_file, results):
    """Change bytes of a stopped run, and resume each: refused, or the bytes of the whole run.

    Args:
        stopped: The run.
        folder: Where copies of it go.
        per_file: How many bytes of each file.
        results: What `runs.results` returns of the run that was never stopped.

    Returns:
        Every change that led to a traceback or to other results.
    """
    from runs import results as results_of  # noqa: PLC0415 (beside this module)

    found = []
    for name, place, mask in places(stopped, per_file):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(stopped, folder)
        path = folder / name
        content = path.read_bytes()
        path.write_bytes(content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :])
        why = fault(["resume", str(folder), "--json"])
        if why is None and (folder / "DONE").exists():
            other = [key for key, value in results_of(folder).items() if value != results.get(key)]
            why = f"other bytes in {other}" if other else None
        if why is not None:
            found.append((name, place, mask, why))
    return found
