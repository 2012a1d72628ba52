import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import DataError
from fedmgda.data import Examples, Pixels, federate, load_digits, split_locally


def images():
    return Examples(
        name="images",
        features=np.arange(20 * 4, dtype=np.uint8).reshape(20, 1, 2, 2),
        targets=np.arange(20) % 3,
        num_classes=3,
        pixels=Pixels(mean=0.5, std=0.5),
    )


def test_examples_keep_their_arrays_their_scale_and_their_clients():
    examples = images()
    portions = [np.arange(10), np.arange(10, 20)]
    data = federate(examples, portions, seed=3, client_names=["a", "b"])
    assert data.features is examples.features
    assert data.targets is examples.targets
    assert data.pixels == examples.pixels
    assert (data.name, data.num_classes, data.client_names) == ("images", 3, ("a", "b"))
    for portion, *rows in zip(portions, data.train, data.validation, data.test, strict=True):
        assert [len(own) for own in rows] == [8, 1, 1]
        assert np.array_equal(np.sort(np.concatenate(rows)), portion)


def test_the_local_split_is_the_one_that_was_asked_for():
    portions = [np.arange(20)]
    assert federate(images(), portions, seed=0, how="tail").test[0].tolist() == [18, 19]
    one, other = (federate(images(), portions, seed=seed).test[0].tolist() for seed in (0, 1))
    assert one != other


def test_a_client_with_too_few_examples_is_refused():
    with pytest.raises(DataError, match="Client 1 has 2 examples and needs at least 3"):
        federate(images(), [np.arange(10), np.arange(10, 12)], seed=0)


@given(
    st.lists(st.integers(3, 600), min_size=1, max_size=10), st.sampled_from(["shuffled", "tail"])
)
def test_a_split_is_complete_disjoint_and_leaves_nobody_empty(sizes, how):
    client_rows = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    splits = split_locally(client_rows, how, seed=3)
    for own, *parts in zip(client_rows, *splits, strict=True):
        assert sorted(np.concatenate(parts)) == list(own)
        assert all(len(part) >= 1 for part in parts)


@pytest.mark.parametrize(
    ("size", "parts"),
    [
        (500, (400, 50, 50)),
        (600, (480, 60, 60)),
        (413, (330, 41, 42)),
        (32148, (25718, 3215, 3215)),
    ],
)
def test_the_sizes_are_those_of_the_paper(size, parts):
    splits = split_locally([np.arange(size)], "tail", seed=0)
    assert tuple(len(split[0]) for split in splits) == parts


def test_tail_keeps_the_order_and_shuffled_does_not():
    own = np.arange(100)
    tail, shuffled = split_locally([own], "tail", 0), split_locally([own], "shuffled", 0)
    np.testing.assert_array_equal(np.concatenate([part[0] for part in tail]), own)
    assert not np.array_equal(np.concatenate([part[0] for part in shuffled]), own)


def test_each_client_is_shuffled_on_its_own():
    client_rows = [np.arange(100), np.arange(100, 200)]
    both = split_locally(client_rows, "shuffled", 5)
    alone = split_locally(client_rows[:1], "shuffled", 5)
    np.testing.assert_array_equal(both[0][0], alone[0][0])
    assert not np.array_equal(both[0][0] + 100, both[0][1])


def test_a_client_with_too_few_examples_is_named():
    with pytest.raises(DataError, match="Client 1 has 2 examples and needs at least 3"):
        split_locally([np.arange(5), np.arange(2)], "tail", 0)


def test_the_digits_are_the_real_ones():
    digits = load_digits()
    features, targets = digits.features, digits.targets
    assert features.shape == (1797, 64)
    assert (features.dtype, targets.dtype) == (np.float32, np.int64)
    assert (features.min(), features.max()) == (0.0, 1.0)
    assert np.bincount(targets).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
