import importlib.util
import subprocess
from pathlib import Path

import pytest

from fedmgda.paper import open_published

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_published_cell_is_the_same_by_its_commit_and_by_the_sources_of_now(tmp_path):
    spec = importlib.util.spec_from_file_location("run_again", ROOT / "scripts" / "run_again.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = ROOT / "results" / "digits-attack"
    (place,) = open_published(folder).environments
    known = ["git", "cat-file", "-e", place.commit]
    if subprocess.run(known, cwd=ROOT, check=False, capture_output=True).returncode:
        pytest.skip("the history of the repository is not here")
    (found,) = script.again(ROOT / "results", folder, tmp_path)
    assert found["model_then"] == found["model_now"]
    assert found["accuracy_gap"] == 0.0
