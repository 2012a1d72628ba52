"""Figures from what is published: the same as from the runs, and those that are committed."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fedmgda._errors import StoreError
from fedmgda.paper import (
    STUDIES,
    Setting,
    _figures,
    _published_study,
    draw_published,
    export_study,
    load_study,
    write_report,
)
from tiny import run_tiny

RESULTS = Path(__file__).parents[3] / "results"
PUBLISHED = sorted(path.parent for path in RESULTS.rglob("setting.json"))
SETTING = Setting(seeds=2)
FIGURES = ("accuracy", "loss", "improved", "violins", "dots")


@pytest.fixture(scope="module")
def study():
    """Two rules with and without an attack on the digits, and every kind of figure."""
    attacks = [
        {"label": "honest", "name": "scale-loss", "factor": 1.0, "clients": [0]},
        {"label": "c = 5", "name": "scale-loss", "factor": 5.0, "clients": [0]},
    ]
    variants = [
        {"label": "FedAvg", "rule": {"name": "fedavg"}},
        {"label": "FedMGDA+", "rule": {"name": "fedmgda+"}},
    ]
    sweep = {
        "rounds": 3,
        "data": {"name": "digits", "num_clients": 5},
        "clients": {"per_round": 3},
        "sweep": {"seeds": [1, 2], "grid": {"attack": attacks}, "variants": variants},
    }
    return replace(load_study("fmnist-attack"), sweep=sweep, figures=FIGURES)


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    run_tiny(study, SETTING, folder)
    return write_report(study, SETTING, folder)


@pytest.fixture
def published(study, report, tmp_path, monkeypatch):
    monkeypatch.setattr(_published_study, "load_study", lambda _: study)
    monkeypatch.setattr(_published_study, "study_of", lambda *_: study)
    export_study(study, SETTING, report, tmp_path / "kept")
    return tmp_path / "kept"


@pytest.fixture
def shown(monkeypatch):
    """Keep what would be drawn, by the name of the file, instead of drawing it."""
    found = {}

    def keep(parts, path, **options):
        found[path.name] = (parts, options)
        return path.parent / f"{path.name}.png", path.parent / f"{path.name}.pdf"

    for name in ("draw_curves", "draw_violins", "draw_dots"):
        monkeypatch.setattr(_figures, name, keep)
    return found


def test_what_is_published_gives_the_figures_of_the_runs_to_the_byte(report, published, tmp_path):
    drawn = draw_published(published, tmp_path / "again")
    names = {f"fmnist-attack-{kind}" for kind in ("curves", "violins", "dots")}
    assert {file.stem for file in drawn} == names
    for file in report.files:
        if file.suffix in {".png", ".pdf"}:
            assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


def test_drawing_again_changes_nothing_but_figures(published):
    before = {path: path.read_bytes() for path in published.rglob("*") if path.is_file()}
    draw_published(published)
    after = {path: path.read_bytes() for path in published.rglob("*") if path.is_file()}
    assert after == before


def test_a_row_of_one_seed_has_no_interval_and_the_title_says_how_many_there_are(
    study, report, published, shown
):
    table = published / "fmnist-attack.csv"
    table.write_text(table.read_text().replace('"FedAvg, c = 5",honest_average,2', '"FedAvg, c = 5",honest_average,1'))  # fmt: skip # noqa: E501
    draw_published(published)
    panels, options = shown["fmnist-attack-dots"]
    stds = {(panel.title, dot.label): dot.std for panel in panels for dot in panel.dots}
    assert [row for row, std in stds.items() if std is None] == [("c = 5", "FedAvg")]
    assert options["title"].replace("\N{NO-BREAK SPACE}", " ") == f"{study.title}; 1 to 2 seeds"


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(StoreError, match="holds no published study: no setting"):
        draw_published(tmp_path)


def test_a_broken_record_is_named(published):
    record = sorted(published.glob("runs/*"))[0]
    record.write_bytes(b"no xz")
    with pytest.raises(StoreError, match=r"runs/.*\.json\.xz is no record of a run"):
        draw_published(published)


def test_a_broken_setting_is_refused(published):
    (published / "setting.json").write_text(json.dumps({"seeds": [1]}))
    with pytest.raises(StoreError, match="holds no published study that can be read"):
        draw_published(published)


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda path: str(path.relative_to(RESULTS)))
def test_the_committed_figures_are_those_that_can_be_drawn_again(folder, shown):
    files = {path.name for path in draw_published(folder)}
    assert files == {path.name for path in folder.glob("*.p[nd][gf]")}


def test_unfinished_curves_fill_their_frame_and_say_what_was_planned(shown):
    draw_published(RESULTS / "cifar-user-1")
    (panel,), options = shown["cifar-user-1-curves"]
    last = max(curve.x[-1] for curve in panel.series if not curve.beside)
    assert {curve.x[-1] for curve in panel.series if curve.beside} == {last}
    assert panel.x_label.startswith(f"round (the first {last:.0f} of 2000 planned")
    assert [c.label.endswith("published after 2000 rounds") for c in panel.series if c.beside]
    assert "one\N{NO-BREAK SPACE}seed" in options["title"]
    assert "bands" not in options["title"]


def test_a_title_says_whose_word_was_followed_where_the_paper_has_numbers(shown):
    titles = []
    for name in ("adult-bias-paper", "adult-bias-released-code"):
        draw_published(RESULTS / name)
        titles.append(shown["adult-bias-dots"][1]["title"])
    assert "by the paper's text" in titles[0]
    assert "by the released code" in titles[1]


def test_curves_of_a_published_study_end_where_its_table_does(shown):
    folder = RESULTS / "fmnist-exact"
    draw_published(folder)
    panels, _ = shown["fmnist-exact-curves"]
    with (folder / "fmnist-exact.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "improved_final"]
    ends = {curve.label: curve.mean[-1] for curve in panels[0].series}
    assert ends == pytest.approx({row["row"]: float(row["mean"]) for row in rows}, abs=1e-3)


def test_titles_say_what_is_shown():
    assert [name for name in STUDIES if load_study(name).title.startswith("Own")] == []
    for folder in PUBLISHED:
        study = _published_study.study_in(folder)
        page = (folder / f"{study.name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {study.title}\n")


def test_a_study_is_found_by_its_table(tmp_path):
    for name in ("setting.json", "adult-bias.csv"):
        shutil.copy(RESULTS / "adult-bias-paper" / name, tmp_path / name)
    assert _published_study.study_in(tmp_path).name == "adult-bias"
