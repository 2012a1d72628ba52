"""The one way to write and to read: whole or not at all, no links, no devices, no surprises."""

import errno
import fcntl
import hashlib
import os
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import LockedError, StoreError
from fedmgda._files import (
    AppendedFile,
    file_digest,
    is_locked,
    is_there,
    make_folder,
    names_in,
    read_file,
    read_lines,
    read_part,
    remove_file,
    remove_temporary_files,
    start_digest,
    take_lock,
    truncate_file,
    write_file,
)


@given(st.binary(max_size=60), st.integers(0, 80), st.binary(max_size=5))
def test_a_digest_can_be_gone_on_with(tmp_path_factory, content, size, more):
    path = tmp_path_factory.mktemp("digest") / "file"
    path.write_bytes(content)
    digest = start_digest(path, size)
    digest.update(more)
    assert digest.hexdigest() == hashlib.sha256(content[:size] + more).hexdigest()
    assert start_digest(path.with_name("none"), size).hexdigest() == hashlib.sha256().hexdigest()


def lines(path, longest=100):
    return list(read_lines(path, longest))


def append(path, content=b"more"):
    file = AppendedFile(path)
    try:
        file.append(content)
    finally:
        file.close()


READS = {
    "read_file": lambda path: read_file(path, 100),
    "read_lines": lines,
    "read_part": lambda path: read_part(path, 0, 10),
    "file_digest": file_digest,
}
CHANGES = {
    "append": append,
    "truncate_file": lambda path: truncate_file(path, 0),
    "take_lock": lambda path: take_lock(path).close(),
}
BOTH = READS | CHANGES


@contextmanager
def locked_folder(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@pytest.fixture
def precious(tmp_path):
    path = tmp_path / "precious"
    path.write_bytes(b"123\n")
    return path


@pytest.mark.parametrize("content", [b"", b"new", bytes(3 << 20)])
def test_what_was_written_is_read(tmp_path, content):
    write_file(tmp_path / "file", b"old")
    write_file(tmp_path / "file", content)
    assert read_file(tmp_path / "file", len(content)) == content
    assert file_digest(tmp_path / "file")[1] == len(content)
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_write_that_is_refused_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, call, number
):
    write_file(tmp_path / "file", b"old")

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(f"fedmgda._files.os.{call}", refuse)
        with pytest.raises(StoreError, match=f"file cannot be written: {os.strerror(number)}"):
            write_file(tmp_path / "file", b"new")
    assert read_file(tmp_path / "file", 9) == b"old"
    assert names_in(tmp_path) == ["file"]


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_them_all(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr("fedmgda._files.os.write", lambda fd, view: write(fd, view[:3]))
    write_file(tmp_path / "file", b"0123456789")
    append(tmp_path / "file", b"abcdefg")
    assert read_file(tmp_path / "file", 99) == b"0123456789abcdefg"


def test_a_write_replaces_a_link_and_never_follows_it(tmp_path, precious):
    link = tmp_path / "link"
    link.symlink_to(precious)
    write_file(link, b"new")
    assert precious.read_bytes() == b"123\n"
    assert not link.is_symlink()
    assert link.read_bytes() == b"new"


def test_a_temporary_file_is_never_one_that_was_there(tmp_path, monkeypatch, precious):
    monkeypatch.setattr("fedmgda._files.os.urandom", bytes)
    (tmp_path / ".file.000000000000.tmp").symlink_to(precious)
    with locked_folder(tmp_path), pytest.raises(StoreError, match="cannot be written: File exists"):
        write_file(tmp_path / "file", b"new")
    assert precious.read_bytes() == b"123\n"


LEFT = (".file.0123456789ab.tmp", ".file.ba9876543210.tmp")
OTHERS = (".file.tmp", ".other.0123456789ab.tmp", "file.0123456789ab.tmp")


def test_what_writes_of_a_file_left_goes_with_the_next_and_nothing_else(tmp_path, precious):
    for name in (LEFT[0], *OTHERS):
        (tmp_path / name).touch()
    (tmp_path / LEFT[1]).symlink_to(precious)
    write_file(tmp_path / "file", b"new")
    assert names_in(tmp_path) == sorted((*OTHERS, "file", precious.name))
    assert precious.read_bytes() == b"123\n"


def test_nothing_is_removed_that_somebody_may_be_writing(tmp_path):
    (tmp_path / LEFT[0]).touch()
    with locked_folder(tmp_path):  # as every write does
        write_file(tmp_path / "file", b"new")
    assert names_in(tmp_path) == [LEFT[0], "file"]


def test_where_folders_have_no_locks_files_are_written_all_the_same(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fedmgda._files.fcntl.flock", refuse)
    write_file(tmp_path / "file", b"new")
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("name", BOTH)
def test_a_link_is_refused_and_its_target_is_as_it_was(tmp_path, precious, name):
    link = tmp_path / "link"
    link.symlink_to(precious)
    with pytest.raises(StoreError, match=r"link cannot be .*: it is a symbolic link"):
        BOTH[name](link)
    assert precious.read_bytes() == b"123\n"


@pytest.mark.parametrize("name", CHANGES)
def test_a_second_name_of_a_file_is_refused_and_the_file_is_as_it_was(tmp_path, precious, name):
    os.link(precious, tmp_path / "second")
    with pytest.raises(StoreError, match="has a second name"):
        CHANGES[name](tmp_path / "second")
    assert precious.read_bytes() == b"123\n"


@pytest.mark.parametrize("name", BOTH)
def test_a_pipe_never_hangs(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    done = threading.Event()

    def attempt():
        with pytest.raises(StoreError, match="is not a regular file"):
            BOTH[name](tmp_path / "pipe")
        done.set()

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    assert done.wait(10)


@pytest.mark.parametrize("name", BOTH)
def test_a_device_is_never_read_nor_written(tmp_path, name):
    try:
        os.mknod(tmp_path / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only the superuser can make a device")
    with pytest.raises(StoreError, match=r"is not a regular file|Permission denied"):
        BOTH[name](tmp_path / "zero")


@pytest.mark.parametrize("name", BOTH)
def test_a_folder_in_the_place_of_a_file_is_a_sentence(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=r"folder (cannot be .*directory|is not a regular file)"):
        BOTH[name](tmp_path / "folder")


@pytest.mark.parametrize("name", [*BOTH, "write_file"])
@pytest.mark.parametrize("odd", ["a\0b", "x" * 300])
def test_a_name_no_file_can_have_is_a_sentence(tmp_path, name, odd):
    act = BOTH.get(name, lambda path: write_file(path, b""))
    with pytest.raises(StoreError, match="cannot be"):
        act(tmp_path / odd)


def test_a_file_larger_than_expected_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, 1 << 40)  # a terabyte of nothing
    with pytest.raises(StoreError, match=r"has 1099511627776 bytes, more than the 100"):
        read_file(path, 100)
    with pytest.raises(StoreError, match="a line has more than 100 bytes"):
        lines(path)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    read = os.read

    def grow(descriptor, size):
        path.write_bytes(bytes(1000))
        return read(descriptor, size)

    monkeypatch.setattr("fedmgda._files.os.read", grow)
    with pytest.raises(StoreError, match="more than the 10 such a file may have"):
        read_file(path, 10)


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line)), st.binary())
def test_lines_are_the_whole_ones(tmp_path_factory, whole, torn):
    path = tmp_path_factory.mktemp("lines") / "file"
    torn = torn.replace(b"\n", b"")
    path.write_bytes(b"".join(line + b"\n" for line in whole) + torn)
    assert lines(path, 1000) == whole


def test_long_files_are_read_line_by_line(tmp_path):
    whole = [bytes([65 + i % 26]) * (i % 977) for i in range(4000)]
    (tmp_path / "file").write_bytes(b"".join(line + b"\n" for line in whole))
    assert lines(tmp_path / "file", 1000) == whole


def test_what_is_not_there_is_empty(tmp_path):
    path = tmp_path / "nothing"
    assert read_file(path, 1) is None
    assert file_digest(path) is None
    assert lines(path) == []
    assert read_part(path, 0, 5) == b""
    assert names_in(path) == []
    assert not is_there(path)
    assert not is_locked(path)
    remove_file(path)
    truncate_file(path, 0)
    with pytest.raises(StoreError, match="has 0 bytes, fewer than the 3"):
        truncate_file(path, 3)


def test_a_part_is_cut_where_the_file_ends(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_part(tmp_path / "file", 3, 4) == b"3456"
    assert read_part(tmp_path / "file", 8, 1 << 50) == b"89"
    assert read_part(tmp_path / "file", 99, 4) == b""


@pytest.mark.parametrize("size", [0, 4, 10])
def test_a_file_is_cut_to_its_beginning(tmp_path, size):
    (tmp_path / "file").write_bytes(b"0123456789")
    truncate_file(tmp_path / "file", size)
    assert (tmp_path / "file").read_bytes() == b"0123456789"[:size]


def test_a_dangling_link_is_there(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    assert is_there(tmp_path / "link")


def test_only_temporary_files_are_cleared_away(tmp_path):
    for name in (".a.1f.tmp", "a.tmp", ".tmp", "a"):
        (tmp_path / name).touch()
    remove_temporary_files(tmp_path)
    assert names_in(tmp_path) == [".tmp", "a", "a.tmp"]


def test_a_folder_is_made_with_those_above_it_or_a_sentence(tmp_path, precious):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(StoreError, match="cannot be written: Not a directory"):
        make_folder(precious / "b")


def test_a_file_that_is_appended_to_can_be_closed_and_taken_up_again(tmp_path):
    file = AppendedFile(tmp_path / "file")
    file.sync()
    file.close()
    for part in (b"one", b"two"):
        file.append(part)
        file.sync()
        file.close()
    assert (tmp_path / "file").read_bytes() == b"onetwo"


LOCK_AND_WAIT = """
import sys
from pathlib import Path
from fedmgda._files import take_lock
with take_lock(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_lock_keeps_others_out_and_names_its_owner(tmp_path):
    path = tmp_path / "lock"
    assert not is_locked(path)
    with subprocess.Popen(
        [sys.executable, "-c", LOCK_AND_WAIT, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout.readline() == b"locked\n"
        before = path.read_bytes()
        assert is_locked(path)
        with pytest.raises(LockedError, match=f"Process {other.pid} is working in {tmp_path}"):
            take_lock(path)
        assert path.read_bytes() == before
        other.stdin.close()
    with take_lock(path):
        assert path.read_bytes() == f"{os.getpid()}\n".encode()
    assert not is_locked(path)


def test_a_look_at_a_lock_does_not_keep_its_next_owner_out(tmp_path):
    path, stop = tmp_path / "lock", threading.Event()
    path.touch()

    def look():
        while not stop.is_set():
            is_locked(path)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(50):
            take_lock(path).close()
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("content", [b"thesis", b"12 monkeys", bytes(3), b"1\n2\n"])
def test_a_file_that_is_no_lock_is_not_taken_for_one(tmp_path, content):
    (tmp_path / "lock").write_bytes(content)
    with pytest.raises(StoreError, match="is not a lock of fedmgda"):
        take_lock(tmp_path / "lock")
    assert (tmp_path / "lock").read_bytes() == content
