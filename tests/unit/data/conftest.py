import pytest

from unit.data.sources._toys import serving


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("FEDMGDA_DATA", str(folder))
    return folder


@pytest.fixture
def server():
    with serving() as state:
        yield state
