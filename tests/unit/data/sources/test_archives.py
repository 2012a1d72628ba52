import gzip
import tarfile

import pytest

from fedmgda.data.sources import _archives
from fedmgda.data.sources._archives import gunzip, unpack_deb, unpack_tar
from fedmgda.data.sources._origin import SourceError
from unit.data.sources._toys import ar_of, tar_of


def unpack(tmp_path, members, names=("a.txt",)):
    archive, folder = tmp_path / "x.tar.gz", tmp_path / "out"
    archive.write_bytes(tar_of(members))
    folder.mkdir()
    unpack_tar(archive, folder, inside="top", names=names)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_only_the_named_members_come_out(tmp_path):
    members = {"top/a.txt": b"a", "top/b.txt": b"b", "other/a.txt": b"c", "./top/c.txt": b"d"}
    assert unpack(tmp_path, members, ("a.txt", "c.txt")) == {"a.txt": b"a", "c.txt": b"d"}


@pytest.mark.parametrize("name", ["../a.txt", "/etc/a.txt", "top/../../a.txt", "..\\a.txt"])
def test_a_path_that_leads_out_is_refused(tmp_path, name):
    with pytest.raises(SourceError, match="which leads out of it"):
        unpack(tmp_path, {name: b"!"})
    assert list((tmp_path / "out").iterdir()) == []


def link(kind):
    def change(info):
        info.type, info.linkname = kind, "/etc/passwd"
        return info

    return change


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_link_or_device_is_refused(tmp_path, kind):
    with pytest.raises(SourceError, match="no plain file or folder"):
        unpack(tmp_path, {"top/a.txt": link(kind)})
    assert list((tmp_path / "out").iterdir()) == []


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_archives, "MAX_BYTES", 1000)
    assert unpack(tmp_path, {"top/a.txt": b"0" * 1000}) == {"a.txt": b"0" * 1000}
    (tmp_path / "again").mkdir()
    with pytest.raises(SourceError, match="more than a data set should"):
        unpack(tmp_path / "again", {"top/a.txt": b"0" * 1001})


def test_an_archive_of_too_many_members_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_archives, "MAX_MEMBERS", 3)
    with pytest.raises(SourceError, match="more than a data set should"):
        unpack(tmp_path, {f"top/{number}": b"" for number in range(4)})


def test_a_zipped_file_that_unzips_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_archives, "MAX_BYTES", 1000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"0" * 1001))
    with pytest.raises(SourceError, match=r"a.gz unpacks to more than 1000 bytes"):
        gunzip(tmp_path / "a.gz", tmp_path)


def test_a_debian_package_is_read_without_its_tools(tmp_path):
    data = tar_of({"./usr/share/a.txt": b"a", "./usr/b.txt": b"b"}, mode="w:xz")
    package = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": data}
    (tmp_path / "a.deb").write_bytes(ar_of(package))
    unpack_deb(tmp_path / "a.deb", tmp_path, inside="usr/share", names=["a.txt"])
    assert (tmp_path / "a.txt").read_bytes() == b"a"


@pytest.mark.parametrize(
    "content", [b"", b"!<arch>\n", b"!<arch>\n" + b"x" * 70, ar_of({"data.tar.xz": b"\xfd7zXZ"})]
)
def test_something_else_is_no_debian_package(tmp_path, content):
    (tmp_path / "a.deb").write_bytes(content)
    with pytest.raises(SourceError, match=r"a.deb is (damaged|not a Debian package)"):
        unpack_deb(tmp_path / "a.deb", tmp_path, inside="usr", names=["a.txt"])
