"""The documentation site: it builds without a warning, needs nobody else, and is found through."""

import posixpath
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote_plus, unquote

import pytest

from chromium import launch, left_out

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
    """What a page loads, where the links of its text lead, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.links, self.anchors, self.in_text = [], [], set(), False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.in_text |= tag == "article"
        self.anchors.add(found.get("id"))
        if tag in {"script", "img", "iframe"} and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") == "stylesheet":
            self.loaded.append(found["href"])
        if tag == "a" and found.get("href") and self.in_text:
            self.links.append(unquote(found["href"]))

    def handle_endtag(self, tag):
        self.in_text &= tag != "article"


@pytest.fixture(scope="module")
def pages(site):
    """Return the pages that somebody wrote, by their place on the site."""
    made = {"search.html", "genindex.html"}
    paths = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    return {name: Page(path) for name, path in paths.items() if name not in made}


def leads_to(name, link):
    """Return the place on the site that a link of a page leads to, and the anchor there."""
    path, _, anchor = link.partition("#")
    return posixpath.normpath(
        posixpath.join(posixpath.dirname(name), path)
    ) if path else name, anchor


def test_nothing_is_fetched_from_elsewhere(site, pages):
    for name, page in pages.items():
        assert [url for url in page.loaded if re.match(r"(https?:)?//", url)] == [], name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8"))


def test_every_document_is_a_page_and_every_link_leads_to_a_place_that_is_there(site, pages):
    documents = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    assert {path.with_suffix(".html").as_posix() for path in documents} <= set(pages)
    for name, page in pages.items():
        for link in page.links:
            place, anchor = leads_to(name, link)
            if re.match(r"[a-z]+:", link):
                continue
            assert (site / place).is_file(), f"{name}: {link}"
            assert not anchor or anchor in pages[place].anchors, f"{name}: {link}"


def test_what_lies_beside_the_documents_is_shown_and_not_downloaded(site, pages):
    assert not (site / "_downloads").exists()
    assert "class Median" in re.sub(
        r"<[^>]*>", "", (site / "repository/examples/own_rule.py.html").read_text("utf-8")
    )
    assert "repository/examples/own_rule.py.html" in {
        leads_to("how-to/add-a-rule.html", link)[0]
        for link in pages["how-to/add-a-rule.html"].links
    }


def test_three_clicks_from_the_front_page_lead_everywhere(site, pages):
    reached = {"index.html"}
    for _ in range(3):
        seen = [leads_to(name, link)[0] for name in reached for link in pages[name].links]
        reached |= pages.keys() & set(seen)
    assert {name for name in pages if not name.startswith("repository/")} <= reached
    assert pages.keys() - reached == set()


ANSWERS = {  # what a stranger types, and the page of the answer
    "epsilon": "explanation/epsilon.html",
    "what does epsilon do": "explanation/epsilon.html",
    "what does ε do": "explanation/epsilon.html",
    "sacrificed": "explanation/protection.html",
    "can I trust": "explanation/protection.html",
    "nobody was sacrificed": "explanation/protection.html",
    "CSV": "tutorials/own-table.html",
    "how do I use my CSV": "tutorials/own-table.html",
    "own table": "tutorials/own-table.html",
    "add a rule": "how-to/add-a-rule.html",
    "new rule": "how-to/add-a-rule.html",
    "exit code 6": "exit-codes.html#exit-code-6",
    "what does exit code 6 mean": "exit-codes.html",
    "install": "install.html",
    "protect": "how-to/protect.html",
    "who blocks": "how-to/choose-epsilon.html#who-blocks",
    "attack": "how-to/under-attack.html",
    "fair": "how-to/is-it-fair.html",
    "rule.epsilon": "keys.html#rule-epsilon",
    "stalled": "words.html#stalled",
    "fedmgda+": "rules/fedmgda-plus.html",
}


def test_a_search_shows_the_answer_among_the_first_three(site):
    if why := left_out():
        pytest.skip(why)
    with ThreadPoolExecutor(1) as apart:  # other tests of the process keep an event loop running
        assert apart.submit(searched, site).result() == []


def searched(site):
    """Search in a browser for whatever should be found; return what it complained of."""
    problems = []
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (not installed everywhere)

    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_context(offline=True).new_page()
        page.on("console", lambda said: problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        for query, answer in ANSWERS.items():
            page.goto(f"{(site / 'search.html').as_uri()}?q={quote_plus(query)}")
            page.locator("ul.search > li").nth(2).wait_for()
            found = page.evaluate(
                "[...document.querySelectorAll('ul.search > li > a')].slice(0, 3)"
                ".map((link) => link.getAttribute('href'))"
            )
            assert answer in [link.partition("?")[0] for link in found], f"{query}: {found}"
        browser.close()
    return problems


QUESTIONS = {  # of the first readers: the front page answers each with one click
    "what does epsilon do": "explanation/epsilon.html",
    "can I trust it": "explanation/protection.html#can-i-trust-nobody-was-sacrificed",
    "how do I use my CSV": "tutorials/own-table.html",
    "how do I add a rule": "how-to/add-a-rule.html",
    "what does exit code 6 mean": "exit-codes.html#exit-code-6",
    "how do I install it": "install.html",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_front_page_leads_to_the_answer_at_once(pages, question):
    assert QUESTIONS[question] in pages["index.html"].links


def test_the_marks_of_command_blocks_are_on_no_page(site):
    for name in ("tutorials/own-table", "how-to/protect"):
        assert "&lt;!-- run" not in (site / f"{name}.html").read_text(encoding="utf-8")
