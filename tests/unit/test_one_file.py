from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedmgda.minnorm import duality_gap
from unit.minnorm._asserts import assert_feasible, box
from unit.minnorm._instances import WILD, instances
from unit.minnorm._oracles import enumerated_direction

if TYPE_CHECKING:
    from types import ModuleType

PATH = Path(__file__).parents[2] / "examples" / "fedmgda_in_one_file.py"


@pytest.fixture(scope="module")
def one_file() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fedmgda_in_one_file", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_short_and_imports_nothing_from_the_package() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert "import fedmgda" not in text
    assert "from fedmgda" not in text


def test_its_weights_are_optimal_to_rounding(one_file: ModuleType) -> None:
    for case in instances(720, seed=2, largest=15):
        if case.name in WILD:
            continue
        m, top = len(case.rows), float(np.diagonal(case.gramian).max())
        center = np.full(m, 1.0 / m) if case.center is None else case.center
        lam = one_file.min_norm_weights(case.gramian, center, case.epsilon)
        assert_feasible(np.maximum(lam, 0.0), center, case.epsilon)
        assert duality_gap(case.gramian, lam, center, case.epsilon) <= 1e-13 * top


def test_its_direction_is_the_one_found_by_trying_all_bounds(one_file: ModuleType) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows, center = rng.normal(size=(4, 3)), rng.dirichlet(np.ones(4))
        lam = one_file.min_norm_weights(rows @ rows.T, center, 0.2)
        best = enumerated_direction(rows, *box(center, 0.2, 4))
        np.testing.assert_allclose(lam @ rows, best, atol=1e-12)


def test_epsilon_zero_is_the_plain_mean(one_file: ModuleType) -> None:
    params, goals = np.zeros(3), np.eye(3)
    users = [lambda w, goal=goal: w - goal for goal in goals]
    after, lam = one_file.fedmgda_round(params, users, 1.0, 0.0, normalize=False)
    assert lam.tolist() == [1 / 3] * 3
    np.testing.assert_allclose(after, goals.mean(axis=0), atol=1e-15)


def test_one_step_on_isotropic_quadratics_lands_on_the_hull(one_file: ModuleType) -> None:
    goals = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    users = [lambda w, goal=goal: w - goal for goal in goals]
    after, lam = one_file.fedmgda_round(np.zeros(2), users, 1.0, normalize=False)
    np.testing.assert_allclose(after, [0.5, 0.5], atol=1e-15)
    np.testing.assert_allclose(lam, [0.5, 0.5, 0.0], atol=1e-15)


def test_a_user_that_did_not_move_is_left_out(one_file: ModuleType) -> None:
    users = [lambda w: 0.0 * w, lambda w: 0.0 * w + [2.0, 0.0]]
    after, lam = one_file.fedmgda_round(np.zeros(2), users, 0.5)
    assert lam.tolist() == [0.0, 1.0]
    assert after.tolist() == [-0.5, 0.0]
    still, none = one_file.fedmgda_round(np.zeros(2), users[:1], 0.5)
    assert still.tolist() == [0.0, 0.0]
    assert none.tolist() == [0.0]


def test_its_table_shows_every_user_improving(
    one_file: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    one_file.main()
    lines = capsys.readouterr().out.splitlines()[1:]
    losses = np.array([[float(word) for word in line.split()[1:6]] for line in lines])
    assert losses.shape == (9, 5)
    assert (np.diff(losses, axis=0) < 0).all()
