"""The way in: what becomes of a missing package, of a fault of our own, and of an interruption."""

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
        (KeyboardInterrupt(), 130, ""),
        (Interrupted(15), 143, "Nothing is lost"),
    ],
)
def test_every_end_has_its_code(monkeypatch, capsys, ending, code, said):
    def run(**_):
        raise ending

    monkeypatch.setattr(_app, "app", run)
    assert _app.run_app() == code
    assert said in capsys.readouterr().err


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
