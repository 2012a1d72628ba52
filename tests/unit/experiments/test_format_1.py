"""Folders that version 0.1 made are read, reported, and resumed to the same model."""

import json
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from safetensors import safe_open

from fedmgda._errors import StoreError
from fedmgda.experiments import RunFolder, Spec, open_run, parse, to_table
from fedmgda.experiments._spec import EngineSpec, RecordsSpec
from fedmgda.experiments._tag import spec_tag
from runs import FORMAT_1, carry_on, copy_of


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_both_say_what_they_are():
    assert open_run(FORMAT_1 / "finished").state == "finished"
    assert open_run(FORMAT_1 / "stopped").state == "stopped"
    assert open_run(FORMAT_1 / "finished").environment.format == 1


def test_everything_that_was_written_is_read_and_the_rest_is_none():
    run = open_run(FORMAT_1 / "finished")
    assert [row.round_num for row in run.rounds] == [1, 2, 3, 4, 5, 6]
    for row, written in zip(run.rounds, lines_of(run.path / "rounds.jsonl"), strict=True):
        assert row.lam.tolist() == written["lam"]
        assert list(row.sacrificed) == written["sacrificed"]
        assert (row.norms, row.num_examples, row.held, row.gram, row.previous) == (None,) * 5
        assert run.gram(row.round_num) is None
    assert [row.round_num for row in run.evaluations] == [0, 2, 4, 6]
    assert run.summary.honest.users == 4
    assert len(run.timings) == 6
    assert set(run.model_arrays()) == {"1.weight", "1.bias", "3.weight", "3.bias"}
    assert run.predictions() is None
    assert run.encoder() is None
    assert [client.client_id for client in run.clients] == [0, 1, 2, 3]
    assert sum(client.rounds for client in run.clients) == 12
    assert [client.test_loss for client in run.clients] == run.evaluations[-1].losses.tolist()
    run.check()


def test_a_stopped_run_is_read_as_far_as_it_came():
    run = open_run(FORMAT_1 / "stopped")
    assert len(run.rounds) == 3
    assert [row.round_num for row in run.evaluations] == [0, 2]
    assert sum(client.rounds for client in run.clients) == 6


def test_it_is_resumed_to_the_same_model_and_goes_on_as_format_2(tmp_path):
    path = copy_of(FORMAT_1 / "stopped", tmp_path / "run")
    old = (path / "rounds.jsonl").read_bytes()
    carry_on(path)
    run, whole = open_run(path), open_run(FORMAT_1 / "finished")
    run.check()
    assert (run.state, run.environment.format) == ("finished", 2)
    assert (path / "rounds.jsonl").read_bytes().startswith(old)
    assert [row.previous is None for row in run.rounds] == [True] * 3 + [False] * 3
    assert [run.gram(number) is None for number in range(1, 7)] == [True] * 3 + [False] * 3
    # The same bits on one machine; on another one the last of them may differ.
    for name, array in run.model_arrays().items():
        np.testing.assert_allclose(array, whole.model_arrays()[name], rtol=1e-3, atol=1e-5)
    for ours, theirs in zip(run.rounds, whole.rounds, strict=True):
        np.testing.assert_allclose(ours.lam, theirs.lam, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(ours.losses_after, theirs.losses_after, rtol=1e-3)
    assert (run.summary.round_num, run.summary.honest.users) == (6, 4)


def test_a_run_of_the_same_spec_takes_the_old_folder_up(tmp_path):
    path = copy_of(FORMAT_1 / "stopped", tmp_path / "run")
    spec = open_run(path).spec
    RunFolder.create(path, replace(spec, engine=replace(spec.engine, workers=2)))
    assert "workers = 2" in (path / "spec.toml").read_text()
    with pytest.raises(StoreError, match="already holds a run of another spec"):
        RunFolder.create(path, replace(spec, seed=7))


def test_a_finished_folder_is_left_as_it_is(tmp_path):
    path = copy_of(FORMAT_1 / "finished", tmp_path / "run")
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    carry_on(path)
    lock = before.pop("lock")
    after = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    assert after.pop("lock") != lock
    assert after == before


@pytest.mark.parametrize("name", ["rounds.jsonl", "evaluations.jsonl"])
def test_a_finished_folder_with_lines_missing_is_refused(tmp_path, name):
    path = copy_of(FORMAT_1 / "finished", tmp_path / "run") / name
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(StoreError, match=f"lines of its {name} are missing"):
        open_run(path.parent).check()


def old_tags():
    for path in (FORMAT_1 / "stopped" / "checkpoints").iterdir():
        with safe_open(path, "np") as file:
            yield file.metadata()["tag"]


def test_an_old_checkpoint_keeps_its_tag():
    assert {*old_tags()} == {spec_tag(open_run(FORMAT_1 / "stopped").spec)}


def test_keys_that_change_no_result_are_outside_the_tag():
    spec = open_run(FORMAT_1 / "stopped").spec
    engine = EngineSpec(workers=9, client_timeout=1.0, checkpoint_seconds=7.0, max_failed_rounds=1)
    other = replace(spec, engine=engine, records=RecordsSpec(gram=False, predictions=False))
    assert spec_tag(other) == spec_tag(spec)
    cuda = replace(spec, engine=replace(spec.engine, device="cuda"))
    assert spec_tag(cuda) != spec_tag(spec)


CHANGED = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    float: lambda value: value / 2 + 0.25,
    str: lambda value: value + "x",
}


def changed_keys():
    """Yield specs that differ from an old one in a key each, for every key of every section."""
    spec = open_run(FORMAT_1 / "stopped").spec
    for section in fields(spec):
        if section.name in {"engine", "records"}:
            continue
        table = getattr(spec, section.name)
        if not is_dataclass(table):
            other = CHANGED[type(table)](table) if type(table) in CHANGED else "given"
            yield section.name, replace(spec, **{section.name: other})
            continue
        for key in fields(table):
            value = getattr(table, key.name)
            other = CHANGED[type(value)](value) if type(value) in CHANGED else "given"
            changed = replace(table, **{key.name: other})
            yield f"{section.name}.{key.name}", replace(spec, **{section.name: changed})


def test_every_other_key_is_in_the_tag():
    tags = [spec_tag(spec) for _, spec in changed_keys()]
    assert len({*tags, *old_tags()}) == len(tags) + 1


def test_a_new_key_at_its_default_is_not_in_the_tag():
    spec = open_run(FORMAT_1 / "stopped").spec
    written = parse(Spec, to_table(spec))  # with the keys of today, as a new spec.toml has them
    assert written == spec
    assert "records" in to_table(spec)
    assert spec_tag(written) in {*old_tags()}
