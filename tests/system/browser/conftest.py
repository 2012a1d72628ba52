"""A real browser, the page of a small sweep, and a reader who tolerates no error and no request."""

import os
import subprocess
import sys

import pytest
from playwright.sync_api import Error, sync_playwright

from chromium import launch
from fedmgda.experiments import RunFolder, demo_table, merged, plan_sweep
from runs import carry_on

# Keeps every drawn view, so that a test can ask the library what it drew.
KEEP_VIEWS = """
window.drawn = {};
let embed;
Object.defineProperty(window, "vegaEmbed", {
  configurable: true,
  get: () => embed,
  set(given) {
    embed = async (place, ...rest) => {
      const made = await given(place, ...rest);
      window.drawn[place.id] = made.view;
      return made;
    };
  },
});
"""

SMALLER = {
    "rounds": 12,
    "data": {"num_clients": 8},
    "model": {"hidden": [8]},
    "clients": {"per_round": 4},
    "evaluation": {"every": 3},
}
PROTECTED = {
    "label": "protected",
    "rule": {"name": "fedmgda+"},
    "server": {"protect": True},
    "evaluation": {"pareto": True},
}


@pytest.fixture(scope="package")
def browser():
    """Return the browser; of this folder alone, for it keeps an event loop running."""
    with sync_playwright() as playwright:
        try:
            found = launch(playwright)
        except Error as error:
            pytest.skip(f"The browser does not start: {error.message.splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="package")
def sweep(tmp_path_factory):
    """Return the sweep of the demo, smaller, with one rule protected in place of the other two."""
    path = tmp_path_factory.mktemp("sweep")
    table = merged(demo_table(), SMALLER)
    averaged, _, ours, _ = table["sweep"]["variants"]
    table["sweep"]["variants"] = [averaged, ours, PROTECTED]
    for run in plan_sweep(table):
        folder = RunFolder.create(path / run.folder_name, run.spec)
        carry_on(folder.path)
    return path


@pytest.fixture(scope="package")
def report(sweep, tmp_path_factory):
    """Return the page that the command makes of the sweep."""
    page = tmp_path_factory.mktemp("page") / "report.html"
    subprocess.run(
        [sys.executable, "-m", "fedmgda", "report", str(sweep), "-o", str(page)],
        check=True,
        capture_output=True,
        timeout=120,
        env=os.environ | {"NO_COLOR": "1"},
    )
    return page


@pytest.fixture
def opened(browser):
    """Return a function that opens a page; whatever it complains of or asks for fails the test."""
    contexts, problems = [], []

    def call(path, *, width=1280, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",
            offline=True,
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        context.add_init_script(KEEP_VIEWS)
        here = path.as_uri()

        def asked(request):
            if request.url.partition("#")[0] != here and not request.url.startswith("blob:"):
                problems.append(f"asked for {request.url}")

        def dialog(shown):
            problems.append(f"dialog: {shown.message}")
            shown.dismiss()

        context.on("request", asked)
        context.on("dialog", dialog)
        context.on("weberror", lambda error: problems.append(f"error: {error.error}"))
        context.on(
            "console",
            lambda said: said.type in {"error", "warning"} and problems.append(said.text),
        )
        page = context.new_page()
        page.goto(here)
        page.locator("body[data-ready]").wait_for()
        return page

    yield call
    for context in contexts:
        context.close()
    assert problems == []
