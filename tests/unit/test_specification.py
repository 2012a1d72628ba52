"""docs/specification.md against what refers to it, and its tables against the code."""

import csv
import json
import re
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

import pytest

from fedmgda.experiments import Spec, parse, resolve
from fedmgda.federation import Protection
from fedmgda.federation._protect import NO_SLOPE, STATIONARY, WIDEST_MARGIN
from fedmgda.paper._metrics import METRICS
from fedmgda.paper._verdict import tolerance
from fedmgda.rules import PRESETS
from fedmgda.rules._qfedavg import _GUARD
from fedmgda.rules._rows import FLOOR

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "specification.md"

NUMBER = r"(?:P\d+|\d+(?:\.\d+)*)"
# "SPEC 1.8", "SPEC 1.4 and 1.5", "SPEC 9.2, 9.3 and P8", "SPEC P7 to P9", also across a line.
JOIN = r"(?:\s*[,–-]\s*|,?\s+(?:and|or|to)\s+)"
REFERENCE = re.compile(rf"\bSPEC\s+({NUMBER}(?:{JOIN}{NUMBER})*)")
RANGE = re.compile(rf"({NUMBER})(?:\s*[–-]\s*|\s+to\s+)({NUMBER})")
TEXTS = {".py", ".md", ".toml"}
SECTION = re.compile(rf"^#+ ({NUMBER}) \S", re.MULTILINE)
DECISION = re.compile(rf"^\| ({NUMBER}) \| \S", re.MULTILINE)

DATA = ("digits", "mnist", "fashion-mnist", "cifar10", "adult", "shakespeare", "femnist",
        "writers", "synthetic", "quadratics", "table")  # fmt: skip


def references_in(text):
    """Return the numbers a text refers to; of a range, those between its ends too."""
    found = set()
    for listed in REFERENCE.findall(text):
        found |= set(re.findall(NUMBER, listed))
        for first, last in RANGE.findall(listed):
            stem, low = re.fullmatch(r"(P|.*\.|)(\d+)", first).groups()
            same, high = re.fullmatch(r"(P|.*\.|)(\d+)", last).groups()
            assert stem == same, f"{listed} is a range between different kinds of sections"
            found |= {f"{stem}{number}" for number in range(int(low), int(high) + 1)}
    return found


def referring_files():
    folders = [ROOT / name for name in ("src", "tests", "examples", "benchmarks", "docs")]
    pages = [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXTS]
    pages += [path for path in (ROOT / "results").rglob("*") if path.suffix in {".md", ".toml"}]
    pages += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return [path for path in pages if path != Path(__file__)]


def places(text):
    """Return what a page can be referred to by: headings, and rows of the table of decisions."""
    decisions = text.partition("| no. | question | decision |")[2].partition("\n\n")[0]
    return {*SECTION.findall(text), *DECISION.findall(decisions)}


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def rows_below(page, header):
    """Return the cells of a table of the page, without the marks of code."""
    assert page.count(header + "\n") == 1
    lines = page.partition(header + "\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip().replace("`", "") for cell in line.split("|")[1:-1]] for line in lines]


def test_lists_and_ranges_of_sections_are_read():
    text = "SPEC 1.4 and 1.5; SPEC 0.3, (SPEC 9.2, 9.3\nand 3.5)"
    text += " SPEC P7 to P9. SPEC 9.17-9.19, SPEC 4."
    assert references_in(text) == {
        "1.4", "1.5", "0.3", "9.2", "9.3", "3.5", "P7", "P8", "P9", "9.17", "9.18", "9.19", "4",
    }  # fmt: skip
    assert references_in('SPEC = """ RUN|SPEC.TOML') == set()


def test_every_reference_leads_to_a_section_or_a_decision(page):
    found = {
        (path.relative_to(ROOT).as_posix(), number)
        for path in referring_files()
        for number in references_in(path.read_text(encoding="utf-8", errors="replace"))
    }
    lost = sorted(reference for reference in found if reference[1] not in places(page))
    assert lost == []
    assert len(found) >= 20
    assert {path.split("/")[0] for path, _ in found} >= {"src", "tests", "docs", "results"}


def test_the_sections_the_page_itself_names_are_there(page):
    seen = re.findall(rf"\bSee ({NUMBER}(?:{JOIN}{NUMBER})*)", page)
    numbers = {number for listed in seen for number in re.findall(NUMBER, listed)}
    numbers |= set(re.findall(r"\b(9\.\d+|P\d+)\b", page))
    assert len(numbers) >= 20
    assert numbers <= places(page)


def test_no_number_is_given_twice_and_none_is_left_out(page):
    headings = SECTION.findall(page)
    assert len(headings) == len(set(headings))
    for stem, last in (("", 9), ("0.", 10), ("1.", 10), ("3.", 6), ("P", 15), ("9.", 35)):
        first = 0 if stem in {"", "1."} else 1
        assert {f"{stem}{number}" for number in range(first, last + 1)} <= places(page)


def test_the_tests_that_the_properties_name_exist(page):
    named = re.findall(r"`(tests/[\w/]+\.py)`", page)
    assert len(named) >= 15
    assert [path for path in named if not (ROOT / path).is_file()] == []


def resolved(**table):
    if table.get("data", {}).get("name") == "table":
        table["data"] |= {"path": "mine.csv", "target": "y"}
    spec = asdict(resolve(parse(Spec, table)))
    return {
        f"{section}.{key}": list(value) if isinstance(value, tuple) else value
        for section, keys in spec.items()
        if isinstance(keys, dict)
        for key, value in keys.items()
    }


def names_in(cell):
    return [] if cell == "all" else cell.split(", ")


def test_compat_changes_what_the_page_says_and_nothing_else(page):
    header = '| no. | key | for | `"paper"` | `"released-code"` |'
    table = [
        (key, names_in(where), json.loads(paper), json.loads(released))
        for _, key, where, paper, released in rows_below(page, header)
    ]
    for data in DATA:
        for rule in PRESETS:
            setting = {"data": {"name": data}, "rule": {"name": rule}}
            paper, released = (
                resolved(**setting, compat=compat) for compat in ("paper", "released-code")
            )
            changed = {
                key: (paper[key], released[key]) for key in paper if paper[key] != released[key]
            }
            assert changed == {
                key: (before, after)
                for key, where, before, after in table
                if not where or {data, rule} & set(where)
            }


def test_the_defaults_are_those_of_the_page(page):
    rows = rows_below(page, "| no. | key | of | default |")
    assert len(rows) == 15
    for _, key, where, default in rows:
        for name in names_in(where) or [None]:
            section = "rule" if name in PRESETS else "attack"
            spec = resolved(**{section: {"name": name}} if name else {})
            assert spec[key] == json.loads(default), (key, name)


def test_a_key_is_listed_for_all_rules_that_have_it(page):
    rows = rows_below(page, "| no. | key | of | default |")
    for _, key, where, _ in rows:
        section, _, option = key.partition(".")
        if section == "rule":
            assert set(names_in(where)) == {n for n, p in PRESETS.items() if option in p.options}


def test_decisions_that_other_tables_explain_exist(page):
    for header in (
        '| no. | key | for | `"paper"` | `"released-code"` |',
        "| no. | key | of | default |",
    ):
        assert {row[0] for row in rows_below(page, header)} <= places(page)


def test_the_models_have_the_parameters_of_the_page(page):
    models = pytest.importorskip("fedmgda.models")
    build = {
        "cifar-cnn": models.cifar_cnn,
        "fmnist-cnn": models.fmnist_cnn,
        "femnist-cnn": models.femnist_cnn,
        "logistic": lambda: models.linear(99, 2),
        "char-lstm": models.char_lstm,
    }
    table = rows_below(page, "| `model.name` | data | layers | parameters |")
    counts = {name: int(count.replace(",", "")) for name, _, _, count in table}
    assert counts == {
        name: sum(param.numel() for param in make().parameters()) for name, make in build.items()
    }


def test_the_metrics_are_those_of_the_page(page):
    table = rows_below(page, "| name | of one run |")
    assert sorted(name for row in table for name in names_in(row[0])) == sorted(METRICS)


def test_the_published_tables_are_those_of_the_page(page):
    folder = files("fedmgda.paper") / "published"
    listed = rows_below(page, "| file | rows | users a round | b | η | T | runs |")
    assert {row[0] for row in listed} == {path.name for path in folder.iterdir()}
    for name, count, *setting in listed:
        rows = list(csv.DictReader((folder / name).read_text(encoding="utf-8").splitlines()))
        assert len(rows) == int(count)
        for row in rows:
            columns = ("clients_per_round", "b", "eta_local", "rounds", "runs")
            assert [row[column] or "by row" for column in columns] == setting


def test_the_constants_of_protection_are_those_of_the_page(page):
    defaults = Protection()
    shortest = f"2^-{defaults.trials - 1}"
    assert {row[2]: row[1] for row in rows_below(page, "| constant | value | key or name |")} == {
        "NO_SLOPE": f"‖∇f_i‖ <= {NO_SLOPE:g}",
        "STATIONARY": f"ω <= {STATIONARY:g}".replace("e-0", "e-"),
        "WIDEST_MARGIN": f"{WIDEST_MARGIN:g}",
        "server.protect.margin": f"{defaults.margin:g}",
        "server.protect.trials": f"{defaults.trials}, down to {shortest}",
        "server.protect.allow": f"{defaults.allow}",
        "server.protect.patience": f"{defaults.patience}",
    }
    assert f"min(κ ω, {WIDEST_MARGIN:g}) ‖z‖" in page


def test_the_constants_are_those_of_the_page(page):
    assert f"‖g_i‖ <= {FLOOR:g}" in page
    assert f"{_GUARD:g} is added to every F" in page
    assert f"{tolerance('average')} points for accuracies" in page
    std, worst, best = (tolerance(metric) for metric in ("std", "worst5", "best5"))
    assert f"{std} for `std`, {worst} for `worst5` and {best} for `best5`" in page
