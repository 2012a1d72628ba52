"""The table of keys in docs/runs.md, and the chart of layers, are what the code says."""

import re
import tomllib
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

from fedmgda.attacks import ATTACKS
from fedmgda.experiments import Spec
from fedmgda.experiments._protection import ProtectionSummary
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.federation import Protected
from fedmgda.models import MODELS
from fedmgda.rules import PRESETS

ROOT = Path(__file__).parents[3]


def keys_of(kind, where=""):
    """Yield every key of a spec with its default."""
    hints = get_type_hints(kind)
    for f in fields(kind):
        if is_dataclass(hints[f.name]):
            yield from keys_of(hints[f.name], f"{where}{f.name}.")
        else:
            yield f"{where}{f.name}", f.default


def documented():
    """Return for every key of the table its default and its meaning."""
    text = (ROOT / "docs" / "runs.md").read_text()
    table = text[text.index("| key | default |") : text.index("\n\nPaths are relative")]
    rows = {}
    for line in table.splitlines()[2:]:
        key, default, meaning = (cell.strip() for cell in line.strip("|").split("|", 2))
        names = re.findall(r"`([\w.]+)`", key)
        defaults = default.split(", ") if len(names) > 1 and ", " in default else [default]
        for name, value in zip(names, defaults * len(names), strict=False):
            rows[name] = (value, meaning)
    return rows


def test_every_key_is_documented_and_no_other():
    assert set(documented()) == {key for key, _ in keys_of(Spec)}


@pytest.mark.parametrize(("key", "default"), list(keys_of(Spec)))
def test_a_default_that_is_a_value_is_the_documented_one(key, default):
    if default is None or default is MISSING:
        return  # what the rule, the data or compat says
    shown = documented()[key][0].strip("`")
    assert shown == (f'"{default}"' if isinstance(default, str) else str(default).lower())


@pytest.mark.parametrize(
    ("key", "names"), [("rule.name", PRESETS), ("attack.name", ATTACKS), ("model.name", MODELS)]
)
def test_every_name_is_in_the_row_of_its_key(key, names):
    meaning = documented()[key][1].replace('"', "`")
    assert [name for name in names if f"`{name}`" not in meaning] == []


def test_every_rule_is_in_the_table_of_algorithms():
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| `([\w+-]+)` \|", readme, re.MULTILINE)
    assert rows == list(PRESETS)


def test_the_chart_of_layers_is_the_one_that_is_proved():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    chart = re.search(r"```\n(cli\n.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    shown = [set(line.split(" | ")) for line in chart[1].splitlines()]
    assert shown == [set(layer.split(" | ")) for layer in contract["contracts"][0]["layers"]]


def rows_of(page, header):
    """Return the first cells of a table of a page, as names, and its second cells."""
    text = (ROOT / "docs" / page).read_text()
    assert text.count(header) == 1
    table = text.partition(header)[2].partition("\n\n")[0]
    lines = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [(re.findall(r"`([\w-]+)`", first), second.strip()) for first, second, *_ in lines]


def test_the_keys_of_protection_are_those_of_its_page():
    listed = {names[0]: value for names, value in rows_of("protection.md", "| key of `[server")}
    assert listed == {f.name: f"{f.default:g}" for f in fields(ProtectSpec)}


def test_the_summary_of_protection_is_that_of_its_page():
    listed = [name for names, _ in rows_of("protection.md", "| key | meaning |") for name in names]
    assert sorted(listed) == sorted(f.name for f in fields(ProtectionSummary))


def test_the_reasons_of_held_rounds_are_those_of_their_page():
    listed = [name for names, _ in rows_of("protection.md", "| `reason` |") for name in names]
    reasons = next(f.type for f in fields(Protected) if f.name == "reason")
    assert set(listed) == set(re.findall(r"'(\w+)'", reasons))
