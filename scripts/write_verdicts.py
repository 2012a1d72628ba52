"""Decide the primary comparisons of all published studies together, and write them down.

    python scripts/write_verdicts.py results

Reads every `*-primary.csv` below it and writes `primary/primary.csv` and `primary.md` into it.
A study decides its own by the same rule, with the others taken for undecided; here Holm's
correction knows all that have been run.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from fedmgda.paper import PRIMARIES, Decision, decide

HEAD = ("comparison", "verdict", "mean", "low", "high", "p_holm", "smallest", "metric", "claim")
ABOUT = (
    f"{len(PRIMARIES)} claims, fixed with their metrics before anybody looked at a result on the "
    "seeds 6 to 15 (what proves it and what does not: docs/reproduction.md); paired Student's t, "
    "verdicts by Holm over all of them, each interval at the level of its step. A claim that has "
    "no result counts as undecided."
)


def read_samples(folder: Path) -> dict[str, dict[int, float]]:
    """Return the comparisons below a folder, seed by seed; two studies must not differ on one."""
    found: dict[str, dict[int, float]] = {}
    for path in sorted(folder.glob("*/*-primary.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                value, seeds = float(row["value"]), found.setdefault(row["comparison"], {})
                if seeds.setdefault(int(row["seed"]), value) != value:
                    raise SystemExit(
                        f"{path}: {row['comparison']} stands elsewhere too, and differs."
                    )
    return found


def page(decisions: list[Decision]) -> str:
    """Write the verdicts for people."""
    decided = {decision.primary.name: decision for decision in decisions}
    lines = [
        "# The primary comparisons",
        "",
        ABOUT,
        "",
        "| | claim | metric | mean | interval | verdict |",
        "|---|---|---|--:|---|---|",
    ]
    for primary in PRIMARIES:
        cells = [primary.name, primary.claim, primary.metric]
        if (found := decided.get(primary.name)) is None:
            cells += ["-", "-", "no result yet"]
        else:
            smallest = f" (beyond ±{found.smallest:.2f} it would have been decided)"
            word = f"{found.word}{smallest if found.word == 'undecided' else ''}"
            cells += [f"{found.mean:+.2f}", f"[{found.low:+.2f}, {found.high:+.2f}]", word]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Decide and write."""
    folder = Path(sys.argv[1])
    decisions = decide(read_samples(folder))
    target = folder / "primary"
    target.mkdir(exist_ok=True)
    (target / "primary.md").write_text(page(decisions), encoding="utf-8")
    with (target / "primary.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for d in decisions:
            numbers = (d.mean, d.low, d.high, d.p_adjusted, d.smallest)
            writer.writerow((d.primary.name, d.word, *numbers, d.primary.metric, d.primary.claim))
    print(page(decisions), end="")


if __name__ == "__main__":
    main()
