"""The documentation site: it builds without a warning, needs nobody else, and is found through."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

for package in ("sphinx", "furo", "myst_parser", "latex2mathml"):
    pytest.importorskip(package, reason="the group docs is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make docs` does, apart from what a user has built."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    return folder / "html"


class Page(HTMLParser):
    """What a page loads, and where its links lead."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.links = [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in {"script", "img", "iframe"} and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") == "stylesheet":
            self.loaded.append(found["href"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])


def test_nothing_is_fetched_from_elsewhere(site):
    for path in site.rglob("*.html"):
        assert [url for url in Page(path).loaded if re.match(r"(https?:)?//", url)] == [], path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8"))


def test_every_document_is_a_page_and_every_link_leads_to_a_file(site):
    for document in (ROOT / "docs").rglob("*.md"):
        page = site / document.relative_to(ROOT / "docs").with_suffix(".html")
        assert page.is_file()
        for link in Page(page).links:
            name = link.partition("#")[0]
            if name and not re.match(r"[a-z]+:", name):
                assert (page.parent / name).exists(), f"{document}: {link}"


QUESTIONS = {  # what a stranger types: its word as the index has it, and the page of the answer
    "what does epsilon do": ("epsilon", "explanation/epsilon"),
    "nobody was sacrificed": ("sacrif", "explanation/protection"),
    "how do I use my CSV": ("csv", "tutorials/own-table"),
    "how do I add a rule": ("rule", "how-to/add-a-rule"),
    "what does exit code 6 mean": ("exit", "exit-codes"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_search_leads_to_the_answer(site, question):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    word, page = QUESTIONS[question]
    number = index["docnames"].index(page)
    found = index["terms"].get(word, []), index["titleterms"].get(word, [])
    assert any(number in (where if isinstance(where, list) else [where]) for where in found)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_front_page_leads_to_the_answer_at_once(site, question):
    links = {link.partition("#")[0] for link in Page(site / "index.html").links}
    assert f"{QUESTIONS[question][1]}.html" in links
    assert "exit-codes.html#exit-code-6" in Page(site / "index.html").links


def test_the_marks_of_command_blocks_are_on_no_page(site):
    for name in ("tutorials/own-table", "how-to/protect"):
        assert "&lt;!-- run" not in (site / f"{name}.html").read_text(encoding="utf-8")
