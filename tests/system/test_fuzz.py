"""Whatever is read may be anything: a right answer or one sentence, never a traceback or a hang.

Each target has a corpus in `tests/data/corpus`, of inputs that broke something once or nearly, which
is read as it is and changed at random. The default run draws a few inputs of each target, `-m
torture` thousands. A failure names the number of its input: `TARGETS[name](place).broken_by(NUMBER)`
makes it again.
"""

import pytest

from fuzz_targets import TARGETS

FEW, ALL = 40, 2500


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return an empty folder, the only one that may be written to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDMGDA_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", TARGETS)
def test_what_broke_once(place, name):
    assert TARGETS[name](place).broken_by_corpus() == []


@pytest.mark.parametrize("name", TARGETS)
def test_a_few(place, name):
    assert TARGETS[name](place).broken(range(FEW)) == []


@pytest.mark.torture
@pytest.mark.parametrize("name", TARGETS)
def test_all(place, name):
    assert TARGETS[name](place).broken(range(FEW, ALL)) == []
