"""A disk that is full at any call and at any byte: one sentence, code 4, and nothing is lost."""

import errno
import os
import shutil
import subprocess

import pytest

from fedmgda._errors import StoreError
from fedmgda.experiments import Collection, RunFolder, open_run, plan_sweep
from runs import carry_on, copy_of, finished_run, results, small_spec, stopped_run

TINY = {
    "rounds": 2,
    "data": {"name": "quadratics", "num_clients": 3},
    "model": {},
    "clients": {"local_epochs": 1},
    "evaluation": {"every": 1},
}


class FullDisk:
    """The functions of `os` on a disk that is full from a certain call on.

    The first call that is refused writes half of its bytes if it is a write, as a disk does.
    """

    def __init__(self, room=1 << 40):
        self.calls, self._room = 0, room

    def __getattr__(self, name):
        return getattr(os, name)

    def _count(self):
        self.calls += 1
        if self.calls > self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open(self, path, flags, *mode):
        if flags & (os.O_WRONLY | os.O_RDWR):
            self._count()
        return os.open(path, flags, *mode)

    def write(self, descriptor, view):
        if self.calls == self._room:
            self.calls += 1
            return os.write(descriptor, view[: len(view) // 2])
        self._count()
        return os.write(descriptor, view)

    def fsync(self, descriptor):
        del descriptor  # no real disk is waited for
        self._count()

    def replace(self, old, new):
        self._count()
        os.replace(old, new)  # noqa: PTH105

    def ftruncate(self, descriptor, size):
        self._count()
        os.ftruncate(descriptor, size)

    def makedirs(self, path, *, exist_ok):
        self._count()
        os.makedirs(path, exist_ok=exist_ok)  # noqa: PTH103


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return results(finished_run(tmp_path_factory.mktemp("disk") / "run", **TINY).path)


def attempt(path):
    """Run from the start or from where it stands; return the sentence with which it ended."""
    try:
        RunFolder.create(path, small_spec(**TINY))
        carry_on(path)
    except StoreError as error:
        return str(error)
    return None


def calls_until_it_is_done(monkeypatch, make, whole):
    """Refuse the first call, then the second, ...; every time go on without the fault."""
    for room in range(1000):
        path, disk = make(room), FullDisk(room)
        with monkeypatch.context() as patch:
            patch.setattr("fedmgda._files.os", disk)
            sentence = attempt(path)
            if sentence is None:
                assert disk.calls <= room
                return room
            assert "No space left on device" in sentence
            assert str(path) in sentence
            patch.setattr("fedmgda._files.os", FullDisk())
            assert attempt(path) is None
        assert results(path) == whole
        open_run(path).check()
        assert not list(path.glob(".*.tmp"))
        shutil.rmtree(path)
    raise AssertionError


def test_a_run_survives_a_full_disk_at_every_call(monkeypatch, tmp_path, whole):
    assert calls_until_it_is_done(monkeypatch, lambda room: tmp_path / str(room), whole) > 60


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_resume_survives_a_full_disk_at_every_call(monkeypatch, tmp_path, whole, after):
    stopped = stopped_run(tmp_path / "stopped", after, **TINY).path
    for name in ("rounds.jsonl", "evaluations.jsonl", "timings.jsonl", "gram.bin"):
        with (stopped / name).open("ab") as file:
            file.write(b'{"round": 9, "torn')  # so that there is something to cut back

    def again(room):
        return copy_of(stopped, tmp_path / str(room))

    assert calls_until_it_is_done(monkeypatch, again, whole) > 15


def test_a_table_of_a_sweep_survives_a_full_disk(monkeypatch, tmp_path):
    collection = Collection(tmp_path, plan_sweep({**TINY, "sweep": {"seeds": [0]}}))
    for room in range(12):
        with monkeypatch.context() as patch:
            patch.setattr("fedmgda._files.os", FullDisk(room))
            with pytest.raises(StoreError, match=r"summary\.(csv|md|json) cannot be written"):
                collection.write_table()
    collection.write_table()


def unmount(place):
    subprocess.run(["umount", str(place)], check=True)


def test_a_run_survives_a_disk_of_any_size(small_disk, whole):
    for pages in range(200):
        path = small_disk(pages) / "run"
        sentence = attempt(path)
        if sentence is None:
            break
        assert "No space left on device" in sentence, pages
        small_disk(1000, "remount")
        assert attempt(path) is None, pages
        assert results(path) == whole, pages
        unmount(path.parent)
    assert 15 < pages < 199


def test_a_resume_survives_a_disk_with_any_room_left(small_disk, whole, tmp_path):
    stopped = stopped_run(tmp_path / "stopped", 1, **TINY).path
    for name in ("rounds.jsonl", "gram.bin"):
        with (stopped / name).open("ab") as file:
            file.write(b"torn")
    for pages in range(200):
        path = copy_of(stopped, small_disk(1000) / "run")
        with (path.parent / "ballast").open("wb") as file:  # all but so many pages are taken
            free = os.statvfs(path).f_bavail
            file.write(bytes((free - pages) * os.sysconf("SC_PAGE_SIZE")))
        sentence = attempt(path)
        if sentence is None:
            break
        assert "No space left on device" in sentence, pages
        (path.parent / "ballast").unlink()
        assert attempt(path) is None, pages
        assert results(path) == whole, pages
        unmount(path.parent)
    assert 5 < pages < 199
