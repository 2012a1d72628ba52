"""The documentation site: `make docs` builds it from this folder, and warnings are errors.

Every page is Markdown that can also be read in the repository as it is. Nothing on the site is
fetched from elsewhere: formulas are MathML, search and style are local files.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError

sys.path.insert(0, str(Path(__file__).parent))
from repository_pages import link_outside, pages

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "fedmgda"
author = "the authors of fedmgda"
version = release = installed_version("fedmgda")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_allow_space = False
exclude_patterns = ["pictures"]
suppress_warnings = ["myst.header"]  # the sections of a study's page begin where it likes
html_theme = "furo"
html_title = "fedmgda"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_math_renderer = "mathml"
html_search_scorer = str(Path(__file__).parent / "search_scorer.js")
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures have them
napoleon_numpy_docstring = False
nitpicky = False


def as_rst(
    _app: Sphinx, _what: str, _name: str, _obj: object, _options: Any, lines: list[str]
) -> None:
    """Turn a docstring of ours into what autodoc reads: `code` as code, and no other marks."""
    example = False
    for number, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = re.split(r"(`[^`]+`)", line)
            lines[number] = "".join(
                f"`{part}`" if part.startswith("`") else re.sub(r"([*|]|_(?=\W|$))", r"\\\1", part)
                for part in parts
            )


def visit_math(self: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which every browser draws without a script."""
    display = "block" if node.tagname == "math_block" else "inline"
    formula = convert(node.astext(), display=display)
    if "\\" in formula:  # a command that was not understood is left as it is
        raise ExtensionError(f"{node.source}: {node.astext()} cannot be written as MathML.")
    wide = f'<div style="overflow-x: auto; padding: 0.4em 0">{formula}</div>'
    self.body.append(wide if display == "block" else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the above."""
    app.connect("source-read", link_outside)
    app.connect("html-collect-pages", pages)
    app.connect("autodoc-process-docstring", as_rst, priority=100)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
