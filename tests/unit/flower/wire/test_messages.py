"""What travels arrives with every bit, and what is no message is refused in one clause."""

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays_of

from fedmgda.flower.wire._messages import (
    PHASES,
    Answer,
    Question,
    WireError,
    answer_from_bytes,
    answer_from_records,
    question_from_bytes,
    question_from_records,
    to_bytes,
    to_records,
)
from fedmgda.values import Failure

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
headers = st.dictionaries(st.text().filter(lambda key: key != "phase"), json_values, max_size=4)
arrays = st.dictionaries(
    st.sampled_from(["params", "updates", "losses", "rows.train", "also.test.losses"]),
    st.sampled_from([np.float32, np.float64, np.int64, np.bool_]).flatmap(
        lambda kind: arrays_of.arrays(kind, arrays_of.array_shapes(min_dims=0, min_side=0))
    ),
)
QUESTION = Question(phase="train", header={"run": "r"}, arrays={"params": np.ones(3, np.float32)})
WAYS = {
    "records": (to_records, question_from_records, answer_from_records),
    "bytes": (to_bytes, question_from_bytes, answer_from_bytes),
}


def same(found, sent):
    assert found.header == sent.header
    assert found.arrays.keys() == sent.arrays.keys()
    for name, array in sent.arrays.items():
        other = found.arrays[name]
        assert (other.dtype, other.shape) == (array.dtype, array.shape)
        assert other.tobytes() == array.tobytes()


@pytest.mark.parametrize("way", WAYS)
@given(phase=st.sampled_from(PHASES), header=headers, parts=arrays)
def test_a_message_arrives_as_it_was_sent(way, phase, header, parts):
    write, read_question, read_answer = WAYS[way]
    question = Question(phase=phase, header=header, arrays=parts)
    found = read_question(write(question))
    assert found.phase == phase
    same(found, question)
    answer = Answer(header=header, arrays=parts)
    same(read_answer(write(answer)), answer)


@given(parts=arrays)
def test_equal_arrays_survive_how_flower_stores_them(parts):
    """Flower stores objects by their content: two that are equal are one."""
    doubled = {f"{name}.{i}": array for name, array in parts.items() for i in range(2)}
    record = to_records(Answer(header={}, arrays=doubled))["arrays"]
    children = {child.object_id: child for child in record.children.values()}
    inflated = ArrayRecord.inflate(record.deflate(), children)
    assert [a.numpy().tobytes() for a in inflated.values()] == [
        array.tobytes() for array in doubled.values()
    ]


@given(st.binary(max_size=60))
def test_bytes_that_are_no_message_are_refused_and_nothing_else_happens(noise):
    whole = to_bytes(QUESTION)
    for content in (noise, whole[: len(noise)], noise + whole[len(noise) :], whole + noise):
        try:
            question_from_bytes(content)
        except WireError:
            continue


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ({}, "no ConfigRecord 'fedmgda'"),
        ({"fedmgda": ConfigRecord()}, "no ArrayRecord 'arrays'"),
        ({"fedmgda": ConfigRecord(), "arrays": ArrayRecord()}, "no text 'header'"),
        ({"fedmgda": ConfigRecord({"header": "{"}), "arrays": ArrayRecord()}, "no JSON"),
        ({"fedmgda": ConfigRecord({"header": "[]"}), "arrays": ArrayRecord()}, "no JSON object"),
        ({"fedmgda": ConfigRecord({"header": "{}"}), "arrays": ArrayRecord()}, "is no phase"),
    ],
)
def test_what_is_missing_is_named(records, said):
    with pytest.raises(WireError, match=said):
        question_from_records(RecordDict(records))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY\x01\x00",
        # A header that promises eight terabytes, with none of them.
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, "
        b"'shape': (1000000000000,), }" + b" " * 51 + b"\n",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
        + b" " * 61
        + b"\n"
        + b"\x80\x04K\x01.",
    ],
)
def test_an_array_that_lies_about_itself_takes_no_memory_and_runs_no_code(content):
    forged = Array(dtype="float64", shape=(1,), stype="numpy.ndarray", data=content)
    config = ConfigRecord({"header": "{}"})
    records = RecordDict({"arrays": ArrayRecord({"updates": forged}), "fedmgda": config})
    with pytest.raises(WireError, match="updates"):
        answer_from_records(records)


FLOATS = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"
HEADERS = {
    "a bracket that is never closed": "{'descr': (",
    "brackets": "(" * 9000,
    "signs": "-" * 9000 + "1",
    "keys of two kinds": "{1: 5, 'a': 5}",
    "a key that cannot be one": "{[]: 5}",
    "a type of nothing": "{'descr': [()], 'fortran_order': False, 'shape': (1,), }",
    "a type in a list": "{'descr': ('<f4',), 'fortran_order': False, 'shape': (1,), }",
    "a larger number than there is": FLOATS % "(0, 1180591620717411303424)",
    "less than nothing": FLOATS % "(-1, -1)",
    "too many dimensions": FLOATS % f"({'1,' * 80})",
    "many digits": FLOATS % f"({'9' * 5000},)",
}


@pytest.mark.parametrize("header", HEADERS)
def test_whatever_numpy_makes_of_a_header_the_array_is_refused_by_name(header):
    text = HEADERS[header].encode()
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(4)
    forged = Array(dtype="float32", shape=(1,), stype="numpy.ndarray", data=content)
    config = ConfigRecord({"header": "{}"})
    records = RecordDict({"arrays": ArrayRecord({"updates": forged}), "fedmgda": config})
    with pytest.raises(WireError, match="'updates' is no array"):
        answer_from_records(records)


def test_objects_and_texts_do_not_travel():
    for array in (np.array([object()]), np.array(["a"])):
        with pytest.raises(TypeError, match="only numbers travel"):
            to_bytes(Answer(header={}, arrays={"x": array}))


def test_an_answer_repeats_what_it_answers_and_clips_what_it_says():
    question = Question(phase="train", header={"run": "r", "round": 3, "exchange": 7})
    key = {"run": "r", "round": 3, "exchange": 7, "phase": "train"}
    answer = question.answered({}, {}, [Failure(client_id=1, reason="x" * 1000)])
    assert answer.header == {**key, "failures": [[1, "x" * 300]]}
    assert question.refused(2, "a\n b" * 200).header["error"] == [2, ("a b" * 200)[:300]]
