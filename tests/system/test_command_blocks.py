"""Every command block of the documents is marked, and those that say so are run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_blocks import COMMANDS, GIVEN, KINDS, blocks_of, documents, told_alike

ROOT = Path(__file__).parents[2]
PAGES = {str(page.relative_to(ROOT)): blocks_of(page) for page in documents()}


def pages_with(word):
    return [name for name, blocks in PAGES.items() if any(block.word == word for block in blocks)]


@pytest.mark.parametrize("name", PAGES)
def test_every_command_block_is_marked(name):
    for block in PAGES[name]:
        assert block.kind in KINDS, f"{block} says {block.kind!r}, not what kind of text it is"
        if block.kind in COMMANDS:
            assert block.word in {"run", "slow", "shown", "file"}, f"{block} has no mark"
        if block.word == "shown":
            assert block.mark.partition(":")[2].strip(), f"{block} is shown, and does not say why"
        if block.word in {"run", "slow"} and block.kind != "python":
            assert block.commands, f"{block} has no command"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a program in a folder as a reader would have it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    source = os.pathsep.join([str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split()])
    environment = os.environ | {"PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    environment["PYTHONPATH"] = source

    def run(*command):
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
            timeout=600,
        )  # fmt: skip

    return run


def run_python(block, run, folder):
    """Run a block of Python, as a doctest if it has prompts; return what it prints."""
    assert run("bash", "-c", GIVEN[block.given]).returncode == 0
    if block.text.startswith(">>>"):
        (folder / "block.txt").write_text(block.text, encoding="utf-8")
        result = run(sys.executable, "-W", "error", "-m", "doctest", "block.txt")
    else:
        result = run(sys.executable, "-W", "error", "-c", block.text)
    assert result.returncode == 0, f"{block}: {result.stdout}{result.stderr}"
    return result.stdout


def work_through(blocks, words, run, folder):
    """Run the blocks of a page with these marks, in their order, and compare what they print."""
    printed = ""
    for block in blocks:
        if block.word == "file":
            (folder / block.mark.split()[1]).write_text(block.text, encoding="utf-8")
        elif block.word == "output":
            assert not told_alike(block.text, printed), f"{block}: it printed\n{printed}"
        elif block.word not in words:
            continue
        elif block.kind == "python":
            printed = run_python(block, run, folder)
        else:
            assert run("bash", "-c", GIVEN[block.given]).returncode == 0
            for command, shown in block.commands:
                result = run("bash", "-c", command)
                said = result.stdout + result.stderr
                assert result.returncode == block.exit_code, f"{block}: {command}\n{said}"
                missing = told_alike(shown, said)
                assert not missing, f"{block}: {command}\nprints no\n{missing}\nbut\n{said}"


@pytest.mark.parametrize("name", pages_with("run"))
def test_what_is_marked_run_runs_and_prints_what_is_shown(name, run, tmp_path):
    work_through(PAGES[name], {"run"}, run, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", pages_with("slow"))
def test_what_is_marked_slow_runs_and_prints_what_is_shown(name, run, tmp_path):
    if any("fedmgda flower" in block.text for block in PAGES[name] if block.word == "slow"):
        pytest.importorskip("flwr", reason="the extra flower is not installed")
    work_through(PAGES[name], {"run", "slow"}, run, tmp_path)


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        ("a 1.5 b\n", "a 2.25\nb\n", ""),
        ("one\n...\nthree\n", "zero\none\ntwo\nthree\n", ""),
        ("three\n...\none\n", "one\ntwo\nthree\n", "\none\n"),
        ("worse\n", "better\n", "worse\n"),
    ],
)
def test_what_is_shown_is_compared_but_for_numbers_and_line_breaks(shown, printed, missing):
    assert told_alike(shown, printed) == missing
