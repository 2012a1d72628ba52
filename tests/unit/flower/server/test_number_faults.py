"""Numbers that cannot be true fail who sent them, with a reason, and nobody else is worse off."""

import numpy as np
import pytest

from fedmgda.data import schema_of
from fedmgda.experiments import open_run
from fedmgda.flower.server._single_rows import Expected, predictions_of
from fedmgda.flower.server._statistics import Totals, read_curvatures
from fedmgda.flower.wire._messages import Answer, WireError
from flower_grid import MemoryGrid, node_events, run_over, with_arrays
from hospitals import hospital_spec
from runs import finished_run

SIX = {"data": {"num_clients": 6}, "clients": {"per_round": 6}, "engine": {"client_timeout": 2.0}}


def at_evaluate(change):
    return lambda question, answer: change(answer) if question.phase == "evaluate" else answer


def spoilt(name, value):
    """Return a change of an answer: the first client of an array says something else."""

    def change(answer):
        if name not in answer.arrays:
            return answer
        array = answer.arrays[name].copy()
        array[0] = value
        return with_arrays(answer, **{name: array})

    return change


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("accuracies", 1e308, "its accuracy is 1e+308"),
        ("accuracies", -5.0, "its accuracy is -5"),
        ("accuracies", np.nan, "its accuracy is nan"),
        ("losses", 1e308, "its loss is 1e+308"),
    ],
)
def test_a_score_that_cannot_be_fails_its_client(tmp_path, name, value, reason):
    finished_run(tmp_path / "here", rounds=2, **SIX)
    grid = MemoryGrid()
    grid.twist[101] = at_evaluate(spoilt(name, value))
    assert run_over(tmp_path / "run", grid, rounds=2, **SIX) == 0
    last = open_run(tmp_path / "run").evaluations[-1]
    assert [(f.client_id, f.reason) for f in last.failures] == [(1, reason)]
    others = [0, 2, 3, 4, 5]
    honest = open_run(tmp_path / "here").evaluations[-1]
    assert np.isnan([last.losses[1], last.accuracies[1]]).all()
    assert last.losses[others].tolist() == honest.losses[others].tolist()
    assert last.accuracies[others].tolist() == honest.accuracies[others].tolist()


@pytest.mark.parametrize("phase", ["evaluate", "gradients"])
def test_a_gradient_that_is_none_is_left_out_and_told_of(tmp_path, phase):
    grid = MemoryGrid()

    def twist(question, answer):
        prefix = "also.gradients." if question.phase == "evaluate" else ""
        wrong = question.phase in {phase, "gradients"}
        return spoilt(f"{prefix}updates", np.nan)(answer) if wrong else answer

    grid.twist[101] = twist
    table = SIX | {"rounds": 1, "evaluation": {"every": 1, "pareto": True}}
    assert run_over(tmp_path / "run", grid, **table) == 0
    assert np.isfinite(open_run(tmp_path / "run").evaluations[-1].pareto_residual)
    told = {(e["node"], *e["clients"]): e["reason"] for e in node_events(tmp_path / "run")}
    if phase == "evaluate":  # asked again, as nobody could use what came along
        assert told["101", 1] == "its gradient has an entry that is nan"


def part(clients, rows, targets, width=2):
    outputs = np.ones((len(rows), width), np.float32)
    return {
        "predictions.clients": np.array(clients),
        "predictions.rows": np.array(rows),
        "predictions.targets": np.array(targets),
        "predictions.outputs": outputs,
    }


GOOD = part([4, 4, 1], [0, 1, 0], [0, 1, 1])
EXPECTED = Expected(sizes=np.array([2, 1, 3, 0, 2]), rows=None, numbered=True, num_classes=2)
LIES = {
    "another's client": part([4, 4, 0], [0, 1, 0], [0, 1, 1]),
    "another's client too": part([4, 4, 1, 0, 0], [0, 1, 0, 0, 1], [0, 1, 1, 1, 1]),
    "a row twice": part([4, 4, 1], [0, 0, 0], [0, 1, 1]),
    "a row too few": part([4, 4], [0, 1], [0, 1]),
    "no rows": part(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)),
    "too many rows": part([4, 4, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1]),
    "a class that there is not": part([4, 4, 1], [0, 1, 0], [0, 99, 1]),
    "a class below 0": part([4, 4, 1], [0, 1, 0], [0, -1, 1]),
    "a class of NaN": part([4, 4, 1], [0, 1, 0], [0, np.nan, 1]),
    "a class in another type": GOOD | {"predictions.targets": np.array([0, 1, 1], np.int8)},
    "clients with a fraction": part([4.0, 4.0, 1.0], [0, 1, 0], [0, 1, 1]),
    "more columns": part([4, 4, 1], [0, 1, 0], [0, 1, 1], width=7),
    "rows in a column": GOOD | {"predictions.rows": np.array([[0], [1], [0]])},
    "one array too short": GOOD | {"predictions.outputs": np.ones((2, 2), np.float32)},
    "outputs of NaN": GOOD | {"predictions.outputs": np.full((3, 2), np.nan, np.float32)},
    "outputs in another type": GOOD | {"predictions.outputs": np.ones((3, 2))},
    "outputs without columns": GOOD | {"predictions.outputs": np.ones(3, np.float32)},
    "nothing": {},
}


@pytest.mark.parametrize("lie", LIES)
def test_the_single_rows_of_a_node_that_lies_are_left_out_alone(lie):
    honest = part([0, 0, 2, 2, 2], [0, 1, 0, 1, 2], [0, 1, 1, 0, 0])
    asked = {7: [1, 4], 8: [0, 2, 3]}
    everyone = range(5)
    heard = {7: Answer(header={}, arrays=GOOD), 8: Answer(header={}, arrays=honest)}
    whole, left = predictions_of(heard, asked, everyone, everyone, EXPECTED)
    assert left == {}
    assert whole.clients.tolist() == [0, 0, 1, 2, 2, 2, 4, 4]
    heard[7] = Answer(header={}, arrays=LIES[lie])
    found, left = predictions_of(heard, asked, everyone, everyone, EXPECTED)
    assert list(left) == [7]
    assert left[7].startswith("its predictions do not count: ")
    for name in ("clients", "rows", "targets", "outputs"):
        kept, sent = getattr(found, name), honest[f"predictions.{name}"]
        assert (kept.dtype, kept.tolist()) == (sent.dtype, sent.tolist())


def test_who_could_not_be_evaluated_has_no_single_rows():
    heard = {7: Answer(header={}, arrays=GOOD)}
    found, left = predictions_of(heard, {7: [1, 4]}, range(5), [4], EXPECTED)
    assert (found.clients.tolist(), left) == ([4, 4], {})


def test_predictions_that_do_not_count_are_told_of_and_do_not_end_the_run(tmp_path):
    grid = MemoryGrid()
    grid.twist[101] = at_evaluate(spoilt("predictions.targets", 99))
    assert run_over(tmp_path / "run", grid, rounds=1, **SIX) == 0
    refused = [e for e in node_events(tmp_path / "run") if e["event"] == "refused"]
    assert [(e["node"], e["clients"], e["reason"]) for e in refused] == [
        ("101", [1, 4], "its predictions do not count: targets are none of 10 classes")
    ]
    assert set(open_run(tmp_path / "run").predictions().clients.tolist()) == {0, 2, 3, 5}


def statistics_of(row=(40.0, 80.0, 0.0, 200.0, 0.0), classes=(30.0, 10.0)):
    return Answer(header={}, arrays={"sums": np.array([row] * 2), "classes": np.array(classes)})


@pytest.mark.parametrize(
    "row",
    [
        (48.5, 80.0, 0.0, 200.0, 0.0),
        (np.nan, 80.0, 0.0, 200.0, 0.0),
        (1e9, 80.0, 0.0, 200.0, 0.0),
        (0.0, 1.0, 0.0, 1.0, 0.0),
        (40.0, 1e6, 0.0, 1.0, 0.0),
        (40.0, 80.0, 1.0, 200.0, 0.0),
        (40.0, 80.0, 0.0, 200.0, -100.0),
        (40.0, 9e299, 0.0, 9e299, 0.0),
        (40.0, 1e299, -1e299, 1e299, -1e299),
        (40.0, 0.0, 0.0, -1.0, 0.0),
    ],
)
def test_sums_that_no_numbers_have_are_refused(row):
    schema = _schema()
    assert Totals.of(statistics_of(), schema, 40).statistics.num_rows == 40
    assert Totals.of(statistics_of((0.0,) * 5), schema, 40).statistics.num_rows == 40
    with pytest.raises(WireError, match="sums"):
        Totals.of(statistics_of(row), schema, 40)


@pytest.mark.parametrize("classes", [(39.5, 0.5), (41.0, -1.0), (np.nan, 1.0), (40.0, 1.0)])
def test_classes_have_whole_numbers_of_rows(classes):
    with pytest.raises(WireError, match="classes"):
        Totals.of(statistics_of(classes=classes), _schema(), 40)


@pytest.mark.parametrize("value", [0.0, np.nan, -1.0, 1e299, 5e-324, np.inf])
def test_a_curvature_is_of_a_size_that_a_step_can_be_made_of(value):
    for ids in (np.array([3]), np.array([np.nan])):
        answer = Answer(header={}, arrays={"client_ids": ids, "curvatures": np.array([value])})
        with pytest.raises(WireError, match="curvatures"):
            read_curvatures(answer, [3])


def _schema():
    data = hospital_spec().data
    return schema_of(data.schema, data.target)
