"""Check that every relative link in the given Markdown files or folders leads to a file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote

FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+\s+(.+?)\s*#*$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors a Markdown page's headings get when it is shown on the web."""
    titles = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    """Return one sentence for each relative link of a page that leads nowhere."""
    text = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    problems = []
    for target in (first or second for first, second in LINK.findall(text)):
        if re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE):
            continue
        name, _, anchor = unquote(target).partition("#")
        goal = page.parent / name if name else page
        if not goal.exists():
            problems.append(f"{page} links to {target}, and {goal} does not exist.")
        elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
            problems.append(f"{page} links to {target}, and {goal} has no such heading.")
    return problems


def main(arguments: list[str]) -> int:
    """Print the broken links of all pages; return 1 if there are any."""
    roots = [Path(argument) for argument in arguments]
    missing = [f"{root} does not exist." for root in roots if not root.exists()]
    pages = [page for root in roots for page in sorted(root.rglob("*.md"))]
    pages += [root for root in roots if root.is_file()]
    problems = missing + [problem for page in pages for problem in broken_links(page)]
    print("\n".join([*problems, f"{len(pages)} pages, {len(problems)} broken links."]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
