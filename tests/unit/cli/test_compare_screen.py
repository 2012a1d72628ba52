"""A comparison on a screen: every number in its column, every name told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fedmgda.cli._compare_screen import _short_names, show_comparison
from fedmgda.experiments import compare_runs, open_run, to_json
from fedmgda.experiments._comparison import ProtectedRounds
from runs import finished_run


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Return a comparison of two folders of runs."""
    folder = tmp_path_factory.mktemp("runs")
    paths = [folder / name for name in ("bal", "flights")]
    for path in paths:
        for name in ("fedavg", "fedmgda+"):
            finished_run(path / name, rule={"name": name})
        finished_run(path / "alone", baseline="alone")
    return compare_runs(paths, metric="log_loss", draws=64)


def shown(capsys, found, **options):
    show_comparison(found, "fedmgda compare runs", **options)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(lines)
    return lines


def test_names_are_told_apart_and_the_losers_are_there(found, capsys):
    """Four lines began with the same `against runs/flight…`, and the list was a blank line."""
    lines = shown(capsys, found, scorer=Path("runs/a b"), named=True)
    for run in found.runs:
        assert any(line.split()[0] == run.name for line in lines[2:])
    assert "fedmgda compare runs --metric log_loss --csv FILE" in " ".join(lines)
    assert "Use it: fedmgda predict 'runs/a b' new.csv -o scored.csv" in lines
    assert " ".join(lines).endswith(found.conclusion)


def test_what_protection_made_of_a_run_is_told_beside_it_alone(tmp_path, capsys):
    finished_run(tmp_path / "plain")
    finished_run(tmp_path / "protected", server={"protect": True})
    made = compare_runs([tmp_path / "protected", tmp_path / "plain"], draws=64)
    summary = open_run(tmp_path / "protected").summary
    assert [run.protection is None for run in made.runs] == [False, True, True]
    assert made.runs[0].protection.held == summary.protection.share_held
    assert made.runs[0].protection.improved == summary.improved
    assert made.runs[1].improved == open_run(tmp_path / "plain").summary.improved
    text = " ".join(shown(capsys, made))
    assert (
        "Participants that a step left with no higher training loss: protected 100 % (protected, "
        f"0 % of rounds held), plain {made.runs[1].improved:.3g} %." in text
    )
    assert "protection" not in to_json(made.runs[1])
    assert "improved" not in to_json(compare_runs([tmp_path / "plain"], draws=64))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"improved_with_step": 99.96, "held": 99.99}, "99.9 % (protected, 99.9 % of"),
        ({"improved_with_step": None}, "not measured (protected, 0 % of"),
        (
            {"improved_with_step": None, "with_step": 0.0, "held": 100.0},
            "no step (protected, 100 %",
        ),
    ],
)
def test_nearly_all_is_not_all_and_nothing_is_no_share(found, capsys, changes, told):
    made = ProtectedRounds(with_step=100.0, held=0.0, overridden=0.0)
    first = replace(found.runs[0], protection=replace(made, **changes))
    assert told in " ".join(shown(capsys, replace(found, runs=(first, *found.runs[1:]))))


def test_who_attacks_is_no_client_that_has_no_accuracy(tmp_path, capsys):
    attack = {"name": "scale-update", "clients": [2]}
    for name in ("fedavg", "fedmgda+"):
        finished_run(tmp_path / name, rule={"name": name}, attack=attack)
    text = " ".join(shown(capsys, compare_runs([tmp_path], draws=64)))
    assert "by accuracy: 3 clients, " in text
    assert "1 more client is not compared, having no test row or attacking." in text
    assert "not defined" not in text


def test_runs_of_a_sweep_are_told_apart_by_what_was_swept(found, capsys):
    """Two rules, with and without protection, were twice `…er.protect=False`."""
    names = [f"a-rule-{n}_protect={on}" for n in "ab" for on in ("False", "True")]
    runs = [replace(found.runs[0], name=name) for name in names]
    against = [replace(found.against[0], name=name) for name in names[1:]]
    some = replace(found, runs=tuple(runs), against=tuple(against))
    lines = shown(capsys, some)
    begin = next(place for place, line in enumerate(lines) if " all rows " in line) + 1
    told = [line.split()[0] for line in lines[begin : begin + 4]]
    assert told == [
        "a-rule-a_False", "a-rule-a_True", "a-rule-b_False", "a-rule-b_True",
    ]  # fmt: skip


@given(
    st.lists(
        st.text("ab=._", min_size=1, max_size=30).map(lambda end: f"rule.name={end}"),
        min_size=1, max_size=9, unique=True,
    ),
    st.integers(6, 20),
)  # fmt: skip
def test_short_names_fit_and_no_two_are_alike(names, room):
    short = _short_names(names, room)
    assert len(set(short)) == len(names)
    assert all(0 < len(name) <= room for name in short)


def with_losers(found, gains):
    """Return the comparison with `alone` in which the clients gain so much."""
    other = next(one for one in found.against if one.name.endswith("/alone"))
    clients = tuple(
        replace(client, gain=gain) for client, gain in zip(other.clients, gains, strict=True)
    )
    name = "a-rather-long-folder-for-a-name/alone"
    runs = [run for run in found.runs if run.name in {found.runs[0].name, other.name}]
    return replace(
        found,
        runs=(runs[0], replace(runs[1], name=name)),
        against=(replace(other, name=name, clients=clients, better=17, worse=3),),
    )


@pytest.mark.parametrize(
    ("gains", "heading"),
    [
        ([0.0] * 4, "Nobody loses against "),
        ([0.0, -1.0, 0.0, 0.0], "The one that loses against "),
        ([0.0, -1.0, 0.0, -1.0], "The 2 that lose against "),
    ],
)
def test_the_heading_counts(found, capsys, gains, heading):
    lines = shown(capsys, with_losers(found, gains))
    assert any(line.startswith(heading) for line in lines)


def test_how_many_are_better_is_told(found, capsys):
    lines = shown(capsys, with_losers(found, [0.0] * 4))
    heads, line = lines[1].split(), lines[3]
    assert heads.index("better") < heads.index("worse")
    assert " 17 " in line
    assert "/alone " in line


def test_one_client_is_one_client(found, capsys):
    some = with_losers(found, [0.0] * 4)
    lines = shown(capsys, replace(some, clients=("me",), rows=(20,)))
    assert ": 1 client, 20 test rows" in lines[0]


def test_whatever_is_compared_fits_a_screen(found, capsys):
    """Two folders of runs, or a remark too many, scrolled the title away."""
    first, other = found.runs[0], with_losers(found, [-1.0] * 4)
    for extra in (0, 3, 8, 30):
        for seeds in (1, 3, 40):
            against = replace(
                other.against[0], seeds=tuple(range(seeds)), losing_by_seed=(17,) * seeds
            )
            more = [replace(first, name=f"folder/run-{number}") for number in range(extra)]
            shows = replace(
                other,
                runs=(*other.runs, *more),
                against=(against, *(replace(against, name=run.name) for run in more)),
                rows=(9,) * 4,
                positive="a rather long name of a class that is rare",
                positives=3,
            )
            lines = shown(capsys, shows, scorer=Path("runs") / ("a" * 70), named=True)
            assert len(lines) <= 24
            assert lines[0].startswith(first.name)
            assert " ".join(lines).endswith(found.conclusion)
            assert any(line.startswith("a-rather-long-folder") or "/alone" in line
                       for line in lines[2:8])  # fmt: skip
            if extra == 30:
                assert any(" more runs: fedmgda compare runs --json" in line for line in lines)
