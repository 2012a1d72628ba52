"""The disk refuses: one sentence and our code, and nothing is written elsewhere."""

import pytest

from fedmgda.flower.wire._end import end_file, read_end
from flower_grid import MemoryGrid, run_over

SAVED = {"engine": {"checkpoint_seconds": 0.0, "client_timeout": 4.0}}


def broken_off(path):
    """Leave a run that can go on."""
    grid = MemoryGrid()

    def stop(question, answer):
        grid.gone = question.phase == "train" and question.header["round"] == 2
        return answer

    grid.twist[100] = stop
    assert run_over(path, grid, **SAVED) == 6


def test_events_are_not_written_through_a_link(tmp_path):
    path, elsewhere = tmp_path / "run", tmp_path / "elsewhere.txt"
    broken_off(path)
    (path / "nodes.jsonl").unlink()
    (path / "nodes.jsonl").symlink_to(elsewhere)
    assert run_over(path, MemoryGrid(), **SAVED) == 4
    assert "nodes.jsonl cannot be written: it is a symbolic link" in read_end(path).sentence
    assert not elsewhere.exists()


def test_what_cannot_be_written_at_all_does_not_hide_the_code(tmp_path, caplog):
    place = tmp_path / "file"
    place.write_text("no folder")
    with caplog.at_level("INFO", logger="flwr"):
        assert run_over(place / "run", MemoryGrid()) == 4
    assert "fedmgda: exit 4: " in caplog.text
    with pytest.raises(NotADirectoryError):
        end_file(place / "run").read_text()
