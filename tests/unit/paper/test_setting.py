import re
from pathlib import Path

import pytest

from fedmgda._errors import SpecError
from fedmgda.paper import (
    Setting,
    default_folder,
    load_study,
    parse_seeds,
    plan_study,
    run_command,
)
from fedmgda.paper._setting import seeds_of

STUDY = load_study("cifar-user-1")


@pytest.mark.parametrize(
    ("number", "seeds"),
    [(None, [1, 5000, 6000, 9000]), (1, [1]), (4, [1, 5000, 6000, 9000]),
     (6, [1, 5000, 6000, 9000, 9001, 9002])],
)  # fmt: skip
def test_more_seeds_keep_those_there_were(number, seeds):
    assert seeds_of(STUDY, Setting(seeds=number)) == seeds


def test_a_range_of_seeds_is_taken_as_it_stands_and_kept_apart():
    setting = Setting(seeds=parse_seeds("6-15"))
    assert seeds_of(STUDY, setting) == list(range(6, 16))
    folder = default_folder(STUDY, setting)
    assert folder.name == "cifar-user-1-paper-seeds6-15", "never pooled with the study's own seeds"
    assert run_command(STUDY, setting, folder) == "fedmgda reproduce cifar-user-1 --seeds 6-15"


@pytest.mark.parametrize("text", ["0", "-3", "9-8", "1-", "a", "1-2-3", "", "1,2", "9" * 30])
def test_what_is_no_number_and_no_range_of_seeds_is_refused(text):
    with pytest.raises(SpecError, match="--seeds must be a number of seeds, or a range"):
        parse_seeds(text)


def test_rounds_reach_every_run_and_with_them_the_horizon_of_the_decay():
    runs = plan_study(STUDY, Setting(rounds=7, seeds=1))
    assert {run.spec.rounds for run in runs} == {7}
    assert len({run.spec.server.decay for run in runs}) > 1


def test_each_setting_has_a_folder_of_its_own():
    settings = [
        Setting(), Setting(compat="released-code"), Setting(rounds=5),
        Setting(changes=("clients.client_lr=0.1",)), Setting(changes=("clients.client_lr=0.2",)),
    ]  # fmt: skip
    folders = {default_folder(STUDY, setting).name for setting in settings}
    assert len(folders) == len(settings)
    assert default_folder(STUDY, Setting()).as_posix() == "runs/reproduce/cifar-user-1-paper"


def test_fewer_seeds_and_the_studys_own_rounds_go_on_in_the_same_folder():
    whole = default_folder(STUDY, Setting())
    assert default_folder(STUDY, Setting(seeds=1, rounds=STUDY.rounds)) == whole


def test_changes_reach_the_spec():
    runs = plan_study(STUDY, Setting(seeds=1, changes=("clients.client_lr=0.5",)))
    assert {run.spec.clients.client_lr for run in runs} == {0.5}


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"rounds": -1}])
def test_numbers_below_one_are_refused(wrong):
    with pytest.raises(SpecError, match="must be at least 1, got"):
        Setting(**wrong)


def test_the_theory_trains_nothing():
    assert plan_study(load_study("theory"), Setting()) == []


def test_single_rows_are_the_same_runs_in_the_same_folder():
    setting = Setting(seeds=1, rows=("FedAvg", "FedMGDA+ (1.5, 1/10)"))
    chosen = plan_study(STUDY, setting)
    assert [run.cell["variant"] for run in chosen] == ["FedMGDA+ (1.5, 1/10)", "FedAvg"]
    assert all(run in plan_study(STUDY, Setting()) for run in chosen)
    assert default_folder(STUDY, setting) == default_folder(STUDY, Setting())


def test_values_of_a_grid_name_rows_too():
    runs = plan_study(load_study("fig1-fmnist"), Setting(seeds=1, rows=("iid",)))
    assert [run.cell["rule.epsilon"] for run in runs] == ["0.0", "0.05", "0.1", "0.5", "1.0"]


def test_rows_of_two_axes_are_asked_for_together():
    rows = ("FedAvg", "q-FedAvg", "c = 10")
    runs = plan_study(load_study("fmnist-attack"), Setting(seeds=1, rows=rows))
    assert [tuple(run.cell.values()) for run in runs] == [
        ("FedAvg", "c = 10"),
        ("q-FedAvg", "c = 10"),
    ]


def test_a_row_that_is_not_there_is_refused_with_the_nearest_that_are():
    with pytest.raises(
        SpecError, match=r"no row 'FedAvg-m'; the nearest are FedAvg; [^;]+; [^;]+$"
    ):
        plan_study(STUDY, Setting(rows=("FedAvg-m",)))


@pytest.mark.parametrize(
    ("change", "option"),
    [("seed=5", "--seeds"), ("rounds = 3", "--rounds"), ("compat=paper", "--compat"),
     ("sweep.seeds=[1]", "--seeds or --row")],
)  # fmt: skip
def test_what_has_an_option_of_its_own_is_not_a_change(change, option):
    with pytest.raises(SpecError, match=f"'{re.escape(change)}' cannot .* use {option} instead"):
        Setting(changes=(change,))


def test_a_change_that_no_run_would_follow_is_refused():
    with pytest.raises(SpecError, match=r"rule\.epsilon would be ignored"):
        plan_study(STUDY, Setting(changes=("rule.epsilon=0.5",)))
    with pytest.raises(SpecError, match=r"did you mean 'rule\.epsilon'"):
        plan_study(STUDY, Setting(changes=("rule.epsilom=1",)))


def test_the_command_repeats_what_was_asked_for():
    setting = Setting(
        compat="released-code", rounds=3, seeds=2, rows=("FedAvg", "MGDA (1, 2)"),
        changes=("engine.workers=2",),
    )  # fmt: skip
    assert run_command(STUDY, setting, Path("my runs")) == (
        "fedmgda reproduce cifar-user-1 --compat released-code --rounds 3 --seeds 2 -r FedAvg "
        "-r 'MGDA (1, 2)' -c engine.workers=2 --out 'my runs'"
    )
    plain = run_command(STUDY, Setting(), default_folder(STUDY, Setting()))
    assert plain == "fedmgda reproduce cifar-user-1"


def test_a_study_that_is_killed_loses_at_most_one_round() -> None:
    for run in plan_study(load_study("adult-bias"), Setting(seeds=1)):
        assert run.spec.engine.checkpoint_seconds == 0.0
