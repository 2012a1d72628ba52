import errno
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

from fedmgda._errors import DataError, LockedError, StoreError
from fedmgda._json import encode
from fedmgda.experiments import RunFolder, Spec, execute, open_run, parse, resolve
from runs import carry_on, finished_run, results, stopped_run


def spec_of(**table):
    base = {
        "rounds": 12,
        "data": {"num_clients": 6},
        "model": {"hidden": [8]},
        "clients": {"per_round": 3},
        "evaluation": {"every": 5},
        "engine": {"checkpoint_seconds": 0.0},
    }
    return resolve(parse(Spec, base | table))


def finish(path, spec):
    folder = RunFolder.create(path, spec)
    steps = list(execute(folder))
    return folder, steps


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("run") / "whole", spec_of())


def test_a_run_folder_holds_everything(finished):
    folder, steps = finished
    assert folder.done
    assert [step.round_num for step in steps] == list(range(13))
    names = {path.name for path in folder.path.iterdir()}
    assert names == {
        "DONE", "checkpoints", "clients.csv", "environment.json", "evaluations.jsonl", "gram.bin",
        "lock", "model.safetensors", "partition.npz", "predictions.npz", "rounds.jsonl",
        "spec.toml", "summary.json", "timings.jsonl",
    }  # fmt: skip
    assert len(open_run(folder.path).rounds) == len(open_run(folder.path).timings) == 12
    assert [row.round_num for row in open_run(folder.path).evaluations] == [0, 5, 10, 12]
    environment = json.loads((folder.path / "environment.json").read_text())
    assert {"seed", "python", "cores", "packages", "commit"} <= environment.keys()


def test_a_round_is_recorded_with_its_proof(finished):
    row = open_run(finished[0].path).rounds[3]
    assert len(row.client_ids) == len(row.lam) == len(row.inner) == 3
    assert sum(row.lam) == pytest.approx(1.0)
    assert row.min_inner == min(row.inner)
    assert row.sacrificed == ()
    assert row.improved == pytest.approx(
        100 * np.mean(np.array(row.losses_after) <= np.array(row.losses_before))
    )


def test_the_reported_loss_changes_how_the_losses_are_measured_but_not_the_losses(
    finished, tmp_path
):
    clients = {"per_round": 3, "reported_loss": "during"}
    folder, _ = finish(tmp_path, spec_of(clients=clients))
    for usual, quick in zip(*(open_run(f.path).rounds for f in (finished[0], folder)), strict=True):
        assert encode(quick) == encode(usual)
        assert len(quick.local_losses) == 3
        assert not np.array_equal(quick.local_losses, quick.losses_before)


def test_a_loss_that_nobody_measured_is_null(tmp_path):
    folder, _ = finish(tmp_path, spec_of(rounds=2, evaluation={"every": 5, "improved": False}))
    for row in open_run(folder.path).rounds:
        assert row.losses_before is row.losses_after is row.improved is None
        assert len(row.local_losses) == 3


def test_chosen_clients_train_alone_and_all_are_evaluated(tmp_path):
    folder, _ = finish(tmp_path, spec_of(rounds=3, clients={"only": [4, 1]}))
    assert [row.client_ids for row in open_run(folder.path).rounds] == [(1, 4)] * 3
    assert open_run(folder.path).evaluations[-1].client_ids == tuple(range(6))


def test_the_model_on_disk_has_the_names_of_the_module(finished):
    arrays = load_file(finished[0].path / "model.safetensors")
    assert {name: array.shape for name, array in arrays.items()} == {
        "1.weight": (8, 64),
        "1.bias": (8,),
        "3.weight": (10, 8),
        "3.bias": (10,),
    }


def test_a_run_learns(finished):
    first, *_, last = open_run(finished[0].path).evaluations
    assert last.honest.loss["average"] < 0.8 * first.honest.loss["average"]


def test_the_same_spec_gives_the_same_bytes(finished, tmp_path):
    finish(tmp_path / "again", spec_of())
    assert results(tmp_path / "again") == results(finished[0].path)


def test_another_seed_gives_other_bytes(finished, tmp_path):
    finish(tmp_path / "other", spec_of(seed=1))
    assert results(tmp_path / "other") != results(finished[0].path)


@pytest.mark.parametrize("stop", [0, 1, 5, 6, 11, 12])
def test_a_run_dropped_after_any_round_resumes_to_the_same_bytes(finished, tmp_path, stop):
    folder = RunFolder.create(tmp_path, spec_of())
    for step in execute(folder):
        if step.round_num == stop:
            break  # the generator is closed here, as if the process had gone
    assert not folder.done
    steps = list(execute(RunFolder.open(tmp_path)))
    assert steps[0].round_num == stop
    assert results(tmp_path) == results(finished[0].path)


def test_a_caller_that_leaves_between_two_rounds_loses_none_of_them(finished, tmp_path):
    rarely = spec_of(engine={"checkpoint_seconds": 1e9})
    steps = execute(RunFolder.create(tmp_path, rarely))
    while next(steps).round_num < 4:
        pass
    steps.close()  # as when a signal reaches the caller and not the round
    assert next(execute(RunFolder.open(tmp_path))).round_num == 4


@pytest.mark.parametrize("rule", ["afl", "q-fedavg", "fedavg-n", "mgda-prox"])
def test_rules_with_memory_resume_too(tmp_path, rule):
    spec = spec_of(rule={"name": rule}, rounds=6)
    finish(tmp_path / "whole", spec)
    folder = RunFolder.create(tmp_path / "broken", spec)
    for step in execute(folder):
        if step.round_num == 3:
            break
    list(execute(folder))
    assert results(tmp_path / "broken") == results(tmp_path / "whole")


def test_bytes_of_the_partition_that_no_array_depends_on_are_made_as_they_were(tmp_path):
    whole = finished_run(tmp_path / "whole")
    stopped = stopped_run(tmp_path / "stopped")
    path = stopped.path / "partition.npz"
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 38] ^= 4  # attributes of the last file in the archive
    path.write_bytes(content)
    carry_on(stopped.path)
    assert results(stopped.path) == results(whole.path)


def test_a_torn_last_line_is_repaired(finished, tmp_path):
    folder = RunFolder.create(tmp_path, spec_of())
    for step in execute(folder):
        if step.round_num == 7:
            break
    with (tmp_path / "rounds.jsonl").open("ab") as file:
        file.write(b'{"round": 8, "clie')
    assert len(open_run(folder.path).rounds) == 7
    list(execute(folder))
    assert results(tmp_path) == results(finished[0].path)


def test_a_corrupt_newest_checkpoint_costs_a_round_and_a_note(finished, tmp_path):
    folder = RunFolder.create(tmp_path, spec_of())
    for step in execute(folder):
        if step.round_num == 7:
            break
    newest = sorted(folder.checkpoints.iterdir())[-1]
    newest.write_bytes(newest.read_bytes()[:-3])
    steps = list(execute(folder))
    assert steps[0].round_num == 6
    assert "round-00000007" in steps[0].notes[0]
    assert results(tmp_path) == results(finished[0].path)


def test_lost_records_are_noticed(tmp_path):
    folder = RunFolder.create(tmp_path, spec_of())
    for step in execute(folder):
        if step.round_num == 7:
            break
    (tmp_path / "rounds.jsonl").write_bytes(b"")
    with pytest.raises(StoreError, match="is not what a run leaves after round 7"):
        list(execute(folder))


def test_a_finished_run_is_left_alone(finished):
    before = results(finished[0].path)
    assert list(execute(RunFolder.open(finished[0].path))) == []
    assert results(finished[0].path) == before


def test_a_second_process_is_kept_out_and_told_by_whom(tmp_path):
    folder = RunFolder.create(tmp_path, spec_of())
    first = execute(folder)
    next(first)
    with pytest.raises(LockedError, match=f"Process {os.getpid()} is working in"):
        next(execute(RunFolder.open(tmp_path)))
    first.close()
    assert list(execute(RunFolder.open(tmp_path)))


def test_a_folder_with_another_run_is_not_overwritten(finished):
    with pytest.raises(StoreError, match="already holds a run of another spec"):
        RunFolder.create(finished[0].path, spec_of(seed=9))


def test_a_run_goes_on_with_another_engine_to_the_same_results(finished, tmp_path):
    first = execute(RunFolder.create(tmp_path / "run", spec_of()))
    for _ in range(3):
        next(first)
    first.close()
    folder, _ = finish(tmp_path / "run", spec_of(engine={"workers": 2}))
    assert folder.spec().engine.workers == 2
    assert results(folder.path) == results(finished[0].path)


def test_a_run_that_never_began_does_not_block_its_folder(tmp_path):
    data = {"path": str(tmp_path / "missing.csv"), "target": "y"}
    folder = RunFolder.create(tmp_path / "run", spec_of(data=data, clients={}, model={}))
    with pytest.raises(DataError):
        next(execute(folder))
    _, steps = finish(tmp_path / "run", spec_of())
    assert steps[-1].round_num == 12


def test_a_folder_with_other_files_is_not_taken(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StoreError, match="is not empty and holds no run"):
        RunFolder.create(tmp_path, spec_of())
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path):
    with pytest.raises(DataError, match=r"holds no run: there is no spec.toml"):
        RunFolder.open(tmp_path)


def test_a_full_disk_stops_the_run_with_the_last_checkpoint_intact(finished, tmp_path, monkeypatch):
    folder = RunFolder.create(tmp_path, spec_of())
    steps = execute(folder)
    for step in steps:
        if step.round_num == 4:
            break

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("fedmgda._files.os.fsync", full)
        with pytest.raises(StoreError, match=r"No space left on device\. Nothing that was reached"):
            list(steps)
    list(execute(RunFolder.open(tmp_path)))
    assert results(tmp_path) == results(finished[0].path)


def test_under_attack_metrics_are_over_honest_users(tmp_path):
    attack = {"name": "scale-loss", "factor": 5.0, "clients": [2]}
    folder, _ = finish(tmp_path, spec_of(attack=attack, rounds=4))
    assert all(2 in row.client_ids for row in open_run(folder.path).rounds)
    summary = open_run(folder.path).summary
    assert (summary.honest.users, summary.all_users.users) == (5, 6)
    row = open_run(folder.path).rounds[-1]
    honest = [i for i, client in enumerate(row.client_ids) if client != 2]
    before, after = np.array(row.losses_before)[honest], np.array(row.losses_after)[honest]
    assert row.improved == pytest.approx(100 * np.mean(after <= before))


def test_bias_leaves_every_byte_of_the_model_to_rules_that_read_no_loss(tmp_path):
    for rule, same in (("fedmgda+", True), ("fedavg", True), ("q-fedavg", False)):
        models = []
        for name in ("none", "bias-loss"):
            # The attacker is sampled like everyone else: only the bias differs.
            attack = {"name": name}
            if name != "none":
                attack |= {"clients": [0], "always_on": False}
            spec = spec_of(attack=attack, rule={"name": rule}, rounds=3)
            folder, _ = finish(tmp_path / rule / name, spec)
            models.append((folder.path / "model.safetensors").read_bytes())
        assert (models[0] == models[1]) == same


@pytest.mark.parametrize("path", ["compiled", "torch"])
@pytest.mark.parametrize("attack", ["scale-loss", "scale-update"])
def test_a_factor_beyond_all_numbers_is_quarantined_without_a_warning(attack, path, tmp_path):
    table = {"attack": {"name": attack, "factor": 1e308}, "clients": {"path": path}}
    finished_run(tmp_path / "run", **table)
    rows = open_run(tmp_path / "run").rounds
    assert {len(row.quarantined) for row in rows} == {1}
    assert open_run(tmp_path / "run").verdict is not None


def test_the_pareto_residual_is_recorded_where_it_is_asked_for(tmp_path):
    folder, _ = finish(tmp_path, spec_of(evaluation={"every": 2, "pareto": True}, rounds=4))
    residuals = [row.pareto_residual for row in open_run(folder.path).evaluations]
    assert len(residuals) == 3
    assert all(residual > 0 for residual in residuals)


def test_at_full_batch_the_proximal_methods_are_the_plain_ones(tmp_path):
    clients = {"per_round": 3, "batch_size": "full"}
    for plain, proximal in (("fedavg", "fedprox"), ("fedmgda+", "mgda-prox")):
        models = []
        for rule in (plain, proximal):
            spec = spec_of(clients=clients, rule={"name": rule}, rounds=4)
            folder, _ = finish(tmp_path / rule, spec)
            models.append((folder.path / "model.safetensors").read_bytes())
        assert models[0] == models[1]


def test_a_diverged_model_is_recorded_and_not_a_crash(tmp_path):
    clients = {"per_round": 3, "client_lr": 1e6}
    folder, _ = finish(tmp_path, spec_of(clients=clients, rule={"name": "fedavg"}, rounds=3))
    assert folder.done
    assert replace(folder.spec(), seed=1).seed == 1


def stopped_at_7(path):
    folder = RunFolder.create(path, spec_of())
    for step in execute(folder):
        if step.round_num == 7:
            break
    return folder


@pytest.mark.parametrize("name", ["rounds", "evaluations"])
@pytest.mark.parametrize("junk", [b"5\n", b"{}\n", b'{"round":"x"}\n', b"\xff\x00\n", None])
def test_a_damaged_record_is_one_sentence(tmp_path, name, junk):
    folder = stopped_at_7(tmp_path)
    path = tmp_path / f"{name}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) if junk is None else junk + b"".join(lines[1:]))
    with pytest.raises(StoreError, match="is not what a run leaves after round 7"):
        list(execute(folder))


def test_damaged_timings_stop_nothing(finished, tmp_path):
    folder = stopped_at_7(tmp_path)
    (tmp_path / "timings.jsonl").write_bytes(b"junk\n{}\n")
    list(execute(folder))
    assert results(tmp_path) == results(finished[0].path)


def test_what_a_crash_left_behind_the_checkpoint_is_cut_off(finished, tmp_path):
    folder = stopped_at_7(tmp_path)
    with (tmp_path / "rounds.jsonl").open("ab") as file:
        file.write(bytes(100) + b"\n5\n")
    list(execute(folder))
    assert results(tmp_path) == results(finished[0].path)


@pytest.mark.parametrize("change", ["seed = 0", 'name = "fedmgda+"', "rounds = 12"])
def test_a_run_is_not_resumed_under_another_spec(tmp_path, change):
    folder = stopped_at_7(tmp_path)
    other = {"seed = 0": "seed = 1", "rounds = 12": "rounds = 5"}.get(change, 'name = "mgda-prox"')
    text = (tmp_path / "spec.toml").read_text()
    (tmp_path / "spec.toml").write_text(text.replace(change, other))
    (tmp_path / "partition.npz").unlink()
    with pytest.raises(StoreError, match="it belongs to another spec"):
        list(execute(folder))


def test_a_run_is_resumed_with_another_engine(finished, tmp_path):
    folder = stopped_at_7(tmp_path)
    text = (tmp_path / "spec.toml").read_text()
    (tmp_path / "spec.toml").write_text(text.replace("workers = 1", "workers = 2"))
    list(execute(folder))
    assert results(tmp_path) == results(finished[0].path)


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}"])
def test_a_missing_summary_can_be_written_again(finished, tmp_path, content):
    folder, _ = finish(tmp_path, spec_of())
    if content is None:
        (tmp_path / "summary.json").unlink()
    else:
        (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"is missing or damaged .*; delete .*DONE"):
        _ = open_run(folder.path).summary
    (tmp_path / "DONE").unlink()
    list(execute(folder))
    assert results(tmp_path) == results(finished[0].path)


def test_a_folder_left_by_a_full_disk_at_its_start_is_taken_up(finished, tmp_path):
    (tmp_path / "environment.json").write_text("{}")
    (tmp_path / ".spec.toml.99.tmp").write_text("half")
    finish(tmp_path, spec_of())
    assert results(tmp_path) == results(finished[0].path)


def test_the_summary_calls_no_loss_the_worst_or_the_best(finished):
    loss = open_run(finished[0].path).summary.honest.loss
    assert loss["min"] <= loss["percentile_5"] <= loss["percentile_95"] <= loss["max"]
    assert (
        not {"mean_lowest_5_percent", "mean_highest_5_percent", "worst_k", "best_k", "jain"}
        & loss.keys()
    )


def test_who_improved_can_be_measured_in_every_other_round(tmp_path):
    sparse, _ = finish(
        tmp_path / "sparse", spec_of(rounds=4, evaluation={"every": 5, "improved_every": 2})
    )
    dense, _ = finish(tmp_path / "dense", spec_of(rounds=4, evaluation={"every": 5}))
    rows = zip(open_run(sparse.path).rounds, open_run(dense.path).rounds, strict=True)
    for number, (some, every) in enumerate(rows, start=1):
        assert np.array_equal(some.lam, every.lam)
        assert some.improved == (None if number % 2 else every.improved)


@pytest.mark.parametrize("content", ["{", "[1]", None])
def test_a_run_that_lost_its_environment_says_so(tmp_path, content):
    folder = RunFolder.create(tmp_path / "run", spec_of())
    file = folder.path / "environment.json"
    _ = file.unlink() if content is None else file.write_text(content)
    with pytest.raises(StoreError, match=r"environment\.json is missing or damaged"):
        list(execute(folder))
