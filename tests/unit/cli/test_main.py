"""The way in: what becomes of a missing package, of a fault of our own, and of an interruption."""

import signal
import subprocess
import sys

import pytest

from fedmgda import cli
from fedmgda._errors import StoreError
from fedmgda.cli import _app
from fedmgda.experiments import Interrupted


def blocked(monkeypatch, name):
    """Let every import of the application fail as if a module were not there."""
    monkeypatch.delitem(sys.modules, "fedmgda.cli._app")

    class Finder:
        @staticmethod
        def find_spec(wanted, *_):
            if wanted == "fedmgda.cli._app":
                raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])


def test_a_missing_package_is_a_sentence_and_code_7(monkeypatch, capsys):
    blocked(monkeypatch, "typer")
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 7
    assert capsys.readouterr().err == (
        "The command line needs the package typer; install it with: pip install 'fedmgda[sim]'.\n"
    )


def test_a_missing_part_of_our_own_is_not_blamed_on_the_user(monkeypatch):
    blocked(monkeypatch, "fedmgda.cli._nothing")
    with pytest.raises(ImportError, match="_nothing"):
        cli.main()


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        (StoreError("The disk [full] is full."), 4, "Error: The disk [full] is full."),
        (
            StoreError("a class\n'x'\r\u2028 of two lines."),
            4,
            "Error: a class 'x' of two lines.\n",
        ),
        (StoreError("Q" * 9999 + " is it."), 4, f"Error: {'Q' * 2000} … {'Q' * 993} is it.\n"),
        (KeyboardInterrupt(), 130, ""),
        (EOFError(), 3, "Error: A file that was read is cut short; look for an empty one."),
        (
            FileNotFoundError(2, "No such file", "x\ny"),
            4,
            "Error: x y cannot be used: No such file.",
        ),
        (OSError(28, "No space left"), 4, "Error: What is printed cannot be written: No space"),
        (OSError("AF_UNIX path too long"), 4, "Error: The path of the folder for temporary files,"),
        (MemoryError("67.1 GiB"), 1, "Error: There is not enough memory: 67.1 GiB."),
        (RuntimeError("can't start new thread"), 1, "Error: There is not enough memory: can't"),
        (RuntimeError("Allocator: can't allocate memory"), 1, "Error: There is not enough memory"),
        (Interrupted(15), 143, "Nothing is lost"),
    ],
)
def test_every_end_has_its_code(monkeypatch, capsys, ending, code, said):
    def run(**_):
        raise ending

    monkeypatch.setattr(_app, "app", run)
    assert _app.run_app() == code
    assert said in capsys.readouterr().err


def test_an_end_of_file_is_no_interruption(monkeypatch, capsys):
    """The command line's own loop takes an EOFError for somebody who typed Ctrl-D."""

    def verify(_):
        raise EOFError("No data left in file")

    monkeypatch.setattr("fedmgda.cli._data.verify_dataset", verify)
    monkeypatch.setattr(sys, "argv", ["fedmgda", "data", "verify", "adult"])
    assert _app.run_app() == 3
    assert "Error: A file that was read is cut short" in capsys.readouterr().err


# What a shell starts in the background ignores interruptions, and so do its children.
INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Finder:
    @staticmethod
    def find_spec(name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
sys.argv = ["fedmgda", "--version"]
from fedmgda.cli import main
main()
"""


@pytest.mark.parametrize("name", ["fedmgda.cli._app", "typer", "rich.text", "numpy.linalg"])
def test_an_interruption_amid_imports_is_a_code_and_no_traceback(name):
    code = INTERRUPTED.format(name=name)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")


def test_after_the_imports_an_interruption_is_an_exception_again(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fedmgda", "--version"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit):
            cli.main()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_fault_of_the_program_is_not_hidden(monkeypatch):
    def run(**_):
        raise ZeroDivisionError

    monkeypatch.setattr(_app, "app", run)
    with pytest.raises(ZeroDivisionError):
        _app.run_app()


def test_a_wrong_option_speaks_as_the_command_line_does(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fedmgda", "run", "--nonsense"])
    assert _app.run_app() == 2
    assert "nonsense" in capsys.readouterr().err


def test_the_version_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fedmgda", "--version"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    assert capsys.readouterr().out.strip()
