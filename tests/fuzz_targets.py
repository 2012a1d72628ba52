"""Everything that reads what a stranger may have written, each with good inputs to begin from."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._json import read_json
from fedmgda.data.datasets import _cifar_forms
from fedmgda.data.datasets._images import read_idx
from fedmgda.data.sources._archives import gunzip, unpack_deb, unpack_tar
from fedmgda.data.sources._origin import SourceError
from fedmgda.experiments import npz_arrays, npz_bytes, plan_sweep, read_encoder, read_toml
from fedmgda.experiments._tensors import read_tensors
from forgery import forge, seal
from fuzzing import CORPUS, broken_law, changed, changed_table, command
from runs import finished_run, stopped_run
from tables import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

NAME = "fuzz"


@dataclass
class Target:
    """What reads an input, and where it begins from.

    Attributes:
        name: As in the corpus.
        place: The folder.
        seeds: Good inputs.
        act: Takes an input and returns what is done with it.
        tokens: Words that mean something there.
        tables: Whether inputs are JSON, changed as such every other time.
        quick: Whether an input takes a thousandth of a second, and not a tenth.
    """

    name: str
    place: Path
    seeds: list[bytes]
    act: Callable[[bytes], Callable[[], Any]]
    tokens: tuple[bytes, ...] = ()
    tables: bool = False
    quick: bool = False
    _corpus: list[Path] = field(init=False)

    def __post_init__(self):
        self._corpus = sorted((CORPUS / self.name).glob("*"))

    def drawn(self, number):
        """Return the input of a number."""
        rng = np.random.default_rng((number, *self.name.encode()))
        seeds = [*self.seeds, *(path.read_bytes() for path in self._corpus)]
        content = seeds[rng.integers(len(seeds))]
        if self.tables and rng.random() < 0.6:
            return self._drawn_table(rng, content)
        return changed(rng, content, self.tokens)

    def _drawn_table(self, rng, content):
        try:
            table = json.loads(content)
        except (ValueError, RecursionError):
            return changed(rng, content, self.tokens)
        for _ in range(int(rng.integers(1, 4))):
            if isinstance(table, dict | list):
                table = changed_table(rng, table)
        return json.dumps(table).encode()

    def broken_by(self, number):
        return self._broken(self.drawn(number))

    def broken(self, numbers: Iterable[int]):
        """Return which numbers break the law, and how; no more than a few."""
        found = []
        for number in numbers:
            if (why := self.broken_by(number)) is not None:
                found.append((number, why))
            if len(found) == 5:
                break
        return found

    def broken_by_corpus(self):
        whys = {path.name: self._broken(path.read_bytes()) for path in self._corpus}
        return [(name, why) for name, why in whys.items() if why is not None]

    def _broken(self, content):
        return broken_law(self.place, self.act(content))


def _file(place, name, content):
    path = place / name
    path.write_bytes(content)
    return path


def refusing(read, *errors):
    """Return an act for a function that promises to raise nothing but some errors."""

    def act():
        try:
            read()
        except errors as error:
            return None if str(error).strip() else "says nothing"  # who shows it shortens it
        return None

    return act


# Specs and overrides

SPEC = """seed = 3
rounds = 2
[data]
name = "digits"
num_clients = 4
partition = "dirichlet"
alpha = 0.5
[model]
name = "mlp"
hidden = [2, 3]
[clients]
per_round = 2
client_lr = 0.1
local_epochs = 1
[rule]
name = "fedmgda+"
epsilon = 0.5
[server]
lr = 1.0
protect = {allow = 1, margin = 0.5}
[attack]
name = "scale-update"
clients = [0]
factor = 2.0
[evaluation]
every = 1
select = "loss"
metrics = ["auc"]
[engine]
workers = 1
"""
SWEEP = SPEC + '\n[sweep]\nseeds = [0, 1]\n[sweep.grid]\n"rule.epsilon" = [0.1, 1.0]\n'
WORDS = (
    b"auto", b"rule.epsilon = 2", b"data.options", b"quadratics", b"synthetic", b"q-fedavg", b"afl",
    b"[sweep]", b"seeds = '0-9'", b"os:system", b"path = '/dev/zero'", b"inf", b"1979-05-27",
    b"'''", b"[[data]]", b"data = 3", b"{a = {b = {c = 1}}}", b"baseline = 'alone'",
    b"num_clients = 10000000000", b"rounds = 10000000000000", b"schedule", b"decay", b"partition",
    b"class_weights = 'balanced'", b"hidden = []", b"hidden = [100000000, 100000000]",
)  # fmt: skip


def _spec(place):
    def act(content):
        _file(place, "fuzz.toml", content)
        return command("run", "fuzz.toml", "--dry-run")

    return Target("spec", place, [SPEC.encode()], act, WORDS)


def _sweep(place):
    def act(content):
        path = _file(place, "fuzz.toml", content)

        def planned():
            plan_sweep(read_toml(path), [])

        return planned

    return Target("sweep", place, [SWEEP.encode()], act, WORDS, quick=True)


def _override(place):
    _file(place, "base.toml", SPEC.encode())
    good = [
        b"rule.epsilon=0.5", b"data.num_clients=3", b'model.hidden=[2,3]', b"server.protect=true",
        b'rule={name="afl",gamma_lambda=0.1}', b"evaluation.metrics=[]", b"seed=0x3",
    ]  # fmt: skip

    def act(content):
        text = content[:100_000].replace(b"\0", b"").decode("utf-8", "surrogateescape")
        return command("run", "base.toml", "--dry-run", "-c", text)

    return Target("override", place, good, act, (*WORDS, b"=", b".", b"..", b"==", b"--"))


# Files of one's own


def _table(place, suffix, seed, tokens=()):
    name = f"own.{suffix}"
    write_table(place / "rows.csv", rows=40, positives=0.4)
    spec = f'rounds = 1\n[data]\npath = "{name}"\nclient = "branch"\ntarget = "left"\n[model]\n'
    _file(place, "table.toml", spec.encode())
    trained = finished_run(
        place / "run",
        rounds=1,
        data={"path": str(place / "rows.csv"), "client": "branch", "target": "left"},
        model={},
        clients={"path": "torch"},
    ).path
    commands = [
        ("run", "table.toml", "--dry-run"),
        ("init", name, "-o", "new.toml", "--force"),
        ("predict", str(trained), name),
    ]

    def act(content):
        _file(place, name, content)
        return command(*commands[len(content) % len(commands)])

    return Target(suffix, place, [seed], act, tokens)


def _rows(place, separator):
    write_table(place / "seed.csv", rows=40, positives=0.4)
    return (place / "seed.csv").read_bytes().replace(b",", separator)


CELLS = (
    b"2020-01-01", b"12:30", b"1,5", b"n/a", b"?", b"north", b"yes", b"branch", b"left", b'""',
    b'"a\nb"', b"1e39", b"-1e39", b"\r\n", b"99999-99-99", b"0000-00-00", b"9999999999999999999",
)  # fmt: skip


def _csv(place):
    return _table(place, "csv", _rows(place, b","), CELLS)


def _tsv(place):
    return _table(place, "tsv", _rows(place, b"\t"), (*CELLS, b"\t"))


def _parquet(place):
    import pyarrow as pa  # noqa: PLC0415 (optional)
    import pyarrow.parquet as pq  # noqa: PLC0415

    write_table(place / "seed.csv", rows=40, positives=0.4)
    lines = [line.split(",") for line in (place / "seed.csv").read_text().split()]
    columns = dict(zip(lines[0], zip(*lines[1:], strict=True), strict=True))
    columns |= {name: [float(cell) for cell in columns[name]] for name in ("age", "income")}
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: list(cells) for name, cells in columns.items()}), buffer)
    return _table(place, "parquet", buffer.getvalue(), (b"PAR1",))


def _npz(place):
    rng = np.random.default_rng(0)
    arrays = {
        "features": rng.normal(size=(12, 3)).astype(np.float32),
        "targets": np.array(["a", "b"] * 6),
        "client": np.repeat(["north", "south"], 6),
    }
    buffers = [io.BytesIO() for _ in range(2)]
    np.savez(buffers[0], **arrays)
    np.savez_compressed(buffers[1], **arrays)
    _file(place, "npz.toml", b'rounds = 1\n[data]\npath = "own.npz"\n[model]\n')

    def act(content):
        _file(place, "own.npz", content)
        if len(content) % 2:
            return command("init", "own.npz", "-o", "new.toml", "--force")
        return command("run", "npz.toml", "--dry-run")

    tokens = (b"PK\x03\x04", b"'|O'", b"'<U1000000000'", b"(1L,)", b"(-1,)", b"9**9**9", b"True")
    return Target("npz", place, [buffer.getvalue() for buffer in buffers], act, tokens)


# Data sets


def _leaf(place):
    images = [[0.0] * 784, [1.0] * 784]
    good = {
        "users": ["f1", "f2"],
        "user_data": {u: {"x": images, "y": [1, 2]} for u in ("f1", "f2")},
    }
    _file(
        place, "femnist.toml", b'rounds = 1\n[data]\nname = "femnist"\n[model]\nname = "logistic"\n'
    )
    (place / "leaf").mkdir()

    def act(content):
        _file(place / "leaf", "all_data_0.json", content)
        imported = command("data", "import", "femnist", "leaf")
        read = command("run", "femnist.toml", "--dry-run", "-c", "clients.client_lr=auto")
        return lambda: imported() or read()

    return Target(
        "leaf", place, [json.dumps(good).encode()], act, (b'"users"', b'"x"'), tables=True
    )


def _idx(place):
    good = [
        struct.pack(">4B3I", 0, 0, 8, 3, 2, 3, 4) + bytes(24),
        struct.pack(">4BI", 0, 0, 8, 1, 5) + bytes(5),
        struct.pack(">4BI", 0, 0, 12, 1, 2) + bytes(8),
    ]

    def act(content):
        return refusing(lambda: read_idx(content, "an.idx").sum(), SourceError)

    return Target("idx", place, good, act, quick=True)


def _tar_of(mode, format_):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=format_) as archive:
        for name, content in {
            "top/a.txt": b"a" * 600,
            "top/b" * 30: b"b",
            "top/c.txt": b"",
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _tars():
    modes = ("w", "w:gz", "w:bz2", "w:xz")
    return [
        _tar_of(mode, kind) for mode in modes for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)
    ]


def _tar(place):
    (place / "out").mkdir()

    def act(content):
        path = _file(place, "a.tar", content)
        names = ("a.txt", "c.txt")
        read = partial(unpack_tar, inside="top", names=names, max_bytes=1 << 20)
        return refusing(lambda: read(path, place / "out"), SourceError)

    tokens = (b"../", b"/etc/passwd", b"11 path=x\n", b"9 size=9\n", b"\x80\x00\x00\x00\xff", b"2")
    return Target("tar", place, _tars(), act, tokens, quick=True)


def _deb(place):
    (place / "out").mkdir()
    seeds = []
    for data in _tars():
        head = f"{'data.tar':<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
        seeds.append(b"!<arch>\n" + head + data)

    def act(content):
        path = _file(place, "a.deb", content)
        read = partial(unpack_deb, inside="top", names=("a.txt", "c.txt"))
        return refusing(lambda: read(path, place / "out"), SourceError)

    return Target("deb", place, seeds, act, (b"!<arch>\n", b"data.tar", b"9" * 10), quick=True)


def _gz(place):
    (place / "out").mkdir()

    def act(content):
        path = _file(place, "a.gz", content)
        return refusing(lambda: gunzip(path, place / "out"), SourceError)

    return Target("gz", place, [gzip.compress(b"rows" * 99)], act, quick=True)


def _cifar(place):
    """A batch of the python edition: a pickle that is listed and never run."""
    import pickle  # noqa: PLC0415 (written, not read)

    # A whole batch has 30 MB; that it is none is found at the end of the list.
    short = [pickle.dumps({b"labels": [3, 300, -1], b"data": b"abc"}, p) for p in range(5)]

    def act(content):
        path = _file(place, "data_batch_1", content)
        return refusing(lambda: _cifar_forms.from_python(path, place), SourceError)

    tokens = (
        b"cos\nsystem\n",
        b"(S'id'\ntR.",
        b"I" + b"1" * 5000 + b"\n",
        b"F1e\n",
        b"\x8d" + b"\xff" * 8,
    )
    return Target("cifar", place, short, act, tokens, quick=True)


# Run folders, and what is in them


def _arrays(place):
    good = npz_bytes({"a": np.arange(6.0).reshape(2, 3), "b": np.arange(3)})
    act = lambda content: refusing(lambda: npz_arrays(content), ValueError)  # noqa: E731
    return Target(
        "arrays", place, [good], act, (b"PK\x01\x02", b"'|O'", b"(1L,)", b"(2, 3, 0)"), quick=True
    )


def _tensors(place):
    table = {
        "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]},
        "__metadata__": {"a": "b"},
    }

    def act(content):
        whole = len(content).to_bytes(8, "little") + content + bytes(24)
        return refusing(lambda: read_tensors(whole), ValueError)

    tokens = (
        b'"BOOL"',
        b"[0, 1e400]",
        b"[0, 9223372036854775808]",
        b'"shape":[0,18446744073709551616]',
    )
    return Target(
        "tensors", place, [json.dumps(table).encode()], act, tokens, tables=True, quick=True
    )


def _json(place):
    good = [b'{"a": [1, 2.5, null, "x"], "b": {"c": true}}', b'[1e5, "\\u00e9"]']
    act = lambda content: refusing(lambda: read_json(content), ValueError)  # noqa: E731
    return Target("json", place, good, act, tables=True, quick=True)


def _encoder(place):
    target = _csv(place)
    seed = (place / "run" / "encoder.json").read_bytes()
    commands = [("predict", "run", "rows.csv"), ("predict", "run", "rows.csv", "--json")]

    def act(content):
        with suppress(ValueError):  # nothing else may be raised
            read_encoder(content)
        _file(place / "run", "encoder.json", content)
        seal(place / "run")
        return command(*commands[len(content) % 2])

    return Target("encoder", place, [seed], act, target.tokens, tables=True)


LOOKS = (
    ("verify", "run"),
    ("report", "run", "-o", "page.html"),
    ("compare", "run", "other"),
    ("predict", "run", "rows.csv"),
    ("verify", "run", "--json"),
)


def _run_file(place, name):
    """A file of a finished run, whose digests fit whatever is in it."""
    write_table(place / "rows.csv", rows=40, positives=0.4)
    table = {
        "rounds": 2,
        "data": {"path": "rows.csv", "client": "branch", "target": "left"},
        "model": {},
        "clients": {"path": "torch"},
        "server": {"protect": {"allow": 1}},
    }
    for folder in ("run", "other"):
        finished_run(place / folder, **table)
    path = place / "run" / name
    sealed = name in json.loads((place / "run" / "DONE").read_text())["files"]

    def act(content):
        path.write_bytes(content)
        if sealed and len(content) % 4:
            seal(place / "run")
        return command(*LOOKS[sum(content[:50]) % len(LOOKS)])

    seed = path.read_bytes()
    return Target(f"run-{name}", place, [seed], act, (), tables=name.endswith(("json", "DONE")))


def _record(place, name):
    """The lines of a record, changed one by one, in a chain that is made anew."""
    target = _run_file(place, name)
    whole = (place / "run" / name).read_bytes()
    kept = (place / "run" / "DONE").read_bytes()

    def act(content):
        (place / "run" / name).write_bytes(whole)
        (place / "run" / "DONE").write_bytes(kept)

        def change(rows):
            try:
                row = json.loads(content)
            except (ValueError, RecursionError):
                row = None
            rows[len(content) % len(rows)] = row if isinstance(row, dict) else {"round": row}

        forge(place / "run", name, change)
        return command(*LOOKS[sum(content[:50]) % len(LOOKS)])

    rows = [line for line in whole.splitlines() if line]
    return Target(f"record-{name}", place, rows, act, target.tokens, tables=True)


def _stopped(place, name):
    """A file of a run that goes on; only its fast part, for each input is a resume."""
    folder = stopped_run(
        place / "stopped", after=1, rounds=2, clients={"per_round": 2, "path": "torch"}
    )
    path = next(iter(folder.path.glob(name)))
    seed = path.read_bytes()
    others = {p: p.read_bytes() for p in folder.path.rglob("*") if p.is_file()}

    def act(content):
        for other, kept in others.items():
            other.write_bytes(kept)
        for other in [p for p in folder.path.rglob("*") if p.is_file() and p not in others]:
            other.unlink()
        path.write_bytes(content)
        return command("resume", "stopped", "--json")

    return Target(f"stopped-{path.suffix or path.name}", place, [seed], act, WORDS)


TARGETS = {
    "spec": _spec,
    "sweep": _sweep,
    "override": _override,
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
    "npz": _npz,
    "leaf": _leaf,
    "idx": _idx,
    "tar": _tar,
    "deb": _deb,
    "gz": _gz,
    "cifar": _cifar,
    "arrays": _arrays,
    "tensors": _tensors,
    "json": _json,
    "encoder": _encoder,
    **{
        f"run-{name}": partial(_run_file, name=name)
        for name in (
            "DONE", "spec.toml", "summary.json", "environment.json", "clients.csv", "timings.jsonl",
            "gram.bin", "model.safetensors", "predictions.npz", "partition.npz", "rounds.jsonl",
            "evaluations.jsonl",
        )
    },
    "record-rounds": partial(_record, name="rounds.jsonl"),
    "record-evaluations": partial(_record, name="evaluations.jsonl"),
    "stopped-rounds": partial(_stopped, name="rounds.jsonl"),
    "stopped-checkpoint": partial(_stopped, name="checkpoints/*.safetensors"),
    "stopped-spec": partial(_stopped, name="spec.toml"),
}  # fmt: skip
if find_spec("flwr"):
    from fuzz_messages import MESSAGES

    TARGETS |= MESSAGES
