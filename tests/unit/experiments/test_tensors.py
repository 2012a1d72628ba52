"""Model files, read without their library: the same arrays, and nothing believed."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from safetensors.numpy import save

from fedmgda.experiments._tensors import read_tensors

DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
ARRAYS = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3)),
    max_size=5,
)


@given(ARRAYS, st.integers(0, 2**32))
def test_what_the_library_writes_is_read_back(shapes, seed):
    rng = np.random.default_rng(seed)
    arrays = {
        name: rng.integers(0, 2, shape).astype(dtype) for name, (dtype, shape) in shapes.items()
    }
    found = read_tensors(save(arrays, metadata={"a": "b"}))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def content(header, body=bytes(8)):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("junk", "reason"),
    [
        (b"", "too short for its header"),
        (b"\xff" * 8, "too short for its header"),
        (content([]), "its header is no table"),
        (content({"w": GOOD | {"dtype": "F128"}}), "'w' has no type, shape or place"),
        (content({"w": GOOD | {"shape": [-2]}}), "'w' has no type, shape or place"),
        (content({"w": GOOD | {"shape": "ab"}}), "'w' has no type, shape or place"),
        (content({"w": GOOD | {"data_offsets": [0, 8, 16]}}), "too many values|no type"),
        (content({"w": 3}), "'w' has no type, shape or place"),
        (content({"w": GOOD | {"shape": [3]}}), "'w' is not as long as its header says"),
        (content({"w": GOOD | {"data_offsets": [8, 16]}}), "'w' is not as long"),
        (content({"w": GOOD | {"shape": [2**40, 2**40]}}), "'w' is not as long"),
        (content({"w": GOOD}, bytes(12)), "bytes that belong to no tensor"),
        (content({"w": GOOD, "v": GOOD}), "bytes that belong to no tensor, or to two"),
        (content({}), "bytes that belong to no tensor"),
    ],
)
def test_what_is_no_model_is_one_clause(junk, reason):
    with pytest.raises(ValueError, match=reason):
        read_tensors(junk)


@given(st.binary(max_size=80))
def test_any_bytes_are_refused_by_a_value_error_or_read(junk):
    try:
        read_tensors(junk)
    except ValueError:
        return
