"""What is kept of a compiled function: believed if whole, done without where there is no place."""

import importlib.util
import logging
from pathlib import Path

import pytest
from numba import njit
from numba.core import config

from fedmgda.kernels import _prepare
from fedmgda.kernels._kept import is_kept, keep_on_disk

SOURCE = "def twice(x):\n    return x + x\n"


@pytest.fixture
def compile_anew(tmp_path):
    """Return a function that compiles as a process does that starts now."""
    path = tmp_path / "a_kernel.py"
    path.write_text(SOURCE)

    def compiled():
        spec = importlib.util.spec_from_file_location("a_kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made = njit(module.twice)
        keep_on_disk(made, module.twice)
        return made

    return compiled


def loaded(made):
    """Return whether the function came from the disk."""
    assert made(21) == 42
    return sum(made.stats.cache_hits.values()) == 1


def files(tmp_path, suffix):
    return sorted((tmp_path / "__pycache__").glob(f"*{suffix}"))


def test_the_next_process_loads_what_the_first_compiled(compile_anew):
    assert not loaded(first := compile_anew())
    assert is_kept(first)
    assert loaded(compile_anew())


def test_a_flipped_byte_anywhere_is_never_unpickled(compile_anew, tmp_path, monkeypatch):
    loaded(compile_anew())
    made = compile_anew()
    for suffix, read in ((".nbi", "_load_index"), (".nbc", "_load_data")):
        (path,) = files(tmp_path, suffix)
        whole, cache = path.read_bytes(), made._cache._cache_file
        given = () if suffix == ".nbi" else (path.name,)
        assert getattr(cache, read)(*given)
        with monkeypatch.context() as patch:
            patch.setattr("numba.core.caching.pickle", None)  # nothing of it is asked
            for at in range(0, len(whole), 1 + len(whole) // 150):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
                try:
                    assert getattr(cache, read)(*given) == {}
                except FileNotFoundError:
                    assert suffix == ".nbc"
        path.write_bytes(whole)


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\x80\x05K*."])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_cache_is_replaced(content, suffix, compile_anew, tmp_path):
    loaded(compile_anew())
    for path in files(tmp_path, suffix):
        path.write_bytes(content)
    assert not loaded(compile_anew())
    assert loaded(compile_anew())


def test_without_a_place_it_compiles(compile_anew, monkeypatch):
    monkeypatch.setattr(config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    monkeypatch.setattr(config, "CACHE_DIR", "/dev/null/none")
    assert not loaded(made := compile_anew())
    assert not is_kept(made)


def test_without_a_home_no_folder_is_made_where_it_runs(compile_anew, tmp_path, monkeypatch):
    def homeless(_):
        raise RuntimeError("Could not determine home directory.")

    (tmp_path / "__pycache__").write_text("no folder can be here")
    monkeypatch.setattr(Path, "home", classmethod(homeless))
    monkeypatch.setenv("HOME", "~")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert not is_kept(compile_anew())
    assert not (tmp_path / "~").exists()


def test_a_disk_that_refuses_costs_nothing_but_the_next_compilation(compile_anew, tmp_path):
    made = compile_anew()
    (tmp_path / "__pycache__").rmdir()
    (tmp_path / "__pycache__").write_text("no folder can be here")
    assert not loaded(made)
    assert not is_kept(made)


def test_what_could_not_be_kept_is_said_once(compile_anew, monkeypatch, caplog):
    monkeypatch.setattr(config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    made = compile_anew()
    monkeypatch.setattr(_prepare, "train", made)
    monkeypatch.setattr(_prepare, "_touch", lambda _: made(1))
    with caplog.at_level(logging.WARNING, logger="fedmgda"):
        _prepare.prepare(())
        _prepare.prepare(())
    (said,) = [message for message in caplog.messages if "NUMBA_CACHE_DIR" in message]
    assert said.startswith("They could not be kept on disk, so the next process compiles them")
