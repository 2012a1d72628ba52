import hashlib
import io

import numpy as np
import pytest

from fedmgda._errors import DataError
from fedmgda.data import dataset_folder, encode_adult, load_adult, read_adult

ROW = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
    "Male, 2174, 0, 40, United-States, <=50K"
)
# The last row has no workclass, no occupation and no country.
PHD = "50, ?, 1, Doctorate, 16, Divorced, ?, Wife, Black, Female, 0, 0, 40, ?, >50K."


@pytest.fixture
def real():
    try:
        return dataset_folder("adult")
    except DataError as error:
        pytest.skip(str(error))


def test_a_row_has_one_column_for_each_known_value():
    features = encode_adult([row.split(", ") for row in (ROW, PHD)])
    assert features.shape == (2, 99)
    columns = [0 + 5, 8 + 0, 24 + 2, 31 + 8, 45 + 3, 51 + 0, 56 + 1, 58 + 0]
    assert np.flatnonzero(features[0]).tolist() == columns
    assert np.flatnonzero(features[1]).tolist() == [21, 25, 45, 55, 56]


def test_a_value_that_is_no_category_is_named_with_its_place():
    row = ROW.replace("Bachelors", "Bachelor").split(", ")
    with pytest.raises(DataError, match="Row 2 of Adult has 'Bachelor' in column 4"):
        encode_adult([ROW.split(", "), row])


def test_comments_and_empty_lines_are_no_rows(tmp_path):
    path = tmp_path / "adult.test"
    path.write_text(f"|1x3 Cross validator\n{ROW}.\n{PHD}\n\n")
    features, labels = read_adult(path)
    assert len(features) == 2
    assert labels.tolist() == [0, 1]


def test_a_short_line_is_named(tmp_path):
    path = tmp_path / "adult.data"
    path.write_text(f"{ROW}\n39, State-gov\n")
    with pytest.raises(DataError, match=r"adult.data has 2 columns in line 2 instead of 15"):
        read_adult(path)


def git_blob(array):
    """Return what `git hash-object` says of the array saved by NumPy."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    content = buffer.getvalue()
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("file", "rows", "phd", "blob", "blob_non_phd"),
    [
        ("adult.data", 32_561, 413, "bd26bbbc", "ef7d53e7"),
        ("adult.test", 16_281, 181, "71a446e2", "2e64ea56"),
    ],
)
def test_the_encoding_is_the_authors_byte_for_byte(real, file, rows, phd, blob, blob_non_phd):
    features, labels = read_adult(real / file)
    doctorate = features[:, 21] == 1
    assert features.shape == (rows, 99)
    assert doctorate.sum() == phd
    assert git_blob(features.astype(np.float64)).startswith(blob)
    assert git_blob(features[~doctorate].astype(np.float64)).startswith(blob_non_phd)
    rates = {"adult.data": (0.741, 0.234), "adult.test": (0.691, 0.231)}[file]
    assert (labels[doctorate].mean(), labels[~doctorate].mean()) == pytest.approx(rates, abs=5e-4)


def test_the_federation_has_the_domains_of_the_paper(real):
    data = load_adult()
    assert data.client_names == ("phd", "non-phd")
    assert [len(rows) for rows in data.train] == [330, 25_718]
    assert [len(rows) for rows in data.validation] == [41, 3_215]
    assert [len(rows) for rows in data.test] == [181, 16_100]
    assert data.features.dtype == np.float32
    for split in (data.train, data.validation, data.test):
        assert [data.features[rows][:, 21].mean() for rows in split] == [1.0, 0.0]
    assert all(np.all(np.diff(rows) > 0) for rows in data.train), "in the order of the file"
    assert min(rows.min() for rows in data.test) >= 32_561, "tested on the official test file"


def test_the_index_shift_takes_the_rows_that_follow(real):
    true, shifted = load_adult(), load_adult(index_shift=1)
    for rows, moved in zip(true.train, shifted.train, strict=True):
        assert np.array_equal(moved, rows + 1)
    assert shifted.features[shifted.train[0]][:, 21].mean() == pytest.approx(0.012, abs=1e-3)
    assert all(map(np.array_equal, true.test, shifted.test))


def test_a_shuffled_split_mixes_the_rows_of_a_domain(real):
    ordered, mixed = load_adult(), load_adult(local_split="shuffled", seed=1)
    assert [len(rows) for rows in mixed.train] == [330, 25_718]
    assert not np.array_equal(np.sort(mixed.train[0]), ordered.train[0])
    assert mixed.features[mixed.train[0]][:, 21].mean() == 1.0
