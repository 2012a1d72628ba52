import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedmgda.data.sources._dataset import SourceError
from fedmgda.data.sources._idx import IDX_FILES, read_idx, restore_idx, store_idx, write_idx

arrays = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))


@given(arrays)
def test_reading_undoes_writing(array):
    again = read_idx(write_idx(array), "file")
    assert again.shape == array.shape
    assert np.array_equal(again, array)


@given(arrays, st.data())
def test_a_file_of_another_length_is_refused(array, data):
    content = write_idx(array)
    other = data.draw(st.sampled_from([content + b"\0", content[:-1], content[:3]]))
    with pytest.raises(SourceError, match=r"file (is not an idx file|has .* bytes)"):
        read_idx(other, "file")


def test_whole_numbers_of_four_bytes_are_read_too():
    header = bytes([0, 0, 0x0C, 2]) + (2).to_bytes(4) + (3).to_bytes(4)
    numbers = np.arange(6, dtype=">i4").reshape(2, 3)
    assert np.array_equal(read_idx(header + numbers.tobytes(), "file"), numbers)


def test_what_is_stored_gives_the_official_files_back(tmp_path):
    raw, folder = tmp_path / "raw", tmp_path / "folder"
    raw.mkdir()
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in IDX_FILES:
        shape = (7, 4, 5) if "images" in name else (7,)
        (raw / name).write_bytes(write_idx(rng.integers(0, 256, shape)))
    store_idx(raw, folder)
    for name in IDX_FILES:
        assert restore_idx(folder, name) == (raw / name).read_bytes()
    images = np.load(folder / "train-images.npy", mmap_mode="r", allow_pickle=False)
    labels = np.load(folder / "train-labels.npy", mmap_mode="r", allow_pickle=False)
    assert (images.shape, images.dtype) == ((7, 1, 4, 5), np.uint8)
    assert (labels.shape, labels.dtype) == ((7,), np.int64)
