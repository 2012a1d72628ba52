import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import Examples, Pixels, federate


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
    hands = [np.arange(10), np.arange(10, 20)]
    data = federate(examples, hands, seed=3, client_names=["a", "b"])
    assert data.features is examples.features
    assert data.targets is examples.targets
    assert data.pixels == examples.pixels
    assert (data.name, data.num_classes, data.client_names) == ("images", 3, ("a", "b"))
    for hand, *rows in zip(hands, data.train, data.validation, data.test, strict=True):
        assert [len(own) for own in rows] == [8, 1, 1]
        assert np.array_equal(np.sort(np.concatenate(rows)), hand)


def test_the_local_split_is_the_one_that_was_asked_for():
    hands = [np.arange(20)]
    assert federate(images(), hands, seed=0, how="tail").test[0].tolist() == [18, 19]
    one, other = (federate(images(), hands, seed=seed).test[0].tolist() for seed in (0, 1))
    assert one != other


def test_a_client_with_too_few_examples_is_refused():
    with pytest.raises(DataError, match="Client 1 has 2 examples and needs at least 3"):
        federate(images(), [np.arange(10), np.arange(10, 12)], seed=0)
