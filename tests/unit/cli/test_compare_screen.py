"""A comparison on a screen: every number in its column, every name told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fedmgda.cli._compare_screen import show_comparison
from fedmgda.experiments import compare_runs, open_run, to_json
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
    text = " ".join(shown(capsys, made))
    assert "protected, protected: 100 % improved, 0 % of rounds held, 0 % overriding" in text
    assert b"protection" not in to_json(made.runs[1]).encode()


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
