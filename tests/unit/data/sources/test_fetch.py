import errno
import gzip
import hashlib
import json
import os
import re
import shutil

import pytest

from fedmgda._errors import DataError, LockedError
from fedmgda.data.sources import _download
from fedmgda.data.sources._cache import cached_folder, locked
from fedmgda.data.sources._fetch import fetch_origin, import_origin
from fedmgda.data.sources._verify import verify_origin
from unit.data.sources._toys import FILES, GOOD, tar_of, toy

SHA256 = hashlib.sha256(GOOD).hexdigest()
ARCHIVE = "/toy-1.0.tar.gz"


def fetch(dataset):
    steps = []
    return fetch_origin(dataset, steps.append), steps


def assert_one_sentence(error):
    text = str(error.value)
    assert "\n" not in text
    assert "fedmgda data import toy PATH" in text or "FEDMGDA_DATA" in text


def assert_nothing_is_left(cache):
    """Only locks may remain: no data set, no staging folder, no download."""
    assert cached_folder("toy") is None
    left = [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []
    assert list(cache.glob(".toy.new-*")) == []


def assert_the_next_fetch_works(cache, server):
    server.content[ARCHIVE] = GOOD
    folder, _ = fetch(toy(server.url + ARCHIVE, sha256=SHA256))
    assert {path.name: path.read_bytes() for path in folder.glob("*.txt")} == FILES
    assert not list((cache / ".downloads").glob("*"))


def test_a_fetch_stores_the_official_files_and_records_them(cache, server):
    server.content[ARCHIVE] = GOOD
    folder, steps = fetch(toy(server.url + ARCHIVE, sha256=SHA256))
    assert folder == cache / "toy"
    assert {path.name: path.read_bytes() for path in folder.glob("*.txt")} == FILES
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["source"] == "place 1"
    assert manifest["files"]["rows.txt"] == {
        "bytes": len(FILES["rows.txt"]),
        "sha256": hashlib.sha256(FILES["rows.txt"]).hexdigest(),
    }
    assert steps[-2].done == steps[-2].total == len(GOOD)


def test_what_is_cached_is_verified_and_not_fetched_again(cache, server):
    server.content[ARCHIVE] = GOOD
    fetch(toy(server.url + ARCHIVE))
    fetch(toy(server.url + ARCHIVE))
    assert len(server.requests) == 1


@pytest.mark.parametrize("spoil", ["flip", "truncate", "remove", "manifest"])
def test_a_damaged_cache_is_noticed_and_fetched_again(cache, server, spoil):
    server.content[ARCHIVE] = GOOD
    dataset = toy(server.url + ARCHIVE)
    folder, _ = fetch(dataset)
    path = folder / "rows.txt"
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    match spoil:
        case "flip":
            path.write_bytes(content)
        case "truncate":
            path.write_bytes(content[:-1])
        case "remove":
            path.unlink()
        case "manifest":
            (folder / "manifest.json").write_text("{")
    if spoil != "manifest":
        report = verify_origin(dataset)
        assert not report.ok
        assert {check.file for check in report.checks if not check.ok} == {"rows.txt"}
    fetch(dataset)
    assert verify_origin(dataset).ok


def flipped():
    content = bytearray(GOOD)
    content[len(content) // 2] ^= 1
    return bytes(content)


SPOILED = {
    "a flipped byte": (flipped(), "damaged|md5"),
    "a truncated archive": (GOOD[: len(GOOD) // 2], "damaged"),
    "no archive at all": (b"<html>please log in</html>", "damaged"),
    "another file under the right name": (
        tar_of({"toy-1.0/data/rows.txt": b"9,9,9\n", "toy-1.0/data/more.txt": b"4,5,6\n"}),
        "rows.txt has md5 .*, but the official file has",
    ),
    "a missing member": (
        tar_of({"toy-1.0/data/rows.txt": FILES["rows.txt"]}),
        "toy-1.0.tar.gz is damaged or another edition: no more.txt in it",
    ),
    "a path out of the archive": (
        tar_of({"toy-1.0/data/rows.txt": FILES["rows.txt"], "../evil.txt": b"!"}),
        r"the path '\.\./evil.txt', which leads out",
    ),
}


@pytest.mark.parametrize("what", SPOILED)
def test_spoiled_content_is_one_sentence_and_leaves_nothing(cache, server, tmp_path, what):
    server.content[ARCHIVE], reason = SPOILED[what]
    with pytest.raises(DataError, match=reason) as error:
        fetch(toy(server.url + ARCHIVE))
    assert_one_sentence(error)
    assert_nothing_is_left(cache)
    assert not list(tmp_path.rglob("evil.txt"))
    assert_the_next_fetch_works(cache, server)


def test_a_pinned_archive_is_refused_before_it_is_opened(cache, server):
    server.content[ARCHIVE] = flipped()
    with pytest.raises(DataError, match=r"toy-1.0.tar.gz has sha256 .*, expected " + SHA256):
        fetch(toy(server.url + ARCHIVE, sha256=SHA256))
    assert_nothing_is_left(cache)
    assert_the_next_fetch_works(cache, server)


def test_a_disk_that_fills_up_while_downloading_is_one_sentence(cache, server):
    waiting = cache / ".downloads" / "toy"
    waiting.mkdir(parents=True)
    (waiting / "toy-1.0.tar.gz.part").symlink_to("/dev/full")
    server.content[ARCHIVE] = GOOD
    with pytest.raises(DataError, match="is full and toy was not stored; free 1 MB") as error:
        fetch(toy(server.url + ARCHIVE))
    assert_one_sentence(error)
    assert_nothing_is_left(cache)
    assert_the_next_fetch_works(cache, server)


def test_a_disk_that_fills_up_while_storing_is_one_sentence(cache, server):
    def store(raw, folder):
        shutil.copy(raw / "more.txt", folder)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    server.content[ARCHIVE] = GOOD
    with pytest.raises(DataError, match="is full") as error:
        fetch(toy(server.url + ARCHIVE, store=store))
    assert_one_sentence(error)
    assert_nothing_is_left(cache)
    assert_the_next_fetch_works(cache, server)


def test_a_fetch_that_fails_leaves_the_older_content_alone(cache, server):
    server.content[ARCHIVE] = GOOD
    dataset = toy(server.url + ARCHIVE)
    folder, _ = fetch(dataset)
    (folder / "more.txt").write_bytes(b"spoiled")
    server.content[ARCHIVE] = flipped()
    with pytest.raises(DataError):
        fetch(dataset)
    assert (folder / "rows.txt").read_bytes() == FILES["rows.txt"]
    assert not verify_origin(dataset).ok


def test_what_a_fetch_left_that_was_killed_at_its_end_is_cleared_away(cache, server):
    assert_the_next_fetch_works(cache, server)
    (cache / ".downloads" / "toy").mkdir(parents=True)
    (cache / ".downloads" / "toy" / "toy-1.0.tar.gz").write_bytes(GOOD)
    assert_the_next_fetch_works(cache, server)
    assert len(server.requests) == 1


def test_what_a_killed_fetch_left_is_cleared_away(cache, server):
    (cache / ".toy.new-abc" / "raw").mkdir(parents=True)
    assert_the_next_fetch_works(cache, server)
    assert not list(cache.glob(".toy.new-*"))


def test_a_source_that_is_gone_or_silent_is_left_for_the_next(cache, server, monkeypatch):
    monkeypatch.setattr(_download, "ANSWER", 0.2)
    server.content |= {ARCHIVE: GOOD, "/silent": None}
    urls = ("/gone", "/silent", ARCHIVE)
    folder, steps = fetch(toy(*(server.url + url for url in urls), "http://127.0.0.1:1/refused"))
    assert json.loads((folder / "manifest.json").read_text())["source"] == "place 3"
    notes = [step.text for step in steps if "left" in step.text]
    assert notes == [
        "toy: place 1 left: it answered 404 Not Found",
        "toy: place 2 left: no answer within 0.2 s",
    ]


def test_when_no_source_answers_the_sentence_names_what_was_tried(cache, server):
    with pytest.raises(DataError, match=r"place 1: it answered 404.*; place 2: ") as error:
        fetch(toy(server.url + "/gone", "http://127.0.0.1:1/refused"))
    assert_one_sentence(error)


def test_without_sources_the_sentence_says_how_to_import(cache):
    with pytest.raises(DataError, match="from nowhere and run: fedmgda data import toy PATH"):
        fetch(toy())


def test_one_process_at_a_time_writes_a_data_set(cache, server):
    server.content[ARCHIVE] = GOOD
    with locked("toy"), pytest.raises(LockedError, match="Another process is writing toy"):
        fetch(toy(server.url + ARCHIVE))
    assert_the_next_fetch_works(cache, server)


def test_a_cache_that_cannot_be_a_folder_is_one_sentence(cache):
    cache.write_text("a file in the way")
    with pytest.raises(DataError, match="cannot be written") as error:
        fetch(toy("http://127.0.0.1:1/refused"))
    assert_one_sentence(error)


@pytest.mark.parametrize("form", ["plain", "zipped", "archive", "one file", "deep"])
def test_an_import_takes_the_forms_a_user_may_have(cache, tmp_path, form):
    path = tmp_path / "mine"
    path.mkdir()
    match form:
        case "plain" | "deep":
            inner = path / "a" / "b" if form == "deep" else path
            inner.mkdir(parents=True, exist_ok=True)
            for name, content in FILES.items():
                (inner / name).write_bytes(content)
        case "zipped":
            for name, content in FILES.items():
                (path / f"{name}.gz").write_bytes(gzip.compress(content))
        case _:
            (path / "toy-1.0.tar.gz").write_bytes(GOOD)
            path = path / "toy-1.0.tar.gz" if form == "one file" else path
    folder = import_origin(toy(), path)
    assert {file.name: file.read_bytes() for file in folder.glob("*.txt")} == FILES
    assert path.exists()
    assert verify_origin(toy()).ok


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "rows.txt, more.txt are not there"),
        ({"rows.txt": FILES["rows.txt"]}, "more.txt is not there"),
        ({"rows.txt": b"1", "more.txt": FILES["more.txt"]}, "rows.txt has md5"),
        ({"rows.txt.gz": gzip.compress(b"1" * 99)[:-9]}, "rows.txt.gz is damaged"),
    ],
)
def test_an_import_of_something_else_is_one_sentence(cache, tmp_path, content, reason):
    path = tmp_path / "mine"
    path.mkdir()
    for name, data in content.items():
        (path / name).write_bytes(data)
    with pytest.raises(DataError, match=re.escape(f"{path} was not imported as toy: {reason}")):
        import_origin(toy(), path)
    assert_nothing_is_left(cache)


def test_an_import_of_a_path_that_does_not_exist_is_one_sentence(cache, tmp_path):
    with pytest.raises(DataError, match="missing does not exist; name the folder or file"):
        import_origin(toy(), tmp_path / "missing")


def test_a_data_set_without_a_fixed_edition_takes_what_there_is(cache, tmp_path):
    path = tmp_path / "mine"
    path.mkdir()
    dataset = toy(files={})
    with pytest.raises(DataError, match=r"none of toy-1.0.tar.gz, \*.txt"):
        import_origin(dataset, path)
    (path / "own.txt").write_text("mine")
    folder = import_origin(dataset, path)
    assert verify_origin(dataset).ok
    (folder / "own.txt").write_text("mint")
    assert not verify_origin(dataset).ok
