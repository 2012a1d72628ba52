import io
import zipfile

import numpy as np
import pytest

from fedmgda._errors import DataError, SpecError
from fedmgda.data import Examples, Pixels, Table, load_folder, load_npz, load_own

FEATURES = np.arange(12.0).reshape(6, 2)


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_an_npz_file_becomes_examples(tmp_path):
    path = save(
        tmp_path / "own.npz", features=FEATURES, targets=np.array([3, 5, 5, 3, 7, 7]),
        client=np.array(["oslo", "bergen", "oslo", "oslo", "bergen", "bergen"]),
    )  # fmt: skip
    examples = load_npz(path)
    assert examples.features.dtype == np.float32
    assert examples.targets.tolist() == [0, 1, 1, 0, 2, 2]
    assert examples.num_classes == 3
    assert examples.group_names == ("bergen", "oslo")
    assert examples.groups.tolist() == [1, 0, 1, 1, 0, 0]


def test_floating_targets_are_regressed_on_and_bytes_with_a_height_are_images(tmp_path):
    images = np.zeros((3, 1, 4, 4), np.uint8)
    examples = load_npz(save(tmp_path / "a.npz", features=images, targets=np.ones(3)))
    assert examples.num_classes is None
    assert examples.targets.dtype == np.float32
    assert examples.features.dtype == np.uint8
    assert examples.pixels == Pixels(mean=0.0, std=1.0)
    assert examples.groups is None
    whole = load_npz(save(tmp_path / "b.npz", features=FEATURES.astype(int), targets=np.ones(6)))
    assert whole.features.dtype == np.float32
    assert whole.pixels is None


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"features": FEATURES}, "no array 'targets'; it has features"),
        ({"targets": np.ones(2)}, "no array 'features'; it has targets"),
        ({"features": FEATURES, "targets": np.ones(5)}, r"has the shape \(5,\); .* 6 examples"),
        (
            {"features": FEATURES, "targets": np.ones(6), "client": np.ones((6, 1))},
            r"'client' of own.npz has the shape \(6, 1\)",
        ),
        ({"features": np.array(["a"]), "targets": np.ones(1)}, "must be numbers of shape"),
        ({"features": np.ones(6), "targets": np.ones(6)}, "must be numbers of shape"),
        ({"features": np.ones((6, 0)), "targets": np.ones(6)}, r"of shape \(6, 0\)"),
        ({"features": FEATURES, "targets": np.ones(6, int)}, "Every target of own.npz is 1"),
        (
            {"features": FEATURES, "targets": np.array(["a\nb"] * 6)},
            r"Every target of own.npz is a\?b; there",
        ),
        (
            {"features": np.where(FEATURES == 7, np.nan, FEATURES), "targets": np.ones(6)},
            "'features' of own.npz has nan in example 3; numbers must be finite",
        ),
        ({"features": FEATURES, "targets": np.array([1, 2, 3, np.inf, 5, 6])}, "in example 3"),
        (
            {"features": np.array([{}, {}]), "targets": np.ones(2)},
            "not an npz file of plain arrays: 'features' holds Python objects; save numbers",
        ),
        (
            {"features": np.where(FEATURES == 7, 1e39, FEATURES), "targets": np.ones(6)},
            r"'features' of own.npz has 1e\+39 in example 3; .* below 1e\+30",
        ),
        (
            {"features": FEATURES, "targets": np.array([0, 1, -1e39, 0, 0, 0])},
            r"'targets' of own.npz has -1e\+39 in example 2",
        ),
        ({"features": FEATURES * 1j, "targets": np.ones(6)}, "'features' .* got complex128"),
        ({"features": FEATURES, "targets": np.ones(6) * 1j}, "'targets' .* got complex128"),
        (
            {"features": FEATURES, "targets": np.arange(6).astype("M8[D]")},
            r"'targets' of own.npz must be numbers or texts, got datetime64\[D\]",
        ),
        (
            {
                "features": FEATURES,
                "targets": np.ones(6),
                "client": np.array([1, np.nan, 1, 2, 2, 2]),
            },
            "'client' of own.npz is missing in example 1",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, sentence):
    with pytest.raises(DataError, match=sentence):
        load_npz(save(tmp_path / "own.npz", **arrays))


def test_a_missing_or_damaged_npz_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="There is no file"):
        load_npz(tmp_path / "none.npz")
    path = save(tmp_path / "own.npz", features=FEATURES, targets=np.ones(6))
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"own.npz is not an npz file of plain arrays"):
        load_npz(path)
    path.write_bytes(bytes(content[: len(content) // 2]))
    with pytest.raises(DataError, match=r"own.npz is not an npz file of plain arrays"):
        load_npz(path)


def header_of(shape):
    """The header of an .npy file, without a single number after it."""
    stream = io.BytesIO()
    description = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, description)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("features", b"abc", "'features' is damaged or no array"),
        ("features.npy", b"", "'features' is damaged or no array"),
        ("features.npy", b"\x93NUMPY\x01\x00\x02\x00{(", "'features' is damaged or no array"),
        ("features.npy", header_of((10**12, 8)), r"the shape \(1000000000000, 8\) of float64, but"),
        ("features.npy", header_of((-1, -1)) + bytes(8), "is damaged or no array"),
    ],
)
def test_a_member_that_is_no_array_is_refused_before_memory_is_taken(
    tmp_path, name, content, sentence
):
    path = save(tmp_path / "own.npz", targets=np.ones(6))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, content)
    with pytest.raises(DataError, match=sentence) as caught:
        load_npz(path)
    assert "pickle" not in str(caught.value)


def test_a_header_of_any_length_is_refused_without_unsafe_advice(tmp_path):
    path = tmp_path / "own.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("features.npy", b"\x93NUMPY\x01\x00\xff\xff" + b" " * 65535)
        archive.writestr("targets.npy", header_of((0,)))
    with pytest.raises(DataError, match=r"write it again with numpy.savez\.$") as caught:
        load_npz(path)
    assert "allow_pickle" not in str(caught.value)


def test_compressed_bytes_that_do_not_unpack_are_refused(tmp_path):
    path = tmp_path / "own.npz"
    noise = np.random.default_rng(0).integers(0, 9, (60, 4)).astype(float)
    np.savez_compressed(path, features=noise, targets=np.ones(60))
    content = bytearray(path.read_bytes())
    content[150:190] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(DataError, match="'features' is damaged or no array"):
        load_npz(path)


def test_an_encrypted_npz_file_is_refused(tmp_path):
    path = save(tmp_path / "own.npz", features=FEATURES, targets=np.ones(6))
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="'features' is encrypted; save it without a password"):
        load_npz(path)


def test_a_zip_of_another_time_is_refused(tmp_path):
    path = save(tmp_path / "own.npz", features=FEATURES, targets=np.ones(6))
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\x01\x02") + 6] = 200  # the version that it takes to unpack
    path.write_bytes(content)
    with pytest.raises(DataError, match="not an npz file of plain arrays: zip file version"):
        load_npz(path)


def test_half_precision_features_reach_their_own_limit(tmp_path):
    halves = np.full((2, 2), 65504, np.float16)
    examples = load_npz(save(tmp_path / "own.npz", features=halves, targets=np.ones(2)))
    assert examples.features.tolist() == [[65504, 65504]] * 2
    halves[1, 1] = np.inf
    with pytest.raises(DataError, match="has inf in example 1"):
        load_npz(save(tmp_path / "own.npz", features=halves, targets=np.ones(2)))


def test_the_task_of_arrays_may_be_chosen(tmp_path):
    whole = np.array([3.0, 5, 5, 3, 7, 7])
    path = save(tmp_path / "own.npz", features=FEATURES, targets=whole)
    assert load_own(path).num_classes is None
    classes = load_own(path, task="classification")
    assert classes.num_classes == 3
    assert classes.targets.tolist() == [0, 1, 1, 0, 2, 2]
    assert load_folder(tmp_path, task="classification").num_classes == 3
    path = save(tmp_path / "own.npz", features=FEATURES, targets=whole.astype(int))
    values = load_own(path, task="regression")
    assert values.num_classes is None
    assert values.targets.dtype == np.float32
    assert values.targets.tolist() == whole.tolist()


def test_targets_that_do_not_suit_the_task_are_refused(tmp_path):
    path = save(tmp_path / "own.npz", features=FEATURES, targets=np.arange(6) / 2)
    with pytest.raises(DataError, match=r"has 0.5 in example 1; classes are whole numbers"):
        load_own(path, task="classification")
    path = save(tmp_path / "own.npz", features=FEATURES, targets=np.array(list("ababab")))
    with pytest.raises(DataError, match=r"'targets' of own.npz are texts; regression needs"):
        load_own(path, task="regression")


@pytest.mark.parametrize("option", [{"target": "y"}, {"client": "c"}, {"features": ["x"]}])
def test_arrays_have_no_columns_to_choose(tmp_path, option):
    path = save(tmp_path / "own.npz", features=FEATURES, targets=np.ones(6))
    (key,) = option
    sentence = f"data.{key} does not apply to an npz file; its keys are features, targets and"
    with pytest.raises(SpecError, match=sentence):
        load_own(path, **option)
    if key != "client":
        with pytest.raises(SpecError, match=sentence):
            load_own(tmp_path, **option)


def test_hidden_files_of_a_folder_are_no_clients(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
    (tmp_path / "._a.csv").write_bytes(b"\x00\x05\x16\x07")
    assert load_folder(tmp_path, target="y").group_names == ("a",)


def test_two_files_of_one_client_are_refused(tmp_path):
    for name in ("a.csv", "a.CSV"):
        (tmp_path / name).write_text("x,y\n1,a\n2,b\n3,a\n")
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("this file system does not tell the two names apart")
    with pytest.raises(DataError, match=r"a.CSV and a.csv in .* are the same client, 'a'"):
        load_folder(tmp_path, target="y")


def test_an_npz_file_that_would_fill_the_memory_is_refused_unread(tmp_path, monkeypatch):
    path = save(tmp_path / "own.npz", features=FEATURES, targets=np.ones(6))
    monkeypatch.setattr("fedmgda.data.own._npz._MAX_BYTES", 100)
    with pytest.raises(DataError, match=r"unpacks to \d+ bytes, more than 100"):
        load_npz(path)


def test_a_folder_of_tables_names_its_clients_after_the_files(tmp_path):
    (tmp_path / "oslo.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
    (tmp_path / "bergen.csv").write_text("y,x\nb,4\nb,5\na,6\n")
    (tmp_path / "README").write_text("not a table")
    table = load_folder(tmp_path, target="y")
    assert isinstance(table, Table)
    assert table.group_names == ("bergen", "oslo")
    assert table.groups.tolist() == [0, 0, 0, 1, 1, 1]
    assert table.columns[0].values.tolist() == [4, 5, 6, 1, 2, 3]
    assert table.class_names == ("a", "b")


def test_a_folder_of_arrays_names_its_clients_after_the_files(tmp_path):
    save(tmp_path / "b.npz", features=FEATURES, targets=np.array([1, 1, 1, 2, 2, 2]))
    save(tmp_path / "a.npz", features=FEATURES[:2], targets=np.array([4, 2]))
    examples = load_folder(tmp_path)
    assert isinstance(examples, Examples)
    assert examples.group_names == ("a", "b")
    assert examples.groups.tolist() == [0, 0, 1, 1, 1, 1, 1, 1]
    assert examples.targets.tolist() == [2, 1, 0, 0, 0, 1, 1, 1]


def test_junk_in_a_folder_is_named_with_its_file(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,a\n" * 20)
    (tmp_path / "b.csv").write_text("x,y\n1,b\n?!,b\n1,b\n")
    with pytest.raises(DataError, match=r"row 3 of b.csv has"):
        load_folder(tmp_path, target="y")


def test_files_of_a_folder_must_agree(tmp_path):
    with pytest.raises(DataError, match="There is no folder"):
        load_folder(tmp_path / "none", target="y")
    with pytest.raises(DataError, match=r"one kind, .* it has none"):
        load_folder(tmp_path, target="y")
    (tmp_path / "a.csv").write_text("x,y\n1,a\n")
    (tmp_path / "b.csv").write_text("x,z\n1,a\n")
    with pytest.raises(DataError, match=r"a.csv and b.csv must have the same columns; .* has 'y'"):
        load_folder(tmp_path, target="y")
    save(tmp_path / "c.npz", features=FEATURES, targets=np.ones(6))
    with pytest.raises(DataError, match=r"it has \.csv and \.npz"):
        load_folder(tmp_path, target="y")
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b.csv").unlink()
    save(tmp_path / "d.npz", features=np.ones((6, 3)), targets=np.ones(6))
    with pytest.raises(DataError, match=r"features of d.npz have the shape \(3,\)"):
        load_folder(tmp_path)


def test_own_data_is_recognised_by_what_it_is(tmp_path):
    arrays = save(tmp_path / "own.npz", features=FEATURES, targets=np.ones(6))
    assert isinstance(load_own(arrays), Examples)
    (tmp_path / "own.csv").write_text("x,y\n1,a\n2,b\n")
    assert isinstance(load_own(tmp_path / "own.csv", target="y"), Table)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_text("x,y\n1,a\n2,b\n3,b\n")
    assert load_own(folder, target="y").group_names == ("a",)
    with pytest.raises(SpecError, match=r"data.target must name the column of own.csv"):
        load_own(tmp_path / "own.csv")
    with pytest.raises(SpecError, match=r"data.client = 'x' does not apply to the folder"):
        load_own(folder, target="y", client="x")
    with pytest.raises(
        SpecError, match=r"data.target must name the column of the tables in folder"
    ):
        load_own(folder)
