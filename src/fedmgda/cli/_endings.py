"""How a command ends: whatever it raises becomes one sentence and a documented code."""

from __future__ import annotations

from tempfile import gettempdir
from typing import TYPE_CHECKING

from fedmgda._errors import DataError, FedmgdaError, StoreError
from fedmgda.cli._console import err, escape, say
from fedmgda.experiments import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["exit_code_of"]

_HEAD, _TAIL = 2000, 1000  # characters of a sentence that are shown
_OF_THE_PARSER = {"click", "typer"}


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command; say why it failed, if it did, and return its exit code.

    What is left is a fault of the program, and is raised.
    """
    try:
        code = command()  # the code of a typer.Exit, or None
    except Interrupted as stop:
        say(err, f"{stop} Nothing is lost: the same command goes on from here.")
        return stop.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if (known := _refusal(error)) is not None:
            # One line for every error, whatever names of the user's are in it.
            say(err, f"[bold red]Error:[/] {escape(_clipped(' '.join(known[0].split())))}")
            return known[1]
        if type(error).__module__.split(".")[0] not in _OF_THE_PARSER:
            raise
        error.show()  # type: ignore[attr-defined]  # click's own usage errors know how to speak
        return int(getattr(error, "exit_code", 2))
    return code if isinstance(code, int) else 0


def _clipped(sentence: str) -> str:
    """Leave the middle of an over-long sentence out: it begins with what is wrong."""
    if len(sentence) <= _HEAD + _TAIL:
        return sentence
    return f"{sentence[:_HEAD]} … {sentence[-_TAIL:]}"


def _without_a_file(error: OSError) -> str:
    """Say what was refused where no file is named."""
    if "AF_UNIX path too long" in str(error):
        return (
            f"The path of the folder for temporary files, {gettempdir()}, is too long for the "
            "sockets over which processes start; set TMPDIR to a shorter one."
        )
    return f"What is printed cannot be written: {error.strerror or error}."


def _refusal(error: Exception) -> tuple[str, int] | None:
    """Return a sentence and a code for what a user, or the machine, can bring about."""
    # An EOFError comes as click's Abort, which takes it for a Ctrl-D at a question: none is asked.
    match error.__cause__ if type(error).__name__ == "Abort" else error:
        case FedmgdaError() as ours:
            return str(ours), ours.exit_code
        case EOFError():
            return "A file that was read is cut short; look for an empty one.", DataError.exit_code
        case OSError(filename=None) as refused:
            return _without_a_file(refused), StoreError.exit_code
        case OSError(filename=name, strerror=reason):
            return f"{name} cannot be used: {reason}.", StoreError.exit_code
        case MemoryError() | RuntimeError() as short if _is_of_memory(short):
            wanted = f": {str(short).rstrip('.')}" if str(short) else ""
            return f"There is not enough memory{wanted}.", FedmgdaError.exit_code
    return None


def _is_of_memory(error: Exception) -> bool:
    """Tell whether memory was missing; threads and torch have no exception of their own for it."""
    words = ("can't start new thread", "can't allocate memory")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)
