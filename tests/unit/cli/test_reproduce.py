"""What `fedmgda reproduce` refuses before it runs anything."""

import pytest

from fedmgda._errors import SpecError, StoreError
from fedmgda.cli import _reproduce
from fedmgda.cli._reproduce import reproduce
from fedmgda.paper import plan_study
from tiny import run_tiny, short, tiny_study

OPTIONS = {
    "--seeds": {"seeds": "1"}, "--rounds": {"rounds": 3}, "--compat": {"compat": "paper"},
    "--row": {"rows": ["FedAvg"]}, "--config": {"config": ["seed=1"]}, "--jobs": {"jobs": 1},
    "--report": {"report": True}, "--measure": {"measure": True},
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_a_folder_where_nothing_runs(tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("something was run")

    monkeypatch.chdir(tmp_path)
    for name in ("_theory", "Collection", "print_list"):
        monkeypatch.setattr(_reproduce, name, never)


@pytest.mark.parametrize("option", OPTIONS)
def test_the_theory_takes_no_option_of_training(option):
    with pytest.raises(SpecError, match=f"^{option} .*does not apply to 'theory'; leave it out"):
        reproduce("theory", **OPTIONS[option])


@pytest.mark.parametrize("option", sorted(OPTIONS.keys() - {"--compat", "--measure"}))
def test_the_list_takes_no_option_of_a_study(option):
    with pytest.raises(SpecError, match=f"^{option} does not apply to 'list'; leave it out"):
        reproduce("list", **OPTIONS[option])


def test_folders_mean_nothing_to_the_list(tmp_path):
    for option in ("folder", "publish"):
        with pytest.raises(SpecError, match="does not apply to 'list'"):
            reproduce("list", **{option: tmp_path})


def test_only_the_list_measures():
    with pytest.raises(SpecError, match="--measure goes with list only"):
        reproduce("fig2-adult", measure=True)


@pytest.mark.parametrize("name", ["theory", "fig2-adult"])
@pytest.mark.parametrize(("argument", "option"), [("folder", "--out"), ("publish", "--publish")])
@pytest.mark.parametrize("below", ["", "deep/down"])
def test_a_file_in_the_place_of_a_folder_is_refused_first(name, argument, option, below, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(StoreError, match=f"taken is a file, not a folder; .* for {option}"):
        reproduce(name, **{argument: tmp_path / "taken" / below})


def test_a_place_that_cannot_be_looked_at_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(StoreError, match="cannot be read: File name too long"):
        reproduce("theory", folder=tmp_path / ("x" * 300))


def test_the_theory_is_written_wherever_it_was_asked_for(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(_reproduce, "_theory", asked.extend)
    reproduce("theory", folder=tmp_path / "a", publish=tmp_path / "b")
    assert asked == [tmp_path / "a", tmp_path / "b"]
    asked.clear()
    reproduce("theory")
    assert [path.name for path in asked] == ["theory-paper"]


@pytest.mark.parametrize(("rounds", "noted"), [(3, True), (None, False)])
def test_a_decay_that_changes_nothing_is_noted_once(rounds, noted, tmp_path, monkeypatch, capsys):
    for name in ("_show", "write_report"):
        monkeypatch.setattr(_reproduce, name, lambda *_: None)
    reproduce("adult-bias", rounds=rounds, folder=tmp_path / "out", report=True)
    said = capsys.readouterr().err
    assert said.count("changes nothing in 3 rounds") == (
        len(set(said.splitlines())) if noted else 0
    )
    assert ("Note: server.decay" in said) == noted


def test_an_unfinished_report_names_the_command_that_goes_on(tmp_path, monkeypatch, capsys):
    study = tiny_study("adult-bias")
    monkeypatch.setattr(_reproduce, "load_study", lambda _: study)
    runs = plan_study(study, short(seeds=2))
    rows = (runs[0].cell["variant"],)
    run_tiny(study, short(seeds=1, rows=rows), tmp_path / "out")
    reproduce(study.name, seeds="2", rounds=3, folder=tmp_path / "out", rows=[*rows], report=True)
    said = capsys.readouterr().err
    assert f"go on with: fedmgda reproduce adult-bias --rounds 3 --seeds 2 -r '{rows[0]}'" in said
    assert f"--out {tmp_path / 'out'}" in said
    reproduce(study.name, seeds="1", rounds=3, folder=tmp_path / "out", rows=[*rows], report=True)
    assert "go on with" not in capsys.readouterr().err
