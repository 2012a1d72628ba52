"""The fenced blocks of the documents: what each is marked as, and what running it must print.

A mark is an HTML comment in the line before the fence, which no rendered page shows:

    <!-- run -->            run in the default suite; `run: exit 2` where it ends with that code,
                            `run: with NAME` where a file or run is there already (`GIVEN`)
    <!-- slow -->           run in the slow suite
    <!-- shown: why -->     never run, and why
    <!-- file NAME -->      written to a file of that name, for the blocks after it
    <!-- output -->         what the block before it prints

The blocks of a page share a folder, in which `examples` is that of the repository. Of a `console`
block each line after `$ ` is a command, and the others are what it prints, `...` standing for any
lines; numbers and line breaks may differ. Of an `sh` block every line is a command.
"""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["COMMANDS", "GIVEN", "KINDS", "Block", "blocks_of", "documents", "told_alike"]

ROOT = Path(__file__).parents[1]
KINDS = {"console", "sh", "python", "toml", "text", "csv"}
COMMANDS = {"console", "sh", "python"}
FENCE = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILES = "python examples/hospitals/make_files.py hospitals && mv hospitals/new.csv ."
VISITS = f"""{FILES} && python -c '
from pathlib import Path
lines = []
for path in sorted(Path("hospitals").glob("*.csv")):
    head, *rows = path.read_text().splitlines()
    lines += [f"{{row}},{{path.stem}}" for row in rows]
Path("visits.csv").write_text("\\n".join([head + ",hospital", *lines]) + "\\n")'"""
GIVEN = {
    "": "true",
    "visits.csv": VISITS,
    "visits.toml": f"{VISITS} && fedmgda init visits.csv",
    "runs/visits": f"{VISITS} && grep -v ,, new.csv | head -4 > few.csv && mv few.csv new.csv"
    " && fedmgda init visits.csv && fedmgda run visits.toml",
    "spec.toml": "sed -e s/150/1/ -e '/^\\[server\\]/,$d' examples/spec.toml > spec.toml",
    "runs/mine": "fedmgda run examples/spec.toml -c rounds=10 -c server.decay=1 --out runs/mine",
}
"""How what a block needs is made, where a reader has their own."""

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page and line, its info string, its mark ("" if none), its text."""

    page: Path
    line: int
    kind: str
    mark: str
    text: str

    @property
    def word(self) -> str:
        """The first word of the mark."""
        return re.split(r"[:\s]", self.mark, maxsplit=1)[0]

    @property
    def exit_code(self) -> int:
        """The code that its last command shall end with."""
        found = re.search(r"exit (\d+)", self.mark)
        return int(found[1]) if found else 0

    @property
    def given(self) -> str:
        """What is there before it is run."""
        found = re.search(r"with (\S+)", self.mark)
        return found[1] if found else ""

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Its commands, each with what it is shown to print."""
        text = self.text.replace("\\\n", " ")
        if self.kind == "sh":
            lines = [line for line in text.splitlines() if line.strip() and line[0] != "#"]
            return [(line, "") for line in lines]
        found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
        return [(command, output) for command, output in found]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def documents() -> list[Path]:
    """Return the pages whose blocks are marked."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [*pages, *sorted(ROOT.glob("examples/*/README.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page; those that are Sphinx's own are left out."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page, text[: found.start()].count("\n") + 1, found[2].strip(), found[1] or "", found[3]
        )
        for found in FENCE.finditer(text)
        if not found[2].startswith("{")
    ]


def told_alike(shown: str, printed: str) -> str:
    """Return the first part of what is shown that was not printed; empty if there is none."""
    rest = _normal(printed)
    for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE):
        wanted = _normal(part)
        if wanted not in rest:
            return part
        rest = rest[rest.index(wanted) + len(wanted) :]
    return ""


def _normal(text: str) -> str:
    return " ".join(NUMBER.sub("#", text).split())
