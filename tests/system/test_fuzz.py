"""Whatever is read may be anything: a right answer or one sentence, never a traceback or a hang.

Each target has a corpus in `tests/data/corpus`, of inputs that broke something once or nearly. They
are read as they are, and changed at random beside good ones. The default run draws a few inputs,
`-m torture` many. A failure names the number of its input: `TARGETS[name](place).drawn(NUMBER)`
makes it again.
"""

import pytest

from fuzz_targets import TARGETS
from fuzzing import CORPUS

FEW, FEW_QUICK = 5, 150
ALL, ALL_QUICK = 600, 6000


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return an empty folder, the only one that may be written to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDMGDA_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # The engine that draws reserves more addresses than an input may take.
    monkeypatch.setattr("fedmgda.report.page._page.vega_script", lambda: "")
    return tmp_path


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs_and_all_that_broke_something_once(place, name):
    target = TARGETS[name](place)
    assert target.broken_by_corpus() == []
    assert target.broken(range(FEW_QUICK if target.quick else FEW)) == []


@pytest.mark.torture
@pytest.mark.parametrize("name", TARGETS)
def test_many_inputs(place, name):
    target = TARGETS[name](place)
    assert target.broken(range(ALL_QUICK if target.quick else ALL)) == []


def test_every_corpus_is_of_a_target(place):
    names = {folder.name for folder in CORPUS.iterdir()}
    assert names <= {*TARGETS}
