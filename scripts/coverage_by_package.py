"""Print lines and branches covered, package by package; fail where a package is below 90 %."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

LEAST = 90.0
COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def main(path: Path) -> int:
    """Return 1 if a package is below the limit."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for file, report in json.loads(path.read_text())["files"].items():
        parts = Path(file).parts
        inside = parts[parts.index("fedmgda") + 1 :]
        package = inside[0] if len(inside) > 1 else "fedmgda"
        for place, name in enumerate(COUNTS):
            totals[package][place] += report["summary"][name]
    low = False
    for package, (lines, statements, taken, branches) in sorted(totals.items()):
        share = 100.0 * (lines + taken) / max(statements + branches, 1)
        low |= share < LEAST
        of_branches = 100.0 * taken / max(branches, 1)
        print(
            f"{package:12s} {share:6.1f} % of lines and branches, {of_branches:6.1f} % of branches"
        )
    return int(low)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
