"""Pages of the site for what lies beside docs/: the files and folders that its pages link to.

In the repository such a link leads to the file. A browser that has only the site would download it,
or find nothing; so each gets a page, `repository/PATH.html`: Markdown as it reads, a program or a
table as a listing, a folder as what it says of itself and what it holds.
"""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it.token import Token
    from sphinx.application import Sphinx

    Highlight = Callable[[str, str], str]  # from a text and its language to HTML

__all__ = ["link_outside", "pages"]

DOCS = Path(__file__).parent
ROOT = DOCS.parent
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
CODE = "docutils literal notranslate"  # what the theme draws as code within a line
LEXERS = {".py": "python", ".toml": "toml", ".json": "json"}
MARKDOWN = MarkdownIt("commonmark").enable("table").use(anchors_plugin, max_level=4)
PICTURES = {".png", ".svg", ".webp", ".pdf"}


def link_outside(_app: Sphinx, name: str, source: list[str]) -> None:
    """Let the links of a page that leave docs/ lead to the pages made below."""
    folder = (DOCS / name).parent

    def replaced(match: re.Match[str]) -> str:
        text, target, anchor = match.groups()
        if (goal := (folder / target).resolve()).is_relative_to(DOCS):
            return match[0]
        return f'<a class="reference" href="{_up(name)}{_address(goal)}{anchor or ""}">{text}</a>'

    parts = FENCED.split(source[0])
    parts[::2] = [LINK.sub(replaced, part) for part in parts[::2]]
    source[0] = "".join(parts)


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Make the pages of all that is linked to, from docs/ or from one of these."""
    highlighter = app.builder.highlighter

    def highlighted(text: str, lexer: str) -> str:
        return str(highlighter.highlight_block(text, lexer or "text"))

    waiting = sorted({goal for page in DOCS.rglob("*.md") for goal in _goals(page)})
    known = set(waiting)
    for goal in waiting:
        if goal.suffix in PICTURES:
            copy = Path(app.outdir) / _address(goal)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(goal, copy)
            continue
        body, linked = _page(goal, highlighted)
        waiting += sorted(linked - known)
        known |= linked
        context = {"title": str(goal.relative_to(ROOT)), "body": body}
        yield _address(goal).removesuffix(".html"), context, "page.html"


def _goals(page: Path) -> Iterator[Path]:
    for part in FENCED.split(page.read_text(encoding="utf-8"))[::2]:
        for _, target, _ in LINK.findall(part):
            if not (goal := (page.parent / target).resolve()).is_relative_to(DOCS):
                yield goal


def _address(goal: Path) -> str:
    """Return where on the site something of the repository is.

    >>> _address(DOCS / "rules" / "afl.md"), _address(ROOT / "examples" / "own_rule.py")
    ('rules/afl.html', 'repository/examples/own_rule.py.html')
    """
    if goal.is_relative_to(DOCS):
        name = goal.relative_to(DOCS).as_posix()
        return re.sub(r"\.md$", ".html", name)
    name = f"repository/{quote(goal.relative_to(ROOT).as_posix())}"
    return name if goal.suffix in PICTURES else f"{name}.html"


def _up(name: str) -> str:
    return "../" * name.count("/")


def _page(goal: Path, highlighted: Highlight) -> tuple[str, set[Path]]:
    """Return the body of the page of a file or folder, and what it links to in its turn."""
    name = f'<code class="{CODE}">{escape(str(goal.relative_to(ROOT)))}</code>'
    texts = sorted(goal.glob("*.md")) if goal.is_dir() else [goal] * (goal.suffix == ".md")
    parts, linked = [] if texts else [f"<h1>{name}</h1>"], set()
    for text in texts:
        tokens, found = _read(text, goal)
        parts.append(_rendered(tokens, highlighted))
        linked |= found
    if goal.is_dir():
        inner = {path for path in goal.iterdir() if path.is_dir() and _has_pages(path)}
        parts += [f"<h2>What {name} holds</h2>", _folder(goal, inner)]
        linked |= inner
    elif not texts:
        lexer = LEXERS.get(goal.suffix, "text")
        parts.append(highlighted(goal.read_text(encoding="utf-8"), lexer))
    return "\n".join([*parts, f"<p>This is {name} of the repository.</p>"]), linked


def _read(text: Path, goal: Path) -> tuple[list[Token], set[Path]]:
    """Return a Markdown file with its links led where they lead on the site, and where to."""
    tokens, linked = MARKDOWN.parse(text.read_text(encoding="utf-8")), set()
    for part in [part for token in tokens for part in token.children or ()]:
        if part.type == "code_inline":
            part.attrSet("class", CODE)
        for name in ("href", "src"):
            target, _, anchor = str(part.attrs.get(name, "")).partition("#")
            if target and not re.match(r"[a-z]+:", target):
                found = (text.parent / unquote(target)).resolve()
                part.attrs[name] = _from(goal, found) + (f"#{anchor}" if anchor else "")
                linked |= {found} if not found.is_relative_to(DOCS) else set()
    return tokens, linked


def _rendered(tokens: list[Token], highlighted: Highlight) -> str:
    for token in tokens:
        if token.type == "fence":
            token.type, token.content = "html_block", highlighted(token.content, token.info)
    html = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
    html = html.replace(
        "<table>", '<div class="table-wrapper docutils container"><table class="docutils">'
    )
    return html.replace("</table>", "</table></div>")


def _folder(goal: Path, linked: set[Path]) -> str:
    """Return the list of what a folder holds, some of it with links."""
    rows = []
    for path in sorted(goal.iterdir()):
        name = escape(path.name)
        if path in linked:
            rows.append(f'<a href="{_from(goal, path)}">{name}/</a>')
        elif path.is_dir():
            rows.append(f"{name}/ ({len(list(path.iterdir()))} files)")
        else:
            rows.append(f"{name} ({path.stat().st_size:,} bytes)")
    listed = "\n".join(f"<li>{row}</li>" for row in rows if not row.startswith((".", "__")))
    return f"<ul>{listed}</ul>"


def _has_pages(folder: Path) -> bool:
    return any(path.suffix == ".md" or path.is_dir() for path in folder.iterdir())


def _from(goal: Path, other: Path) -> str:
    return _up(_address(goal)) + _address(other)
