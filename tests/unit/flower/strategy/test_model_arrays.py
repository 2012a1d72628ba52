import numpy as np
import pytest
from flwr.app import Array, ArrayRecord

from fedmgda import SpecError
from fedmgda.flower.strategy._model_arrays import BATCH_NORM, ModelArrays


def record(**changes):
    values = {
        "conv.weight": np.arange(4, dtype=np.float64).reshape(2, 2),
        "bn.running_mean": np.array([7.0, 8.0], np.float32),
        "bn.num_batches_tracked": np.array(5, np.int64),
        "head": np.array([9.0], np.float16),
    }
    return ArrayRecord({n.replace("_DOT_", "."): Array(v) for n, v in (values | changes).items()})


def test_buffers_lie_behind_the_parameters_and_whole_numbers_nowhere():
    arrays = ModelArrays.of(record(), BATCH_NORM)
    assert (arrays.num_params, arrays.num_buffers) == (5, 2)
    assert arrays.vector(record()).tolist() == [0.0, 1.0, 2.0, 3.0, 9.0, 7.0, 8.0]
    assert ModelArrays.of(record(), ("bn.running_mean",)).num_buffers == 2
    assert ModelArrays.of(record(), ()).num_buffers == 0


def test_a_model_leaves_as_it_came():
    arrays = ModelArrays.of(record(), BATCH_NORM)
    there = arrays.record(arrays.vector(record()))
    assert list(there) == list(record())
    for name, array in record().items():
        assert there[name].numpy().dtype == array.numpy().dtype
        assert np.array_equal(there[name].numpy(), array.numpy())


def test_whole_numbers_are_those_of_the_start():
    arrays = ModelArrays.of(record(), BATCH_NORM)
    later = record(**{"bn.num_batches_tracked": np.array(99, np.int64)})
    assert arrays.record(arrays.vector(later))["bn.num_batches_tracked"].numpy() == 5


def test_what_does_not_fit_a_float32_is_infinite():
    arrays = ModelArrays.of(record(), BATCH_NORM)
    assert np.isinf(arrays.vector(record(**{"conv.weight": np.full((2, 2), 1e300)}))[:4]).all()


@pytest.mark.parametrize(
    "values", [{}, {"n": np.array([1])}, {"z": np.array([1j]), "w": np.ones(1)}]
)
def test_what_is_no_model_is_refused(values):
    with pytest.raises(SpecError, match="initial_arrays"):
        ModelArrays.of(ArrayRecord({n: Array(v) for n, v in values.items()}), ())
