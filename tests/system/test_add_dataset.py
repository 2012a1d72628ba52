"""A data set of the user's own is one new file, run by its entry name from the command line."""

import json
import os
import subprocess
import sys
import tomllib

import numpy as np
import pytest

FILE = '''
import numpy as np
from fedmgda.data import Examples, federate, iid_partition

def load(size, noise=0.0, names=("north", "south")):
    """Two regions whose inputs differ and whose labels follow one rule."""
    rng = np.random.default_rng(size)
    features = rng.normal(size=(size, 4)).astype(np.float32)
    targets = (features[:, 0] + noise * rng.normal(size=size) > 0).astype(np.int64)
    examples = Examples(name="regions", features=features, targets=targets, num_classes=2)
    portions = iid_partition(size, len(names), rng)
    return federate(examples, portions, seed=0, client_names=names)
'''

SPEC = """
rounds = 2
[data]
name = "regions:load"
options = { size = 90, names = ["east", "west", "far off"] }
"""


@pytest.fixture
def fedmgda(tmp_path):
    (tmp_path / "regions.py").write_text(FILE)
    (tmp_path / "spec.toml").write_text(SPEC)

    def run(*arguments, code=0):
        result = subprocess.run(
            [sys.executable, "-m", "fedmgda", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
            check=False,
        )
        assert "Traceback" not in result.stderr
        assert result.returncode == code, result.stderr
        return result

    return run


def test_a_data_set_is_added_by_one_file_and_run_from_the_command_line(fedmgda, tmp_path):
    fedmgda("run", "spec.toml", "--out", "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert [client["name"] for client in summary["clients"]] == ["east", "west", "far off"]
    with np.load(tmp_path / "run" / "partition.npz") as partition:
        sizes = [partition[f"{split}_sizes"] for split in ("train", "validation", "test")]
    assert sum(sizes).tolist() == [30, 30, 30]


def test_its_options_are_kept_in_the_run_folder_and_overridden(fedmgda, tmp_path):
    fedmgda("run", "spec.toml", "--out", "run", "-c", "data.options.noise=0.5")
    data = tomllib.loads((tmp_path / "run" / "spec.toml").read_text())["data"]
    assert data["options"] == {"size": 90, "names": ["east", "west", "far off"], "noise": 0.5}
    fedmgda("resume", "run")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("data.options.sizes=3", "data.options.sizes is no argument of 'regions:load'; did you"),
        ("data.options.size={a=1}", "data.options must be a table of texts, numbers, truth values"),
        ("data.name=digits", "data.options does not apply to 'digits' with the partition 'shards'"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(fedmgda, override, sentence):
    result = fedmgda("run", "spec.toml", "--out", "run", "-c", override, code=2)
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error:")]
    assert len(errors) == 1
    assert sentence in errors[0]
