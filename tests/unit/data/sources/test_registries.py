import importlib.util
import os

import pytest

from fedmgda.data.sources._origin import Download, SourceError
from fedmgda.data.sources._registries import locate


def client(folder, name, answer, *, code=0):
    """Put a program of that name on a path of its own."""
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {code}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_an_address_of_its_own_needs_no_client():
    download = Download(client="https", address="https://here/file", file="file")
    assert locate(download) == "https://here/file"


def test_npm_is_asked_for_the_address_of_the_package(programs):
    download = Download(client="npm", address="toy@1.0", file="toy-1.0.tgz")
    with pytest.raises(SourceError, match="npm is not installed"):
        locate(download)
    client(programs, "npm", "npm warn old config\nhttps://mirror.example/toy/-/toy-1.0.tgz")
    assert locate(download) == "https://mirror.example/toy/-/toy-1.0.tgz"
    client(programs, "npm", "npm error code E404", code=1)
    with pytest.raises(SourceError, match=r"the registry of npm does not list toy@1.0"):
        locate(download)


def test_apt_is_asked_for_the_address_of_the_package(programs):
    download = Download(client="apt", address="toy", file="toy.deb")
    client(programs, "apt-get", "'http://mirror.example/t/toy_1%7e0_all.deb' toy_1~0.deb 3 MD5:a")
    assert locate(download) == "http://mirror.example/t/toy_1%7e0_all.deb"
    client(programs, "apt-get", "E: Unable to locate package toy", code=100)
    with pytest.raises(SourceError, match="do not hold toy; apt-get update renews them"):
        locate(download)


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed here.")
def test_pip_is_asked_for_the_link_in_its_index_and_runs_nothing(tmp_path, monkeypatch):
    page = tmp_path / "simple" / "toy"
    page.mkdir(parents=True)
    (page / "index.html").write_text(
        '<a href="../../files/toy-1.0-py3-none-any.whl">toy-1.0-py3-none-any.whl</a>'
        '<a href="../../files/toy-1.0.tar.gz#sha256=00" data-requires-python="&lt;3">toy-1.0</a>'
    )
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    download = Download(client="pip", address="toy==1.0", file="toy-1.0.tar.gz")
    assert locate(download) == (tmp_path / "files" / "toy-1.0.tar.gz").as_uri()
    missing = Download(client="pip", address="toy==2.0", file="toy-2.0.tar.gz")
    with pytest.raises(SourceError, match=r"the indexes of pip do not list toy-2.0.tar.gz"):
        locate(missing)
