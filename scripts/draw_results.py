"""Draw the figures of published studies again, from what is published of them alone.

    python scripts/draw_results.py              # every study under results
    python scripts/draw_results.py FOLDER ...

No run is needed: `setting.json`, the table and `runs/*.json.xz` have all that figures show. Tables
and records are read, never written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fedmgda.paper import draw_published

RESULTS = Path(__file__).resolve().parents[1] / "results"


def main(folders: list[str]) -> None:
    """Draw into the folders themselves, and print what was drawn."""
    for folder in map(Path, folders) if folders else _studies(RESULTS):
        for file in draw_published(folder):
            print(file)


def _studies(results: Path) -> list[Path]:
    return sorted(path.parent for path in results.rglob("setting.json"))


if __name__ == "__main__":
    main(sys.argv[1:])
