"""`fedmgda demo`, cut down to two rounds."""

import io
import json

import pytest
from rich.console import Console

from fedmgda.cli import _demo
from fedmgda.experiments import demo_table

VARIANTS = ("FedAvg", "FedMGDA+")


@pytest.fixture
def printed(monkeypatch):
    """Two rules, one seed, two rounds; what the demo prints at 80 columns."""
    table = demo_table()
    table["rounds"] = 2
    table["sweep"]["seeds"] = [0]
    table["sweep"]["variants"] = [
        {"label": v["label"], "rule": v["rule"]}  # two rounds are too few for a decay
        for v in table["sweep"]["variants"]
        if v["label"] in VARIANTS
    ]
    monkeypatch.setattr(_demo, "demo_table", lambda: table)
    text = io.StringIO()
    monkeypatch.setattr(_demo, "out", Console(file=text, width=80, highlight=False))
    return text


def test_the_demo_shows_a_table_what_it_means_and_where_everything_is(printed, tmp_path):
    _demo.run_demo(tmp_path / "demo", 1, as_json=False)
    shown = printed.getvalue()
    for variant in VARIANTS:
        assert f"under {variant}" in " ".join(shown.split())
    assert (tmp_path / "demo" / "demo.png").read_bytes().startswith(b"\x89PNG")
    for name in ("summary.csv", "summary.md", "summary.json"):
        assert (tmp_path / "demo" / name).is_file()
    assert max(map(len, shown.splitlines()[: 2 * len(VARIANTS)])) <= 80


def test_the_demo_again_changes_nothing_and_gives_its_table_as_json(printed, tmp_path):
    _demo.run_demo(tmp_path / "demo", 1, as_json=True)
    first = printed.getvalue()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    printed.seek(0)
    printed.truncate()
    _demo.run_demo(tmp_path / "demo", 1, as_json=True)
    assert printed.getvalue() == first
    assert {(row["cell"]["variant"], row["cell"]["attack"]) for row in json.loads(first)} == {
        (variant, attack) for variant in VARIANTS for attack in ("no", "yes")
    }
    assert {path: path.read_bytes() for path in files} == files
