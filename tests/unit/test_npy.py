"""Headers of arrays are matched, never evaluated."""

import io

import numpy as np
import pytest

from fedmgda._npy import read_npy_header


def header_of(text, version=(1, 0)):
    width = 2 if version == (1, 0) else 4
    size = len(text).to_bytes(width, "little")
    return io.BytesIO(b"\x93NUMPY" + bytes(version) + size + text.encode("latin-1"))


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3), np.float32),
        np.asfortranarray(np.zeros((2, 3))),
        np.array(1),
        np.zeros(0, np.int8),
        np.array(["a", "bc"]),
        np.array([b"a"]),
        np.array([True]),
        np.zeros(2, ">u4"),
        np.zeros(1, "datetime64[s]"),
    ],
)
def test_what_numpy_writes_is_read_as_numpy_reads_it(array, version):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    buffer.seek(0)
    shape, fortran, dtype = read_npy_header(buffer)
    assert (shape, dtype) == (array.shape, array.dtype)
    assert fortran == (array.flags.f_contiguous and not array.flags.c_contiguous)
    assert len(buffer.read()) == array.nbytes


def test_other_writers_order_and_space_as_they_like():
    text = """{ "shape":(2 ,3),"descr" : "<f8",'fortran_order':True }   \n"""
    assert read_npy_header(header_of(text)) == ((2, 3), True, np.float64)


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1L,)}",  # of Python 2
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9**9**9,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1" * 5000 + ",)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': True}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': True}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} + 1",
        "(" * 5000,
        "",
        "x" * 20_000,
    ],
)
def test_anything_else_is_refused_and_no_warning_leaks(text):
    with pytest.raises((ValueError, TypeError)):
        read_npy_header(header_of(text))


def test_a_header_that_is_cut_or_of_another_format_is_refused():
    whole = header_of("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}").getvalue()
    for length in range(len(whole)):
        with pytest.raises(ValueError):  # noqa: PT011 (NumPy's words, or ours)
            read_npy_header(io.BytesIO(whole[:length]))
    with pytest.raises(ValueError, match="newer"):
        read_npy_header(header_of("{}", (3, 0)))
