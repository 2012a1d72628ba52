"""The one reader: typed, bounded, and one sentence for whatever else a folder may hold."""

import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st

import fedmgda.experiments
from fedmgda._errors import DataError, FedmgdaError, SpecError, StoreError
from fedmgda._json import decode, encode, read_json
from fedmgda.experiments import RunFolder, execute, open_run, run_folders
from fedmgda.experiments._folder_files import Done
from fedmgda.experiments._npz import npz_arrays, npz_bytes
from fedmgda.experiments._results import clients_csv, read_clients_csv
from fedmgda.experiments._rows import (
    ClientResult,
    EvaluationRow,
    GramPlace,
    GroupSummary,
    RoundRow,
    Summary,
)
from fedmgda.values import Failure
from runs import FORMAT_1, copy_of, finished_run, small_spec, stopped_run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("reader") / "run").path


def test_a_run_says_where_it_stands(tmp_path, finished):
    folder = RunFolder.create(tmp_path / "run", small_spec())
    assert open_run(folder.path).state == "not begun"
    assert open_run(folder.path).rounds == open_run(folder.path).evaluations == ()
    assert open_run(folder.path).clients == ()
    steps = execute(folder)
    next(steps)
    code = f"from fedmgda.experiments import open_run; print(open_run({str(folder.path)!r}).state)"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert other.stdout == "running\n"
    steps.close()
    assert open_run(folder.path).state == "stopped"
    assert open_run(finished).state == "finished"


def test_a_run_can_be_read_while_it_runs(tmp_path):
    for step in execute(RunFolder.create(tmp_path, small_spec())):
        run = open_run(tmp_path)
        assert len(run.rounds) == step.round_num
        assert encode(run.evaluations[-1]) == encode(step.evaluation)
        if step.row is not None:
            assert encode(run.rounds[-1]) == encode(step.row)
            assert run.gram(step.round_num) is not None


def test_the_path_may_be_a_text(finished):
    assert open_run(str(finished)).spec == open_run(finished).spec


def test_the_model_is_named_arrays(finished):
    arrays = open_run(finished).model_arrays()
    assert {name: array.shape for name, array in arrays.items()} == {
        "1.weight": (2, 64), "1.bias": (2,), "3.weight": (10, 2), "3.bias": (10,),
    }  # fmt: skip


def test_where_there_is_no_run_is_a_sentence(tmp_path, finished):
    with pytest.raises(DataError, match=r"holds no run: there is no spec\.toml in it"):
        open_run(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="holds no run"):
        open_run(tmp_path / "file")
    with pytest.raises(DataError, match="holds a sweep; the same fedmgda sweep command"):
        open_run(finished.parent)
    assert run_folders(finished.parent) == [finished]
    assert run_folders(tmp_path / "nowhere") == []


def read_everything(path):
    run = open_run(path)
    _ = run.state, run.rounds, run.evaluations, run.timings, run.clients
    if run.finished:
        _ = run.summary, run.model_arrays(), run.predictions(), run.encoder()
    for row in run.rounds:
        run.gram(row.round_num)
    run.check()


FILES = (
    "spec.toml", "environment.json", "partition.npz", "rounds.jsonl", "gram.bin",
    "evaluations.jsonl", "timings.jsonl", "model.safetensors", "predictions.npz", "clients.csv",
    "summary.json", "DONE",
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_link_in_the_place_of_a_file_is_refused(finished, tmp_path, name):
    path = copy_of(finished, tmp_path / "run")
    (path / name).rename(tmp_path / "elsewhere")
    (path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a symbolic link"):
        read_everything(path)


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_the_place_of_a_file_never_hangs(finished, tmp_path, name):
    path = copy_of(finished, tmp_path / "run")
    (path / name).unlink()
    os.mkfifo(path / name)
    ended = threading.Event()

    def attempt():
        try:
            read_everything(path)
        except FedmgdaError:
            pass  # a DONE that is no file is no mark, and the run just is not finished
        finally:
            ended.set()

    threading.Thread(target=attempt, daemon=True).start()
    assert ended.wait(30)


@pytest.mark.parametrize("name", FILES)
def test_endless_zeros_are_never_read(finished, tmp_path, name):
    path = copy_of(finished, tmp_path / "run")
    os.truncate(path / name, 1 << 40)
    with pytest.raises(FedmgdaError, match=re.escape(name)):
        read_everything(path)


DEEP = b"[" * 100_000 + b"]" * 100_000
JUNK = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00",
    "no object": b"5",
    "a list": b"[1]",
    "an empty object": b"{}",
    "deep": DEEP,
    "a deep member": b'{"round":' + DEEP + b"}",
    "NaN": b'{"round":NaN}',
    "a number of 5,000 digits": b'{"round":' + b"9" * 5000 + b"}",
    "a text for a number": b'{"round":"x"}',
    "true for a number": b'{"round":true}',
    "a number beyond 64 bits": b'{"round":99999999999999999999}',
    "a lone surrogate": b'{"round":1,"clients":["\\ud800"]}',
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
@pytest.mark.parametrize("name", ["rounds.jsonl", "evaluations.jsonl"])
def test_a_line_that_is_none_is_one_sentence_with_its_number(tmp_path, name, junk):
    path = copy_of(FORMAT_1 / "stopped", tmp_path / "run") / name
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + junk + b"\n" + b"".join(rest))
    with pytest.raises(StoreError, match=rf"{name} is damaged in line 2 \("):
        read_everything(path.parent)


NO_JSON = ("nothing", "no text", "no object", "a list", "deep", "a deep member", "NaN")


@pytest.mark.parametrize(
    ("name", "junk"),
    [("summary.json", junk) for junk in JUNK.values()]
    + [("environment.json", JUNK[key]) for key in NO_JSON]
    + [("environment.json", b'{"seed": "x"}'), ("environment.json", b'{"format": 99}x')],
)
def test_a_file_that_is_not_what_it_should_be_is_one_sentence(tmp_path, name, junk):
    path = copy_of(FORMAT_1 / "finished", tmp_path / "run") / name
    path.write_bytes(junk)
    with pytest.raises(StoreError, match=rf"{re.escape(name)} is missing or damaged \("):
        read_everything(path.parent)


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
def test_damaged_timings_are_passed_over(tmp_path, junk):
    path = copy_of(FORMAT_1 / "stopped", tmp_path / "run") / "timings.jsonl"
    path.write_bytes(junk + b"\n" + path.read_bytes())
    assert [row.round_num for row in open_run(path.parent).timings] == [1, 2, 3]


WRONG = {
    "clients": [None, 3, ["0"], [0.5], [True], {}],
    "server_lr": [None, "1", [1.0], True],
    "lam": [3, ["x"], [[1.0]], "x"],
    "failed": [3, [], {}],
    "quarantined": [None, [1], [{"client_id": 1}], [{"client_id": "1", "reason": "x"}]],
    "improved": ["x", [1.0]],
    "gram": [3, {"offset": 1}, {"offset": "0", "rows": 1, "columns": 1, "sha256": ""}],
    "sacrificed": [3, ["x"]],
    "held": [1, "x"],
    "previous": [3],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG.items() for value in values]
)
def test_a_wrong_type_is_one_sentence_with_its_key(tmp_path, key, value):
    path = stopped_run(tmp_path, after=1).path / "rounds.jsonl"
    row = json.loads(path.read_bytes())
    path.write_text(json.dumps(row | {key: value}) + "\n")
    with pytest.raises(StoreError, match=rf"is damaged in line 1 \({key}\b"):
        _ = open_run(tmp_path).rounds


@pytest.mark.parametrize("key", ["round", "clients", "server_lr", "quarantined"])
def test_a_missing_key_is_one_sentence(tmp_path, key):
    path = stopped_run(tmp_path, after=1).path / "rounds.jsonl"
    row = json.loads(path.read_bytes())
    del row[key]
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(StoreError, match=rf"is damaged in line 1 \({key} is missing"):
        _ = open_run(tmp_path).rounds


@pytest.mark.parametrize("table", [("rounds", "lam"), ("evaluations", "losses")])
def test_a_line_without_a_number_for_each_client_is_one_sentence(tmp_path, table):
    name, key = table
    path = stopped_run(tmp_path, after=1).path / f"{name}.jsonl"
    row = json.loads(path.read_bytes().splitlines()[0])
    row[key].pop()
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(StoreError, match=rf"line 1 \({key} has \d entries for \d clients\)"):
        getattr(open_run(tmp_path), name)


@pytest.mark.parametrize("name", ["data", "model"])
def test_a_spec_without_a_name_is_one_sentence(tmp_path, name):
    path = stopped_run(tmp_path, after=1).path / "spec.toml"
    lines = path.read_text().splitlines()
    start = lines.index(f"[{name}]")
    del lines[next(at for at in range(start, len(lines)) if lines[at].startswith("name"))]
    path.write_text("\n".join(lines))
    with pytest.raises(SpecError, match=rf"is damaged: {name}\.name is missing"):
        open_run(tmp_path)


@pytest.mark.parametrize("place", [(0, 2, 1), (0, 3, 2), (0, 1 << 40, 1 << 40), (1 << 62, 2, 2)])
def test_a_matrix_that_cannot_be_there_is_one_sentence(tmp_path, place):
    path = stopped_run(tmp_path, after=1).path / "rounds.jsonl"
    row = json.loads(path.read_bytes())
    row["gram"] |= dict(zip(("offset", "rows", "columns"), place, strict=True))
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(StoreError, match=r"gram\.bin is damaged at round 1"):
        open_run(tmp_path).gram(1)


@pytest.mark.parametrize(
    "junk", [b"", b"PK", b"a,b\n1,2\n", b"\xff", b'"', b"1,2,3,4,5,6,7,8\n1,x,3,4,5,6,7,8\n"]
)
def test_a_table_of_clients_that_is_none_is_a_value_error(junk):
    with pytest.raises(ValueError, match=r".+"):
        read_clients_csv(junk)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VECTORS = st.lists(FLOATS, min_size=3, max_size=3).map(np.array)
CLIENTS = st.tuples(*[st.integers(0, 2**40)] * 3)
IDS = st.lists(st.integers(0, 2**40), max_size=5).map(tuple)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
FAILURES = st.lists(
    st.builds(Failure, client_id=st.integers(-1, 2**40), reason=TEXTS), max_size=3
).map(tuple)
GROUPS = st.builds(
    GroupSummary,
    users=st.integers(0, 9),
    accuracy=st.none() | st.dictionaries(TEXTS, st.none() | FLOATS),
    loss=st.none() | st.dictionaries(TEXTS, st.none() | FLOATS),
)
ROWS = st.one_of(
    st.builds(
        RoundRow,
        round_num=st.integers(1, 2**40),
        client_ids=CLIENTS,
        server_lr=FLOATS,
        num_examples=st.none() | VECTORS,
        norms=st.none() | VECTORS,
        lam=st.none() | VECTORS,
        improved=st.none() | FLOATS,
        quarantined=FAILURES,
        failed=st.none() | TEXTS,
        sacrificed=st.none() | IDS,
        held=st.none() | st.booleans(),
        gram=st.none()
        | st.builds(
            GramPlace,
            offset=st.integers(0, 2**62),
            rows=st.integers(0, 99),
            columns=st.integers(0, 99),
            sha256=TEXTS,
        ),
        previous=st.none() | TEXTS,
    ),
    st.builds(
        EvaluationRow,
        round_num=st.integers(0, 2**40),
        client_ids=CLIENTS,
        accuracies=VECTORS,
        losses=VECTORS,
        num_examples=VECTORS,
        honest=GROUPS,
        all_users=st.none() | GROUPS,
        pareto_residual=st.none() | FLOATS,
        failures=FAILURES,
    ),
    st.builds(
        Summary,
        round_num=st.integers(0, 9),
        honest=GROUPS,
        rounds_that_sacrificed=st.integers(0, 9),
        rounds_failed=st.integers(0, 9),
        quarantined=st.integers(0, 9),
        dropped=st.integers(0, 9),
    ),
)


@given(ROWS)
def test_what_was_written_is_read(row):
    text = json.dumps(encode(row)).encode()
    assert encode(decode(type(row), read_json(text))) == encode(row)


@given(st.sampled_from([RoundRow, EvaluationRow, Summary, Done]), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["round", "clients", "honest", "users", "files", "quarantined"])
        | st.text(max_size=3),
        inner,
        max_size=4,
    ),
    max_leaves=12,
))  # fmt: skip
def test_whatever_json_says_is_a_row_or_a_value_error(kind, table):
    try:
        decode(kind, table)
    except ValueError as error:
        assert str(error)  # noqa: PT017 (most of the time it is no row)


NAMES = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.lists(st.tuples(NAMES, FLOATS | st.just(float("nan"))), max_size=4))
def test_a_table_of_clients_comes_back_whatever_they_are_called(found):
    clients = tuple(
        ClientResult(
            client_id=i, name=name, train_examples=i, validation_examples=2, test_examples=3,
            test_accuracy=value, test_loss=value, rounds=i,
        )
        for i, (name, value) in enumerate(found)
    )  # fmt: skip
    assert repr(read_clients_csv(clients_csv(clients))) == repr(clients)


@given(st.data())
def test_an_archive_is_whole_or_a_value_error(data):
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.array("text"), "c": np.zeros(0, np.float32)}
    content = npz_bytes(arrays)
    found = npz_arrays(content)
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    place = data.draw(st.integers(0, len(content) - 1))
    damaged = bytearray(content)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    for junk in (bytes(damaged), content[:place]):
        try:
            npz_arrays(junk)
        except ValueError:
            continue


def test_an_archive_that_unpacks_to_more_than_it_is_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(10_000_000))
    with pytest.raises(ValueError, match="is compressed"):
        npz_arrays((tmp_path / "bomb.npz").read_bytes())


@pytest.mark.parametrize("text", ["seed = ", "seed = 'x'", "nonsense = 1", "\x00"])
def test_a_damaged_spec_is_one_sentence(finished, tmp_path, text):
    path = copy_of(finished, tmp_path / "run")
    (path / "spec.toml").write_text(text)
    with pytest.raises(SpecError):
        open_run(path)


def test_the_public_names_are_there():
    for name in fedmgda.experiments.__all__:
        assert hasattr(fedmgda.experiments, name)
