"""The message about compiling is there when kernels are compiled, and only then."""

import logging
import time

import pytest
from numba import njit

from fedmgda.kernels import _prepare


@pytest.fixture
def said(caplog):
    with caplog.at_level(logging.WARNING, logger="fedmgda"):
        yield lambda: caplog.messages


def test_kernels_that_come_from_the_disk_are_no_news_however_slow_it_is(monkeypatch, said):
    monkeypatch.setattr(_prepare, "_touch", lambda _: time.sleep(1.2))
    _prepare.prepare(())
    assert said() == []


def test_compiling_is_announced_once(monkeypatch, said):
    def touch(_):
        inner = njit(lambda x: x + 1)
        assert njit(lambda x: inner(x) + 1)(1) == 3

    monkeypatch.setattr(_prepare, "_touch", touch)
    _prepare.prepare(())
    assert len(said()) == 1
    assert said()[0].startswith("Compiling the kernels for small networks")
