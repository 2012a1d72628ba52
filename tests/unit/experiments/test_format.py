"""What is in a run folder of format 2, and that nothing in it changes unnoticed."""

import csv
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from fedmgda._errors import FederationStalledError, StoreError
from fedmgda.experiments import RunFolder, execute, open_run
from fedmgda.federation import latest_checkpoint, save_checkpoint
from runs import carry_on, copy_of, finished_run, results, small_spec, stopped_run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("format") / "run").path


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", ["rounds.jsonl", "evaluations.jsonl"])
def test_every_line_knows_the_bytes_before_it(finished, name):
    before = b""
    for line in (finished / name).read_bytes().splitlines(keepends=True):
        assert json.loads(line)["previous"] == hashlib.sha256(before).hexdigest()
        before += line


def test_a_round_has_its_examples_norms_and_products(finished):
    sizes = [client.train_examples for client in open_run(finished).clients]
    for row in open_run(finished).rounds:
        assert row.num_examples.tolist() == [sizes[i] for i in row.client_ids]
        gram = open_run(finished).gram(row.round_num)
        assert gram.matrix.shape == (2, 2)
        assert gram.columns.tolist() == [0, 1]
        np.testing.assert_allclose(np.sqrt(np.diagonal(gram.matrix)), row.norms)
        unit = gram.matrix / np.outer(row.norms, row.norms)  # fedmgda+ weighs unit updates
        assert row.norm**2 == pytest.approx(row.lam @ unit @ row.lam)
        assert (row.held, row.stalled) == (False, False)


def test_done_holds_the_digest_and_size_of_every_result(finished):
    done = json.loads((finished / "DONE").read_text())
    assert done["format"] == 2
    others = {"DONE", "checkpoints", "environment.json", "lock", "spec.toml", "timings.jsonl"}
    assert done["files"].keys() == {path.name for path in finished.iterdir()} - others
    for name, facts in done["files"].items():
        content = (finished / name).read_bytes()
        assert facts == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    open_run(finished).check()


def test_the_folder_says_its_format(finished):
    assert json.loads((finished / "environment.json").read_text())["format"] == 2


def test_the_clients_are_a_table(finished):
    with (finished / "clients.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    run = open_run(finished)
    last = run.evaluations[-1]
    assert [int(row["client"]) for row in rows] == [0, 1, 2, 3]
    assert [float(row["test_accuracy"]) for row in rows] == last.accuracies.tolist()
    assert [float(row["test_loss"]) for row in rows] == last.losses.tolist()
    assert [int(row["test_examples"]) for row in rows] == last.num_examples.tolist()
    assert sum(int(row["rounds"]) for row in rows) == sum(len(r.client_ids) for r in run.rounds)
    assert {row["name"] for row in rows} == {""}


def test_the_predictions_are_those_of_the_model(finished):
    run = open_run(finished)
    found, last = run.predictions(), run.evaluations[-1]
    assert len(found.rows) == last.num_examples.sum()
    for client, accuracy, loss in zip(last.client_ids, last.accuracies, last.losses, strict=True):
        mine = found.clients == client
        right = found.predictions[mine] == found.targets[mine]
        assert right.mean() == pytest.approx(accuracy)
        assert found.losses[mine].mean() == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-5)
    own = found.probabilities[np.arange(len(found.rows)), found.targets]
    np.testing.assert_allclose(-np.log(own), found.losses, rtol=1e-4, atol=1e-6)
    with np.load(finished / "partition.npz") as partition:
        assert sorted(found.rows) == sorted(partition["test_rows"])


def test_a_regression_predicts_values(tmp_path):
    run = open_run(finished_run(tmp_path, data={"name": "quadratics"}, model={}, clients={}).path)
    found = run.predictions()
    assert found.probabilities is None
    np.testing.assert_allclose(found.losses, (found.predictions - found.targets) ** 2, rtol=1e-4)
    assert np.isnan([client.test_accuracy for client in run.clients]).all()


def test_what_is_switched_off_is_not_written(tmp_path):
    folder = finished_run(tmp_path, records={"gram": False, "predictions": False})
    names = {path.name for path in folder.path.iterdir()}
    assert not names & {"gram.bin", "predictions.npz"}
    run = open_run(tmp_path)
    assert run.predictions() is None
    assert run.gram(1) is None
    assert run.encoder() is None
    run.check()


def test_records_may_be_switched_while_a_run_is_stopped_and_no_result_moves(finished, tmp_path):
    stopped_run(tmp_path, records={"gram": False})
    assert finished_run(tmp_path).spec().records.gram
    for name in ("model.safetensors", "summary.json", "clients.csv", "predictions.npz"):
        assert (tmp_path / name).read_bytes() == (finished / name).read_bytes()
    assert open_run(tmp_path).gram(3) is None
    assert open_run(tmp_path).gram(4) is not None


@pytest.mark.parametrize(("rule", "kept"), [("fedmgda+", True), ("fedavg", False)])
def test_of_many_participants_the_columns_of_those_with_weight_are_kept(tmp_path, rule, kept):
    finished_run(
        tmp_path, rounds=1, rule={"name": rule}, data={"num_clients": 70}, clients={"per_round": 70}
    )
    run = open_run(tmp_path)
    gram = run.gram(1)
    assert (gram is not None) == kept
    if gram is not None:
        (row,) = run.rounds
        assert gram.columns.tolist() == np.flatnonzero(row.lam).tolist()
        assert gram.matrix.shape == (70, len(gram.columns))
        own = gram.matrix[gram.columns, np.arange(len(gram.columns))]
        np.testing.assert_allclose(np.sqrt(own), row.norms[gram.columns])


def test_a_round_that_failed_is_a_line_like_the_others(tmp_path):
    clients = {"per_round": 2, "client_lr": 1e30}
    spec = small_spec(clients=clients, rule={"name": "fedavg"}, rounds=30, model={})
    with pytest.raises(FederationStalledError, match="No usable update"):
        list(execute(RunFolder.create(tmp_path, spec)))
    row = open_run(tmp_path).rounds[-1]
    assert (row.client_ids, row.lam, row.gram) == ((), None, None)
    assert row.failed
    assert len(row.quarantined) == 2
    assert len(row.norms) == 0


RECORDS = ("rounds.jsonl", "evaluations.jsonl")
AT_THE_END = ("model.safetensors", "clients.csv", "summary.json", "predictions.npz")


def read_everything(path):
    run = open_run(path)
    _ = run.rounds, run.evaluations, run.summary, run.clients, run.model_arrays(), run.predictions()
    for row in run.rounds:
        run.gram(row.round_num)


@pytest.mark.parametrize("name", [*RECORDS, *AT_THE_END])
def test_a_changed_digit_is_noticed_and_the_file_named(finished, tmp_path, name):
    path = copy_of(finished, tmp_path / "run") / name
    content = path.read_bytes()
    place = re.search(rb"[0-9]\.[0-9]{3}|NUMPY|weight", content).start()
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(StoreError, match=re.escape(str(path))):
        read_everything(path.parent)
    with pytest.raises(StoreError, match=re.escape(str(path))):
        open_run(path.parent).check()


@pytest.mark.parametrize("name", [*RECORDS, *AT_THE_END, "gram.bin", "partition.npz"])
@pytest.mark.parametrize("size", [0, 1, -1])
def test_a_result_that_was_cut_is_noticed_and_named(finished, tmp_path, name, size):
    path = copy_of(finished, tmp_path / "run") / name
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StoreError, match=rf"{re.escape(str(path))}|lines of its {name}"):
        open_run(path.parent).check()


@pytest.mark.parametrize("name", [*RECORDS, *AT_THE_END, "gram.bin", "partition.npz"])
def test_a_result_that_is_gone_is_noticed_and_named(finished, tmp_path, name):
    path = copy_of(finished, tmp_path / "run") / name
    path.unlink()
    with pytest.raises(StoreError, match=rf"{re.escape(name)}"):
        open_run(path.parent).check()


def test_a_line_in_the_middle_is_covered_before_the_run_is_finished(tmp_path):
    path = stopped_run(tmp_path).path / "rounds.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"server_lr":1.0', b'"server_lr":2.0', 1))
    sentence = r"rounds.jsonl is damaged in line 2 \(the bytes before it are not those"
    with pytest.raises(StoreError, match=sentence):
        _ = open_run(tmp_path).rounds
    with pytest.raises(StoreError, match="is not what a run leaves after round 3"):
        carry_on(tmp_path)


def test_a_line_that_lost_its_digest_is_noticed(tmp_path):
    path = stopped_run(tmp_path).path / "rounds.jsonl"
    first, second, third = path.read_bytes().splitlines(keepends=True)
    bare = re.sub(rb',"previous":"[0-9a-f]+"', b"", third)
    path.write_bytes(first + second + bare)
    with pytest.raises(StoreError, match="is damaged in line 3"):
        _ = open_run(tmp_path).rounds


def test_another_spec_under_a_finished_run_is_noticed(finished, tmp_path):
    path = copy_of(finished, tmp_path / "run") / "spec.toml"
    path.write_text(path.read_text().replace("seed = 0", "seed = 1"))
    with pytest.raises(
        StoreError, match=r"spec\.toml is not the spec of the run that was finished"
    ):
        _ = open_run(path.parent).summary
    path.write_text(path.read_text().replace("seed = 1", "seed = 0").replace("rs = 1", "rs = 4"))
    open_run(path.parent).check()  # the engine changes no result


def test_a_matrix_that_was_changed_is_noticed_and_its_round_named(finished, tmp_path):
    path = copy_of(finished, tmp_path / "run") / "gram.bin"
    content = bytearray(path.read_bytes())
    content[70] ^= 1  # the third round of 32 bytes each
    path.write_bytes(content)
    run = open_run(path.parent)
    assert run.gram(2) is not None
    with pytest.raises(StoreError, match=r"gram\.bin is damaged at round 3"):
        run.gram(3)


@pytest.mark.parametrize("name", AT_THE_END)
def test_what_is_written_at_the_end_can_be_written_again(finished, tmp_path, name):
    path = copy_of(finished, tmp_path / "run")
    (path / name).write_bytes(b"x")
    with pytest.raises(StoreError, match=r"delete .*DONE, then fedmgda resume .* writes it again"):
        open_run(path).check()
    (path / "DONE").unlink()
    carry_on(path)
    assert results(path) == results(finished)


@pytest.mark.parametrize("after", [0, 1, 4, 5])
@pytest.mark.parametrize("left", [b"", b"torn", bytes(999)])
def test_matrices_behind_the_checkpoint_are_cut_off(finished, tmp_path, after, left):
    stopped_run(tmp_path / "run", after)
    with (tmp_path / "run" / "gram.bin").open("ab") as file:
        file.write(left)
    carry_on(tmp_path / "run")
    assert results(tmp_path / "run") == results(finished)


def test_matrices_that_are_missing_are_noticed_on_a_resume(tmp_path):
    stopped_run(tmp_path)
    (tmp_path / "gram.bin").unlink()
    with pytest.raises(StoreError, match=r"gram\.bin is not what a run leaves after round 3"):
        carry_on(tmp_path)


LAST = {
    "rounds.jsonl": lambda content: content[::-1].replace(b"0", b"1", 1)[::-1],
    "evaluations.jsonl": lambda content: content.replace(b"num_users", b"num_uzers"),
    "gram.bin": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
}


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("table", [{}, {"server": {"protect": True}}], ids=["plain", "protected"])
def test_an_edit_that_no_later_line_covers_is_noticed_on_a_resume(tmp_path, name, table):
    stopped_run(tmp_path, **table)
    before = {file: (tmp_path / file).read_bytes() for file in LAST}
    *rest, last = before[name].splitlines(keepends=True) if name != "gram.bin" else [before[name]]
    (tmp_path / name).write_bytes(b"".join(rest) + LAST[name](last))
    changed = {file: (tmp_path / file).read_bytes() for file in LAST}
    assert changed != before
    with pytest.raises(StoreError, match=f"{re.escape(name)} is not what a run leaves after roun"):
        carry_on(tmp_path)
    assert {file: (tmp_path / file).read_bytes() for file in LAST} == changed


def test_an_edit_of_the_evaluation_of_a_baseline_is_noticed_on_a_resume(tmp_path):
    stopped_run(tmp_path, after=2, baseline="alone")
    path = tmp_path / "evaluations.jsonl"
    path.write_bytes(LAST[path.name](path.read_bytes()))
    with pytest.raises(StoreError, match=r"evaluations\.jsonl is not what a run leaves"):
        carry_on(tmp_path)


def test_a_checkpoint_that_knows_nothing_of_records_is_gone_on_with(finished, tmp_path):
    folder = stopped_run(tmp_path / "run")
    server, _ = latest_checkpoint(folder.checkpoints, folder.tag)
    assert server.records.keys() == LAST.keys()
    save_checkpoint(replace(server, records={}), folder.checkpoints, folder.tag)
    carry_on(folder.path)
    assert results(folder.path) == results(finished)


def test_a_folder_of_a_later_format_is_refused(finished, tmp_path):
    path = copy_of(finished, tmp_path / "run")
    facts = (path / "environment.json").read_text().replace('"format": 2', '"format": 3')
    (path / "environment.json").write_text(facts)
    with pytest.raises(
        StoreError, match="has format 3, and this version knows 2 and below; update"
    ):
        open_run(path)


@pytest.mark.parametrize("junk", ["x", "[]", "{}", '{"format": 2, "spec": "", "files": {"a": 1}}'])
def test_a_damaged_mark_is_one_sentence(finished, tmp_path, junk):
    path = copy_of(finished, tmp_path / "run")
    (path / "DONE").write_text(junk)
    with pytest.raises(StoreError, match=r"DONE is damaged .* fedmgda resume .* writes it again"):
        _ = open_run(path).summary
