import pytest

from fedmgda.data.sources._download import download
from fedmgda.data.sources._origin import SourceError
from unit.data.sources._toys import GOOD

CONTENT = bytes(range(256)) * 20_000


def get(server, target, path="/file", max_bytes=1 << 30):
    steps = []
    download(server.url + path, target, max_bytes=max_bytes, progress=steps.append)
    return steps


def part_of(target):
    return target.with_name(target.name + ".part")


def test_progress_grows_to_the_total(server, tmp_path):
    server.content["/file"] = CONTENT
    steps = get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    done = [step.done for step in steps]
    assert len(done) >= 5
    assert done == sorted(done)
    assert done[-1] == steps[0].total == len(CONTENT)


def test_a_broken_transfer_goes_on_where_it_stopped(server, tmp_path):
    server.content["/file"], server.cut = CONTENT, 2_000_000
    get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests == [None, "bytes=2000000-", "bytes=4000000-"]


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(server, tmp_path):
    server.content["/file"], server.cut = CONTENT, 1_000_000
    with pytest.raises(SourceError, match="ended after 3000000 of 5120000 bytes"):
        get(server, tmp_path / "file")
    assert part_of(tmp_path / "file").stat().st_size == 3_000_000
    server.cut = None
    get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.requests[-1] == "bytes=3000000-"
    assert not part_of(tmp_path / "file").exists()


def test_a_server_that_cannot_resume_is_asked_for_everything(server, tmp_path):
    server.content["/file"], server.ranges = CONTENT, False
    part_of(tmp_path / "file").write_bytes(b"old" * 100)
    get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_thrown_away(server, tmp_path):
    server.content["/file"] = GOOD
    part_of(tmp_path / "file").write_bytes(b"x" * (len(GOOD) + 1))
    get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == GOOD


def test_a_file_beyond_the_limit_is_refused(server, tmp_path):
    server.content["/file"] = CONTENT
    with pytest.raises(SourceError, match="larger than the 1000 bytes expected"):
        get(server, tmp_path / "file", max_bytes=1000)
    server.length = False
    with pytest.raises(SourceError, match="larger than the 2000000 bytes expected"):
        get(server, tmp_path / "file", max_bytes=2_000_000)
    assert list(tmp_path.iterdir()) == []


def test_only_web_and_file_addresses_are_opened(tmp_path):
    with pytest.raises(SourceError, match="ftp://x is not an address that can be fetched"):
        download("ftp://x", tmp_path / "file", max_bytes=1, progress=print)


def test_a_local_index_may_name_a_local_file(tmp_path):
    (tmp_path / "here").write_bytes(GOOD)
    url = (tmp_path / "here").as_uri()
    download(url, tmp_path / "there", max_bytes=1 << 20, progress=lambda _: None)
    assert (tmp_path / "there").read_bytes() == GOOD
