"""A cache that was damaged in any way is called so, and fetched again."""

import json
import os

import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import cache_root
from fedmgda.data.datasets._arrays import map_array
from fedmgda.data.datasets._images import IDX_FILES, restore_idx, store_idx, write_idx
from fedmgda.data.sources._archives import unpack_tar
from fedmgda.data.sources._cache import read_manifest
from fedmgda.data.sources._fetch import fetch_origin
from fedmgda.data.sources._verify import verify_origin
from unit.data.sources._toys import md5, tar_of, toy

LABELS = "t10k-labels-idx1-ubyte"
FILES = {
    name: write_idx(np.arange(12, dtype=np.uint8).reshape((3, 2, 2) if "images" in name else 12))
    for name in IDX_FILES
}
ARCHIVE = "/toy-1.0.tar.gz"


@pytest.fixture
def images(cache, server):
    """Return a data set of the form of Fashion-MNIST that is in the cache, and can be fetched."""
    server.content[ARCHIVE] = tar_of(FILES)
    origin = toy(
        server.url + ARCHIVE,
        files={name: md5(content) for name, content in FILES.items()},
        forms={"*.tar.gz": lambda path, to: unpack_tar(path, to, inside="", names=FILES)},
        store=store_idx,
        restore=restore_idx,
    )
    fetch_origin(origin, lambda _: None)
    return origin


def spoil(path, content):
    path.unlink()
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)


WHOLE = b"\x93NUMPY\x01\x00v\x00"
SPOILED = {
    "nothing": b"",
    "the magic alone": b"\x93NUMPY\x01\x00",
    "a header that is no dictionary": WHOLE + b"(" * 118,
    "a header that is no Python": WHOLE + b"'" * 118,
    "deep nesting": b"\x93NUMPY\x01\x00\xff\xff" + b"[" * 65535,
    "zeros": b"\0" * 500,
    "a pipe": None,
}


@pytest.mark.parametrize("content", SPOILED.values(), ids=SPOILED)
def test_a_spoiled_array_is_found_and_fetched_again(images, content):
    path = cache_root() / "toy" / IDX_FILES[LABELS]
    spoil(path, content)
    found = verify_origin(images)
    assert not found.ok
    assert {check.file for check in found.checks if not check.ok} == {LABELS, path.name}
    with pytest.raises((ValueError, DataError)):
        map_array(path)
    fetch_origin(images, lambda _: None)
    assert verify_origin(images).ok


MANIFESTS = {
    "a list": "[]",
    "a number": "3",
    "files as a list": '{"format": 1, "source": "x", "files": []}',
    "a file as a text": '{"format": 1, "source": "x", "files": {"a": "b"}}',
    "no digest": '{"format": 1, "source": "x", "files": {"a": {"bytes": 1, "sha256": 2}}}',
    "no files": '{"format": 1, "source": "x"}',
    "a source that is none": '{"format": 1, "source": [], "files": {}}',
    "a NUL in a name": json.dumps(
        {"format": 1, "source": "x", "files": {"a\0b": {"bytes": 1, "sha256": ""}}}
    ),
    "a way out": '{"format": 1, "source": "x", "files": {"../a": {"bytes": 1, "sha256": ""}}}',
    "deep nesting": '{"format":' * 100_000,
    "a number of 5,000 digits": '{"format": ' + "1" * 5000 + "}",
    "another encoding": "\xff",
}


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_is_none_is_as_good_as_no_data(images, text):
    path = cache_root() / "toy" / "manifest.json"
    path.write_bytes(text.encode("latin-1"))
    assert read_manifest("toy") is None
    with pytest.raises(DataError, match="toy is not in the cache"):
        verify_origin(images)
    fetch_origin(images, lambda _: None)
    assert verify_origin(images).ok


@pytest.mark.parametrize("chosen", ["~no-such-user/x", None])
def test_a_cache_in_the_home_of_nobody_is_a_sentence(chosen, monkeypatch):
    def unknown(_):
        raise KeyError("uid not found")

    for name in ("HOME", "XDG_CACHE_HOME", "FEDMGDA_DATA"):
        monkeypatch.delenv(name, raising=False)
    if chosen:
        monkeypatch.setenv("FEDMGDA_DATA", chosen)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(DataError, match="name a folder in the environment variable FEDMGDA_DATA"):
        cache_root()


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.torture)])
def test_a_flipped_byte_of_any_file_is_found_or_changes_no_example(images, step):
    """Of the manifest that may be where the data came from, and the names of other keys."""
    folder = cache_root() / "toy"
    before = {name: map_array(folder / name).tolist() for name in IDX_FILES.values()}
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for place in range(0, len(content), step):
            spoil(
                path,
                content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :],
            )
            try:
                ok = verify_origin(images).ok
            except DataError:
                ok = False
            if ok:
                assert path.name == "manifest.json", (path, place)
                assert before == {name: map_array(folder / name).tolist() for name in before}
        spoil(path, content)
    assert verify_origin(images).ok
