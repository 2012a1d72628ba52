"""What is true of every document in the repository: what it names is there."""

import csv
import operator
import re
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

import fedmgda
from command_blocks import documents
from fedmgda.cli._app import app
from fedmgda.cli._exit_codes import EXIT_CODES
from fedmgda.experiments import spec_keys, spec_tables

ROOT = Path(__file__).parents[2]
WRITTEN = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("results/**/*.md")]
COMMANDS = get_command(app)
TABLES = {table.name for table in spec_tables()}
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
KEY = re.compile(r"^(?:-c )?'?([a-z]+(?:\.[a-z_]+)+)\b(?![(:/])")
FILES = (".csv", ".safetensors", ".npz", ".json", ".toml")
CODE = re.compile(r"\b(?:exit )?codes? (\d+)(?:(?:, \d+)* (?:and|or) (\d+))?")


def by_name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", WRITTEN, ids=by_name)
def test_no_document_holds_the_marks_of_a_merge(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith(("<<<<<<<", ">>>>>>>"))] == []


def code_of(path):
    """Return the code of a document: what stands in backticks, and the lines of its blocks."""
    text = path.read_text(encoding="utf-8")
    blocks = "\n".join(FENCED.findall(text)).replace("\\\n", " ")
    return INLINE.findall(FENCED.sub("", text)), blocks.splitlines()


def unknown_in(line):
    """Return the commands and options of ours that a line names and that are not there."""
    found = []
    for call in re.findall(r"(?:^|\$ |[/(]|&& )fedmgda ((?:(?!&&|[|;#]).)*)", line):
        command, words = COMMANDS, call.split()
        while words and words[0] in getattr(command, "commands", ()):
            command = command.commands[words.pop(0)]
        if words and words[0].isalpha() and words[0].islower() and hasattr(command, "commands"):
            found.append(words[0])
        options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
        found += [option for option in options if option not in options_of(command)]
    return found


def options_of(command):
    """Return the options of a command and of those below it."""
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    below = [options_of(one) for one in getattr(command, "commands", {}).values()]
    return known.union({"--help"}, *below)


@pytest.mark.parametrize("path", documents(), ids=by_name)
def test_every_command_option_key_and_code_that_is_named_is_there(path):
    inline, lines = code_of(path)
    assert [(line, unknown_in(line)) for line in (*inline, *lines) if unknown_in(line)] == []
    options = {one.split()[0].partition("=")[0] for one in inline if one.startswith("--")}
    assert sorted(options - options_of(COMMANDS)) == []
    keys = {found[1] for one in inline if (found := KEY.match(one))}
    ours = {key for key in keys if key.partition(".")[0] in TABLES and not key.endswith(FILES)}
    ours |= {key for line in lines for key in re.findall(r"-c '?([a-z_.]+)=", line)}
    assert sorted(ours - spec_keys().keys() - TABLES) == []
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    numbers = {int(number) for found in CODE.findall(text) for number in found if number}
    assert numbers <= set(EXIT_CODES)


@pytest.mark.parametrize("path", documents(), ids=by_name)
def test_every_public_name_that_is_named_is_there(path):
    inline, lines = code_of(path)
    names = re.findall(r"\bfedmgda((?:\.\w+)+)", "\n".join((*inline, *lines)))
    for name in names:
        if not name.startswith(".flower"):  # an extra, imported by itself
            operator.attrgetter(name[1:])(fedmgda)


PAGES = [*ROOT.glob("docs/rules/*.md"), *ROOT.glob("docs/explanation/*.md")]


def test_a_primary_number_stands_with_the_interval_that_is_published():
    with (ROOT / "results" / "primary" / "primary.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["verdict"] == "holds"]
    quoted = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for mean, low, high in [numbers_of(row) for row in rows]:
            for after in re.findall(rf"(?<![\d.]){re.escape(mean)}(?!\d)(.{{0,60}})", text):
                quoted += 1
                assert re.findall(r"-?\d+\.\d+", after)[:2] == [low, high], f"{page}: {mean}{after}"
    assert quoted >= len(rows), "each is quoted"


def numbers_of(row):
    return [f"{float(row[name]):.2f}" for name in ("mean", "low", "high")]


def test_the_page_to_install_from_lists_the_parts_there_are():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(extras)


def test_what_is_not_there_is_found():
    assert unknown_in("fedmgda run spec.toml --sedes 3 -c a.b=1") == ["--sedes"]
    assert unknown_in(".venv/bin/fedmgda prdict RUN") == ["prdict"]
    assert unknown_in("fedmgda flower run x --nodes 2 && ls --all") == []
