"""Every key of a spec has a meaning, and tables in documents are what the code says."""

import re
import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from fedmgda.attacks import ATTACKS
from fedmgda.experiments import Spec, spec_keys
from fedmgda.experiments._protection import ProtectionSummary
from fedmgda.experiments._spec import ClientsSpec, ProtectSpec
from fedmgda.federation import Protected
from fedmgda.metrics import METRICS
from fedmgda.models import MODELS
from fedmgda.rules import PRESETS

ROOT = Path(__file__).parents[3]


def keys_of(kind, where=""):
    """Yield every key of a spec, whatever says what it means."""
    hints = get_type_hints(kind)
    for f in fields(kind):
        inner = [hint for hint in (hints[f.name], *get_args(hints[f.name])) if is_dataclass(hint)]
        tables = [hint for hint in inner if hint.__module__.startswith("fedmgda.experiments")]
        if hints[f.name] not in tables:
            yield f"{where}{f.name}"
        for table in tables:
            yield from keys_of(table, f"{where}{f.name}.")


def test_every_key_says_what_it_means():
    assert set(keys_of(Spec)) == set(spec_keys())
    for key in spec_keys().values():
        assert key.kind
        assert key.default
        assert key.meaning.endswith((".", "..."))
        assert key.meaning.count("`") % 2 == 0


CLIENTS = {f.name for f in fields(ClientsSpec)}  # of which q-FedAvg reads two


@pytest.mark.parametrize("name", PRESETS)
def test_the_default_of_an_option_is_that_of_its_rule(name):
    for option, default in PRESETS[name].options.items():
        if default == () or option in CLIENTS:
            continue  # no constraints, which is said as none; and keys of the clients
        shown = spec_keys()[f"rule.{option}"].default.strip("`")
        assert shown == (f'"{default}"' if isinstance(default, str) else str(default).lower())


def test_the_default_of_a_value_is_that_value():
    keys = spec_keys()
    for table in (Spec, *(type(getattr(Spec(), f.name)) for f in fields(Spec))):
        where = table.__name__.removesuffix("Spec").lower()
        for f in fields(table) if is_dataclass(table) else ():
            path = f"{where}.{f.name}" if where else f.name
            if path in keys and f.default is not None:
                assert tomllib.loads(f"x = {keys[path].default}") == {"x": f.default}


@pytest.mark.parametrize(
    ("key", "names"),
    [("rule.name", PRESETS), ("attack.name", ATTACKS), ("model.name", MODELS)],
)
def test_every_name_is_among_those_of_its_key(key, names):
    assert set(names) <= set(spec_keys()[key].names)
    assert all(repr(name) in spec_keys()[key].kind for name in names)


def test_pages_that_keys_name_exist_and_have_the_heading():
    for key in spec_keys().values():
        if key.see:
            page, _, anchor = key.see.partition("#")
            text = (ROOT / "docs" / page).read_text(encoding="utf-8")
            assert not anchor or anchor in anchors(text), key.path


def anchors(text):
    titles = re.findall(r"^#+\s+(.+?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_table_of_metrics_says_what_the_catalogue_says():
    text = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    table = text[text.index("| name | meaning | better |") :].split("\n\n")[0].splitlines()[2:]
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in table] == [
        [f"`{m.name}`", m.meaning, "larger" if m.larger_is_better else "smaller", m.undefined]
        for m in METRICS.values()
    ]


def test_every_rule_is_in_the_table_of_algorithms():
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| `([\w+-]+)` \|", readme, re.MULTILINE)
    assert rows == list(PRESETS)


def test_the_chart_of_layers_is_the_one_that_is_proved():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    chart = re.search(r"```text\n(cli\n.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
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
