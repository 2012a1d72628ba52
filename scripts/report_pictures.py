"""Photograph the page of `fedmgda report`, section by section, for the documents.

    PYTHONPATH=tests python scripts/report_pictures.py [FOLDER]

The runs are those of `fedmgda demo` and of report_pictures.toml beside this file, the latter also
with a broken client; what of them is in FOLDER (build/report-pictures) is not run again. The
window is 1280 px wide and light.
"""

from __future__ import annotations

import io
import sys
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

from chromium import launch
from fedmgda.experiments import RunFolder, demo_table, execute, plan_sweep
from fedmgda.report.page import build_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 1280, 2400  # higher than any section, so that none is put together from pieces
MARGIN = 20
BROKEN = {"name": "scale-update", "factor": 1e300, "clients": [7]}  # replies that are no numbers

# From a picture to the sweep and the section that it shows; None is the first screen.
SHOWN = {
    "first-screen": ("demo", None),
    "users": ("demo", "users"),
    "gains": ("protected", "gains"),
    "rounds": ("demo", "rounds"),
    "improved": ("demo", "improved"),
    "steering": ("demo", "steering"),
    "certificate": ("protected", "certificate"),
    "pareto": ("protected", "pareto"),
    "story": ("demo", "story"),
    "attack": ("demo", "attack"),
    "quarantine": ("broken", "quarantine"),
    "seconds": ("demo", "seconds"),
    "about": ("protected", "about"),
}


def made_page(folder: Path, name: str) -> Path:
    """Return the page of a sweep; runs that are not finished are run first."""
    own = Path(__file__).with_suffix(".toml")
    table = demo_table() if name == "demo" else tomllib.loads(own.read_text(encoding="utf-8"))
    if name == "broken":
        table |= {"attack": BROKEN}
        table["sweep"]["variants"].pop()  # who trains alone meets no attack
    for run in plan_sweep(table):
        path = folder / name / run.folder_name
        for _ in execute(RunFolder.create(path, run.spec)):
            pass
    page = folder / f"{name}.html"
    page.write_text(build_page([folder / name]).html, encoding="utf-8")
    return page


def photograph(page: Page, section: str | None) -> bytes:
    """Return a picture of a section, or of the first screen, with a margin."""
    if section is None:
        answers = page.locator(".answers").bounding_box() or {"y": 0, "height": HEIGHT}
        end = answers["y"] + answers["height"] + MARGIN
        return page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": end})
    place = page.locator(f"main > #{section}")
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    if box is None:
        raise SystemExit(f"There is no section {section}.")
    return page.screenshot(
        clip={
            "x": box["x"] - MARGIN,
            "y": box["y"] + 1,  # without the line between sections
            "width": box["width"] + 2 * MARGIN,
            "height": box["height"] - 2,
        }
    )


def main(folder: Path) -> None:
    """Make the pages, and write every picture."""
    warnings.filterwarnings("ignore", "invalid value encountered")  # what a broken client sends
    PICTURES.mkdir(exist_ok=True)
    pages = {name: made_page(folder, name) for name in dict.fromkeys(s for s, _ in SHOWN.values())}
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for name, path in pages.items():
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT},
                color_scheme="light",
                reduced_motion="reduce",
            )
            page.goto(path.resolve().as_uri())
            page.locator("body[data-ready]").wait_for()
            # What stays in place while one scrolls would lie over a section.
            page.add_style_tag(content="nav { position: static !important; }")
            for picture, (sweep, section) in SHOWN.items():
                if sweep == name:
                    image = Image.open(io.BytesIO(photograph(page, section)))
                    target = PICTURES / f"report-{picture}.webp"
                    image.convert("RGB").save(target, lossless=True, quality=100, method=6)
                    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1e3:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "report-pictures")
