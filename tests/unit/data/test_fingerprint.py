import hashlib
import os
from dataclasses import replace

import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import FederatedData, fingerprint, load_adult, quadratic_federation
from fedmgda.data._fingerprint import _sha256_of


@pytest.fixture
def mapped(tmp_path):
    """Return a federation of two clients whose images are mapped from a file, and the file."""
    path = tmp_path / "images.npy"
    np.save(path, np.arange(8 * 6, dtype=np.uint8).reshape(8, 6))
    rows = tuple(np.array([2 * client, 2 * client + 1]) for client in range(4))
    data = FederatedData(
        name="mapped",
        features=np.load(path, mmap_mode="r"),
        targets=np.arange(8) % 2,
        train=rows[:2],
        validation=rows[2:],
        test=(np.array([], np.int64),) * 2,
        num_classes=2,
    )
    _sha256_of.cache_clear()
    return data, path


def changed(path):
    """Change one byte of a file behind the back of who has it mapped; keep its size."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def test_arrays_in_memory_have_the_fingerprint_they_always_had():
    data = quadratic_federation(3, 2, seed=0)
    expected = hashlib.sha256(data.targets.tobytes() + data.features.tobytes()).hexdigest()
    assert fingerprint(data) == fingerprint(data, mapped=False) == expected


def test_the_order_of_the_bytes_in_memory_does_not_matter():
    data = quadratic_federation(3, 2, seed=0)
    turned = replace(data, features=np.asfortranarray(data.features))
    assert fingerprint(turned) == fingerprint(data)


@pytest.mark.parametrize("field", ["features", "targets"])
def test_every_value_counts(field):
    data = quadratic_federation(3, 2, seed=0)
    values = getattr(data, field).copy()
    values.flat[-1] += 1
    assert fingerprint(replace(data, **{field: values})) != fingerprint(data)


def test_mapped_features_count_only_where_they_are_asked_for(mapped):
    data, path = mapped
    assert isinstance(data.features, np.memmap)
    targets = data.targets.tobytes()
    assert fingerprint(data, mapped=False) == hashlib.sha256(targets).hexdigest()
    file = hashlib.sha256(path.read_bytes()).digest()
    assert fingerprint(data) == hashlib.sha256(targets + file).hexdigest()


def test_a_mapped_file_that_changed_is_noticed(mapped):
    data, path = mapped
    old, without = fingerprint(data), fingerprint(data, mapped=False)
    changed(path)
    assert fingerprint(data) != old
    assert fingerprint(data, mapped=False) == without


def test_a_file_is_read_once_for_each_of_its_states(mapped):
    data, path = mapped
    for _ in range(3):
        fingerprint(data)
    assert _sha256_of.cache_info().misses == 1
    changed(path)
    fingerprint(data)
    assert _sha256_of.cache_info().misses == 2


def test_an_array_of_that_type_without_a_file_counts_by_its_content(mapped):
    data, _ = mapped
    copied = data.features.copy().view(np.memmap)
    assert copied.filename is None
    expected = hashlib.sha256(data.targets.tobytes() + copied.tobytes()).hexdigest()
    assert fingerprint(replace(data, features=copied)) == expected


def test_a_mapped_file_that_is_gone_is_named(mapped):
    data, path = mapped
    path.unlink()
    with pytest.raises(DataError, match=r"images.npy cannot be read again: No such file"):
        fingerprint(data)


def test_adult_is_what_it_was():
    try:
        data = load_adult()
    except DataError as error:
        pytest.skip(str(error))
    assert fingerprint(data)[:16] == "522a47cd9803b20c"
