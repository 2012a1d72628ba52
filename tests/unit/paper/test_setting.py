import pytest

from fedmgda._errors import SpecError
from fedmgda.paper import Setting, default_folder, load_study, plan_study
from fedmgda.paper._setting import seeds_of

STUDY = load_study("cifar-user-1")


@pytest.mark.parametrize(
    ("number", "seeds"),
    [(None, [1, 5000, 6000, 9000]), (1, [1]), (4, [1, 5000, 6000, 9000]),
     (6, [1, 5000, 6000, 9000, 9001, 9002])],
)  # fmt: skip
def test_more_seeds_keep_those_there_were(number, seeds):
    assert seeds_of(STUDY, Setting(seeds=number)) == seeds


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


def test_a_row_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(SpecError, match=r"no row 'FedSGD'; the rows are FedMGDA; FedMGDA\+ \(1.0"):
        plan_study(STUDY, Setting(rows=("FedSGD",)))
