"""What somebody can do to a run folder who knows how its digests are made."""

from __future__ import annotations

import json
from hashlib import sha256

RECORDS = ("rounds.jsonl", "evaluations.jsonl")


def forge(path, name, change):
    """Change a file of a run, and make everything anew that would tell: chain and DONE.

    Args:
        path: The run folder.
        name: The file.
        change: Changes the lines of a record, or a JSON file, in place; or returns other bytes.
    """
    file = path / name
    if name in RECORDS:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        change(rows)
        file.write_bytes(chained(rows))
    elif name.endswith(".json"):
        table = json.loads(file.read_text())
        change(table)
        file.write_text(json.dumps(table, indent=2) + "\n")
    else:
        file.write_bytes(change(file.read_bytes()))
    seal(path)


def chained(rows):
    """Return the lines of a record, each with the digest of all before it."""
    lines, digest = [], sha256()
    for row in rows:
        line = json.dumps({**row, "previous": digest.hexdigest()}, separators=(",", ":")) + "\n"
        lines.append(line)
        digest.update(line.encode())
    return "".join(lines).encode()


def seal(path):
    """Write the digests of all results that are there into DONE once more."""
    done = json.loads((path / "DONE").read_text())
    done["files"] = {name: None for name in done["files"] if (path / name).exists()}
    for name in done["files"]:
        content = (path / name).read_bytes()
        done["files"][name] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (path / "DONE").write_text(json.dumps(done, indent=2) + "\n")
