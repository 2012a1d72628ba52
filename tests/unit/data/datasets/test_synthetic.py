import numpy as np
import pytest

from fedmgda._errors import SpecError
from fedmgda.data import quadratic_federation, quadratic_optima, synthetic_federation


def test_synthetic_clients_have_sixty_features_ten_classes_and_their_own_sizes():
    data = synthetic_federation(1.0, 1.0, 30, seed=0)
    assert data.features.shape[1] == 60
    assert data.features.dtype == np.float32
    assert data.targets.dtype == np.int64
    assert (data.num_classes, data.num_clients) == (10, 30)
    sizes = [
        sum(map(len, rows)) for rows in zip(data.train, data.validation, data.test, strict=True)
    ]
    assert min(sizes) >= 50
    assert max(sizes) > 5 * min(sizes)
    assert len(set(data.targets)) == 10


def test_a_synthetic_federation_depends_on_its_seed_alone():
    one, same, other = (synthetic_federation(1.0, 1.0, 5, seed=seed) for seed in (4, 4, 5))
    assert np.array_equal(one.features, same.features)
    assert all(np.array_equal(a, b) for a, b in zip(one.train, same.train, strict=True))
    assert one.features.shape != other.features.shape or not np.array_equal(
        one.features, other.features
    )


def test_more_clients_leave_the_first_ones_as_they_were():
    few, many = (synthetic_federation(0.5, 0.5, clients, seed=1) for clients in (3, 6))
    rows = few.train[2]
    assert np.array_equal(rows, many.train[2])
    assert np.array_equal(few.features[rows], many.features[rows])


def test_beta_moves_the_inputs_apart():
    def distance(beta):
        data = synthetic_federation(0.0, beta, 20, seed=2)
        return np.std([data.features[rows].mean() for rows in data.train])

    assert distance(0.0) < 0.3
    assert distance(3.0) > 1.0


def test_a_client_keeps_at_most_max_size_examples():
    data = synthetic_federation(1.0, 1.0, 30, seed=0, max_size=60)
    sizes = [
        sum(map(len, rows)) for rows in zip(data.train, data.validation, data.test, strict=True)
    ]
    assert max(sizes) == 60


def test_the_training_loss_of_a_quadratic_client_is_the_squared_distance_to_its_optimum():
    data = quadratic_federation(4, 5, seed=3)
    optima = quadratic_optima(4, 5, seed=3)
    assert data.num_classes is None
    point = np.random.default_rng(0).normal(size=6)
    for rows, optimum in zip(data.train, optima, strict=True):
        inputs, targets = data.features[rows].astype(np.float64), data.targets[rows]
        loss = np.mean((inputs @ point[:-1] + point[-1] - targets) ** 2)
        assert loss == pytest.approx(np.sum((point - optimum) ** 2), rel=1e-5)


def test_every_split_of_a_quadratic_client_has_its_own_rows():
    data = quadratic_federation(3, 2, seed=0, num_examples=10)
    rows = np.concatenate([*data.train, *data.validation, *data.test])
    assert np.array_equal(np.sort(rows), np.arange(90))
    assert not np.allclose(data.features[data.train[0]], data.features[data.test[0]])


def test_settings_out_of_range_are_refused():
    with pytest.raises(SpecError, match="not negative, got -1 and 1"):
        synthetic_federation(-1, 1, 3, seed=0)
    for number in (0, 10**9, 2**63 - 1):
        with pytest.raises(SpecError, match=f"must lie between 1 and 100000,.* got {number}"):
            synthetic_federation(1, 1, number, seed=0)
        with pytest.raises(SpecError, match=f"must lie between 1 and 100000,.* got {number}"):
            quadratic_federation(number, 8, seed=0)
    with pytest.raises(SpecError, match="between 1 and num_examples - 1 = 9, got 10"):
        quadratic_federation(2, 10, seed=0, num_examples=10)
