import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

_PATH = Path(__file__).parents[3] / "scripts" / "write_verdicts.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("write_verdicts", _PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path, name, mean):
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(len(name))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("comparison", "seed", "value"))
        writer.writerows((name, seed, mean + rng.normal()) for seed in range(6, 16))


def test_studies_are_decided_together(script, tmp_path, monkeypatch, capsys):
    write(tmp_path / "a" / "a-primary.csv", "P1", 9.0)
    write(tmp_path / "b" / "b-primary.csv", "P7", -9.0)
    monkeypatch.setattr("sys.argv", ["write_verdicts.py", str(tmp_path)])
    script.main()
    page = capsys.readouterr().out
    assert page == (tmp_path / "primary" / "primary.md").read_text()
    words = [line.split(" | ")[-1].strip(" |") for line in page.splitlines() if line[:3] == "| P"]
    unknown = ["no result yet"] * 5
    assert words == ["holds", *unknown, "refuted", "no result yet"]
    text = (tmp_path / "primary" / "primary.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["comparison"], row["verdict"]) for row in rows] == [
        ("P1", "holds"), ("P7", "refuted"),
    ]  # fmt: skip


def test_two_studies_that_differ_on_one_comparison_are_refused(script, tmp_path):
    write(tmp_path / "a" / "a-primary.csv", "P1", 9.0)
    write(tmp_path / "b" / "b-primary.csv", "P1", 8.0)
    with pytest.raises(SystemExit, match="P1 stands elsewhere too, and differs"):
        script.read_samples(tmp_path)
