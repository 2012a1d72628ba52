"""The folder itself: who may write it, and when it is taken up again."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fedmgda._errors import LockedError, StoreError
from fedmgda.data import FederatedData, Pixels, data_facts, fingerprint
from fedmgda.experiments import RunFolder, execute, open_run
from fedmgda.experiments._partition import (
    is_same_partition,
    partition_bytes,
    partition_sizes,
    partition_target_sums,
)
from runs import carry_on, finished_run, results, small_spec, stopped_run

SECOND = """
import sys
from pathlib import Path
from fedmgda._errors import LockedError
from fedmgda.experiments import RunFolder, execute, open_run
from dataclasses import replace
path = Path(sys.argv[1])
spec = open_run(path).spec
try:
    folder = RunFolder.create(path, replace(spec, engine=replace(spec.engine, workers=2)))
    list(execute(folder))
except LockedError as error:
    print(error)
"""


def content_of(path):
    return {
        file.relative_to(path): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def test_a_second_process_with_other_workers_is_refused_and_changes_nothing(tmp_path):
    steps = execute(RunFolder.create(tmp_path / "run", small_spec()))
    next(steps)
    next(steps)
    before = content_of(tmp_path / "run")
    second = subprocess.run(
        [sys.executable, "-c", SECOND, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"Process {os.getpid()} is working in {tmp_path / 'run'}" in second.stdout
    assert content_of(tmp_path / "run") == before
    steps.close()


def test_in_one_process_too_the_lock_comes_before_the_first_write(tmp_path):
    steps = execute(RunFolder.create(tmp_path, small_spec()))
    next(steps)
    before = content_of(tmp_path)
    with pytest.raises(LockedError, match="wait for it or stop it first"):
        RunFolder.create(tmp_path, small_spec(engine={"workers": 2}))
    assert content_of(tmp_path) == before
    steps.close()


def test_a_foreign_folder_gets_not_even_a_lock(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StoreError, match="is not empty and holds no run"):
        RunFolder.create(tmp_path, small_spec())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_of_runs_is_said_to_hold_them(tmp_path):
    """After `run --compare` a plain `run` of the same spec was told that there was no run."""
    for name in ("alone", "fedavg"):
        finished_run(tmp_path / name)
    with pytest.raises(StoreError, match="holds the runs alone and fedavg; choose another --out"):
        RunFolder.create(tmp_path, small_spec())


WRITTEN = (
    "rounds.jsonl", "evaluations.jsonl", "timings.jsonl", "gram.bin", "lock", "environment.json",
    "partition.npz", "model.safetensors", "summary.json", "clients.csv", "predictions.npz",
)  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("kind", ["symbolic link", "hard link"])
def test_whatever_a_file_of_a_run_is_linked_to_is_never_changed(tmp_path, name, kind):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    folder = stopped_run(tmp_path / "run")
    place = folder.path / name
    place.unlink(missing_ok=True)
    if kind == "symbolic link":
        place.symlink_to(precious)
    else:
        os.link(precious, place)
    try:
        carry_on(folder.path)
    except StoreError as error:
        refused = str(error)
    else:
        refused = ""
    assert precious.read_bytes() == b"precious"
    assert not refused or name in refused or "The data is not what" in refused


def test_a_link_in_the_place_of_the_checkpoints_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "round-00000009.safetensors").write_bytes(b"precious")
    folder = RunFolder.create(tmp_path / "run", small_spec())
    folder.checkpoints.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"cannot be read|is a symbolic link"):
        carry_on(folder.path)
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1


def test_a_checkpoint_that_is_a_pipe_is_passed_over(tmp_path):
    whole = finished_run(tmp_path / "whole").path
    folder = stopped_run(tmp_path / "run")
    os.mkfifo(folder.checkpoints / "round-00000009.safetensors")
    steps = list(execute(folder))
    assert "is not a regular file" in steps[0].notes[0]
    assert results(folder.path) == results(whole)


def test_what_a_cut_off_write_left_is_cleared_away(tmp_path):
    folder = stopped_run(tmp_path)
    (tmp_path / ".summary.json.0123456789ab.tmp").write_bytes(b"half")
    (folder.checkpoints / ".round-00000009.safetensors.0123456789ab.tmp").write_bytes(b"half")
    carry_on(tmp_path)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_run_with_other_records_is_the_same_run(tmp_path):
    stopped_run(tmp_path)
    folder = RunFolder.create(tmp_path, small_spec(records={"gram": False}))
    assert not folder.spec().records.gram
    with pytest.raises(StoreError, match="already holds a run of another spec"):
        RunFolder.create(tmp_path, small_spec(seed=1))


@pytest.fixture
def mapped(tmp_path):
    """Return a federation whose images lie in a file."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "images.npy", rng.integers(0, 256, (40, 1, 28, 28), dtype=np.uint8))
    parts = np.array_split(np.arange(40), 4)

    def load():
        return FederatedData(
            name="images",
            features=np.load(tmp_path / "images.npy", mmap_mode="r"),
            targets=np.arange(40) % 10,
            train=tuple(part[:6] for part in parts),
            validation=tuple(part[6:7] for part in parts),
            test=tuple(part[7:] for part in parts),
            num_classes=10,
            pixels=Pixels(mean=0.5, std=0.5),
        )

    return load


def change_a_pixel(folder):
    images = np.load(folder / "images.npy", mmap_mode="r+")
    images[3, 0, 5, 5] ^= 1
    images.flush()
    del images


@pytest.mark.parametrize("old", [False, True])
def test_images_that_changed_are_refused_and_an_old_fingerprint_is_accepted(tmp_path, mapped, old):
    facts = data_facts(mapped())
    former = fingerprint(mapped(), mapped=False)
    stored = partition_bytes(replace(facts, fingerprint=former) if old else facts)
    assert is_same_partition(stored, facts, {former})
    change_a_pixel(tmp_path)
    now = data_facts(mapped())
    assert now.fingerprint != facts.fingerprint
    # Format 1 did not look at the images, so an old folder cannot know.
    assert is_same_partition(stored, now, {fingerprint(mapped(), mapped=False)}) == old


def test_a_run_on_images_that_changed_is_not_resumed(tmp_path, mapped, monkeypatch):
    spec = small_spec(rounds=2, data={"name": "remote_table:clients"}, model={"name": "fmnist-cnn"})
    monkeypatch.setattr("fedmgda.experiments._run.build_data", lambda _: (mapped(), ()))
    folder = RunFolder.create(tmp_path / "run", spec)
    steps = execute(folder)
    for step in steps:
        if step.round_num == 1:
            break
    steps.close()
    open_run(folder.path).check_data(mapped())
    change_a_pixel(tmp_path)
    sentence = re.escape(f"The data is not what the run in {folder.path} began with; restore it")
    with pytest.raises(StoreError, match=sentence) as error:
        list(execute(folder))
    assert "go on with" not in str(error.value)
    with pytest.raises(StoreError, match=sentence):
        open_run(folder.path).check_data(mapped())


@pytest.mark.parametrize("junk", [b"", b"junk", b"PK\x03\x04"])
def test_a_damaged_partition_is_another_one_and_has_no_sizes(mapped, junk):
    assert not is_same_partition(junk, data_facts(mapped()))
    with pytest.raises(ValueError, match=r".+"):
        partition_sizes(junk)


def test_the_sizes_of_a_partition_are_those_of_the_clients(mapped):
    facts = data_facts(mapped())
    sizes = partition_sizes(partition_bytes(facts))
    for split, found in sizes.items():
        assert found.tolist() == facts.sizes[split].tolist()
    bare = partition_bytes(replace(facts, rows=None))
    assert partition_sizes(bare)["train"].tolist() == [6, 6, 6, 6]
    assert not is_same_partition(bare, facts)


def test_a_partition_from_before_the_sums_of_targets_were_kept_is_still_the_same(mapped):
    facts = data_facts(mapped())
    assert partition_target_sums(partition_bytes(facts)).tolist() == facts.target_sums.tolist()
    former = partition_bytes(replace(facts, target_sums=None))
    assert partition_target_sums(former) is None
    assert is_same_partition(former, facts)
    other = partition_bytes(replace(facts, target_sums=facts.target_sums + 1))
    assert not is_same_partition(other, facts)


def test_a_run_goes_on_on_its_own_path_only(tmp_path):
    folder = stopped_run(tmp_path)
    facts = (tmp_path / "environment.json").read_text()
    assert '"path": "compiled"' in facts
    (tmp_path / "environment.json").write_text(facts.replace("compiled", "torch"))
    with pytest.raises(StoreError, match="began on the torch path and would go on on the compiled"):
        carry_on(folder.path)
