import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import StoreError
from fedmgda.federation import ServerState, latest_checkpoint, load_checkpoint, save_checkpoint


def state(round_num=7, **changes):
    fields = {
        "round_num": round_num,
        "params": np.arange(5, dtype=np.float32),
        "rule_state": {"lam": np.array([0.25, 0.75])},
        "average": np.arange(5) / 3,
        "failed_rounds": 2,
    }
    return ServerState(**(fields | changes))


@pytest.mark.parametrize("changes", [{}, {"average": None}, {"rule_state": {}}])
def test_a_state_comes_back_to_the_bit(tmp_path, changes):
    saved = state(**changes)
    loaded = load_checkpoint(save_checkpoint(saved, tmp_path))
    assert (loaded.round_num, loaded.failed_rounds) == (7, 2)
    assert loaded.params.dtype == np.float32
    np.testing.assert_array_equal(loaded.params, saved.params)
    np.testing.assert_array_equal(loaded.average, saved.average)
    assert loaded.rule_state.keys() == saved.rule_state.keys()
    for name, array in loaded.rule_state.items():
        np.testing.assert_array_equal(array, saved.rule_state[name])


def test_what_was_written_beside_it_is_remembered_by_its_digests(tmp_path):
    digests = {"rounds.jsonl": "0" * 64, "gram.bin": "f" * 64}
    assert load_checkpoint(save_checkpoint(state(records=digests), tmp_path)).records == digests
    assert load_checkpoint(save_checkpoint(state(8), tmp_path)).records == {}


def test_a_loaded_state_can_be_worked_with(tmp_path):
    loaded = load_checkpoint(save_checkpoint(state(), tmp_path))
    (loaded.params + 1).sum()
    loaded.params[0] = 5.0


def test_a_state_reads_back_however_it_lies_in_memory(tmp_path):
    turned = np.arange(12.0).reshape(3, 4).T
    state = {"turned": turned, "single": np.array(3.0), "every second": np.arange(9.0)[::2]}
    server = ServerState(round_num=1, params=np.ones(3, np.float32), rule_state=state)
    found = load_checkpoint(save_checkpoint(server, tmp_path)).rule_state
    for name, array in state.items():
        np.testing.assert_array_equal(found[name], array)


def test_the_newest_two_are_kept(tmp_path):
    for round_num in range(1, 6):
        save_checkpoint(state(round_num), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "round-00000004.safetensors",
        "round-00000005.safetensors",
    ]


@given(st.data())
def test_a_flipped_bit_anywhere_is_noticed(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("flip")
    path = save_checkpoint(state(), folder)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    # A flip in the header's padding or in the order of its keys may be harmless; a state that
    # differs from what was saved must never come back.
    try:
        loaded = load_checkpoint(path)
    except StoreError:
        return
    np.testing.assert_array_equal(loaded.params, state().params)
    np.testing.assert_array_equal(loaded.average, state().average)
    assert (loaded.round_num, loaded.failed_rounds) == (7, 2)


@given(st.integers(0, 400))
def test_a_truncated_file_is_noticed(tmp_path_factory, length):
    path = save_checkpoint(state(), tmp_path_factory.mktemp("cut"))
    content = path.read_bytes()
    path.write_bytes(content[: min(length, len(content) - 1)])
    with pytest.raises(StoreError, match="cannot be read"):
        load_checkpoint(path)


def test_a_damaged_newest_falls_back_to_the_one_before(tmp_path):
    save_checkpoint(state(1), tmp_path)
    save_checkpoint(state(2), tmp_path).write_bytes(b"torn")
    server, problems = latest_checkpoint(tmp_path)
    assert server.round_num == 1
    assert len(problems) == 1
    assert "round-00000002" in problems[0]


def test_only_damaged_checkpoints_are_an_error_not_a_new_start(tmp_path):
    save_checkpoint(state(1), tmp_path).write_bytes(b"")
    with pytest.raises(StoreError, match=r"No checkpoint in .* can be read"):
        latest_checkpoint(tmp_path)


def test_an_empty_folder_has_no_checkpoint(tmp_path):
    assert latest_checkpoint(tmp_path) == (None, [])


def test_a_half_written_temporary_file_is_not_a_checkpoint(tmp_path):
    save_checkpoint(state(3), tmp_path)
    (tmp_path / ".round-00000004.safetensors.tmp").write_bytes(b"half")
    server, problems = latest_checkpoint(tmp_path)
    assert server.round_num == 3
    assert problems == []


def test_a_checkpoint_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(StoreError, match=r"The checkpoint .* is not there"):
        load_checkpoint(tmp_path / "round-00000001.safetensors")


def test_states_are_not_written_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a symbolic link"):
        save_checkpoint(state(), tmp_path / "link")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("header", [b"[" * 50_000, b'{"__metadata__": 3}', b"{}"])
def test_a_header_that_is_none_is_one_sentence(tmp_path, header):
    path = tmp_path / "round-00000001.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(StoreError, match="cannot be read"):
        load_checkpoint(path)
