"""Where every published study comes from, and what its cells give when they are run again."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from fedmgda.paper import open_published

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
STUDIES = sorted(path.parent for path in RESULTS.rglob("setting.json"))
# Published over several days, of which the records of the first keep no commit of their own.
SEVERAL = {
    "fmnist-attack", "protected-digits", "protected-fmnist", "protected-tuning/digits",
    "protected-tuning/fmnist", "sign-flips-digits",
}  # fmt: skip


def by_name(folder):
    return str(folder.relative_to(RESULTS))


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "run_again.py"
    spec = importlib.util.spec_from_file_location("run_again", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def facts():
    return json.loads((RESULTS / "again.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", STUDIES, ids=by_name)
def test_a_study_names_one_commit_and_its_seeds(folder):
    commits = {place.commit for place in open_published(folder).environments}
    assert all(re.fullmatch(r"[0-9a-f]{40}", commit) for commit in commits)
    assert (len(commits) > 1) == (by_name(folder) in SEVERAL)
    assert json.loads((folder / "setting.json").read_text(encoding="utf-8"))["seeds"]


def test_the_page_of_commits_says_what_the_records_say(script, facts):
    assert script.page(RESULTS, facts) == (RESULTS / "commits.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", STUDIES, ids=by_name)
def test_a_cell_was_run_again_by_every_commit_of_a_study(folder, facts):
    again = {cell["commit"] for cell in facts["cells"] if cell["study"] == by_name(folder)}
    assert again == {place.commit for place in open_published(folder).environments}


def test_where_a_cell_is_not_the_same_the_page_says_what_changed(script, facts):
    changed = {cell["study"] for cell in facts["cells"] if not script.is_same(cell)}
    assert changed == facts["changes"].keys()
