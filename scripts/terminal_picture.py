"""Run a command in a terminal of 80 x 24 and draw what it printed: an SVG without outside fonts.

python scripts/terminal_picture.py docs/pictures/run.svg fedmgda run spec.toml --compare
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

WIDTH, HEIGHT = 80, 24
# rich links the fonts of its template from the network; a picture must not.
FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def printed(command: list[str]) -> str:
    """Return what a command shows on a terminal, its colours included."""
    os.environ |= {"COLUMNS": str(WIDTH), "LINES": str(HEIGHT), "TERM": "xterm-256color"}
    pieces: list[bytes] = []

    def read(descriptor: int) -> bytes:
        pieces.append(os.read(descriptor, 65536))
        return pieces[-1]

    code = os.waitstatus_to_exitcode(pty.spawn(command, read))
    if code != 0:
        sys.exit(f"{shlex.join(command)} ended with code {code}.")
    return b"".join(pieces).decode()


def settled(text: str) -> str:
    """Return what stays on the screen: progress bars draw over themselves."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        ups = line.count("\x1b[1A")
        del lines[len(lines) - ups :]
        lines.append(re.split(r"\r|\x1b\[2K", line)[-1])
    return re.sub(r"\x1b\[\?25[lh]", "", "\n".join(lines)).rstrip()


def main(picture: Path, command: list[str]) -> None:
    """Write the picture of the last screen."""
    shown = settled(printed(command)).split("\n")[-HEIGHT:]
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(Text(f"$ {shlex.join(command)}", style="bold"))
    console.print(Text.from_ansi("\n".join(shown)))
    drawn = console.export_svg(title="fedmgda", theme=MONOKAI)
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(FONT_FACES.sub("", drawn))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
