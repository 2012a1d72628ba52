"""W1 with every step protected: CPU time over that of rounds that only measure who improved.

Both are whole runs, from the model that is sent to the line that is written, in the paper's setting
(100 users of Fashion-MNIST, 10 a round, b = 10); they take turns, in processes of their own. How
many lengths of a step are tried depends on where training stands, so it is told beside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _measure import machine, text_table, write_result
from _turns import Rounds, in_turns, interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PATHS, RULES = ("compiled", "torch"), ("fedavg", "fedmgda+")
BLOCK = 5  # rounds


def serve(path: str, rule: str, protect: str) -> None:
    """Do as many rounds as each line says; answer with CPU seconds and trials."""
    import torch  # noqa: PLC0415 (only who trains needs it)

    from fedmgda.experiments import RunFolder, Spec, execute, parse, resolve  # noqa: PLC0415

    torch.set_num_threads(1)
    table = {
        "seed": 1,
        "rounds": 10_000,
        "data": {"name": "fashion-mnist"},
        "clients": {"participation": 0.1, "batch_size": 10, "client_lr": 0.01, "path": path},
        "rule": {"name": rule},
        "server": {"protect": protect == "protected"},
        "evaluation": {"every": 10_000},
    }
    with tempfile.TemporaryDirectory() as scratch:
        steps: Any = execute(RunFolder.create(Path(scratch) / "run", resolve(parse(Spec, table))))
        with closing(steps):
            next(steps)
            for line in sys.stdin:
                start = time.process_time()
                rows = [step.row for step in islice(steps, int(line))]
                seconds = time.process_time() - start
                trials = sum(len(row.protection.opposed) for row in rows if row.protection)
                print(seconds, trials, flush=True)


def protected_over_plain(blocks: NDArray[np.float64]) -> float:
    """Return how much more CPU time the protected rounds of all blocks took."""
    plain, protected = blocks[..., 0].sum(axis=0)
    return float(protected / plain)


def measure(path: str, rule: str, blocks: int) -> dict[str, Any]:
    """Return a line of the table."""
    command = ("bench_protected.py", "--serve", path, rule)
    with Rounds((*command, "plain")) as plain, Rounds((*command, "protected")) as protected:
        found = in_turns((plain, protected), BLOCK, blocks)
    low, high = interval(found, protected_over_plain)
    per_round = found.mean(axis=0) / BLOCK
    return {
        "path": path,
        "rule": rule,
        "plain_cpu_s": float(per_round[0, 0]),
        "protected_cpu_s": float(per_round[1, 0]),
        "trials": float(per_round[1, 1]),
        "ratio": protected_over_plain(found),
        "low": low,
        "high": high,
    }


def main() -> None:
    """Measure both paths, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    facts = machine()
    rows = [measure(path, rule, options.blocks) for path in PATHS for rule in RULES]
    print(text_table(rows))
    write_result(
        "protected",
        {"machine": facts, "blocks": options.blocks, "rounds_per_block": BLOCK, "rows": rows},
    )


if __name__ == "__main__":
    main()
