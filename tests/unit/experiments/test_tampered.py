"""Results that somebody changed, digests and all: a sentence, and never more than one."""

import io
import json
from hashlib import sha256

import numpy as np
import pytest

from fedmgda._errors import StoreError
from fedmgda.cli._app import run_app
from fedmgda.experiments import open_run
from runs import copy_of, finished_run
from tables import write_table

ROWS = 24
ENCODER = "encoder.json"
PREDICTIONS = "predictions.npz"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tampered")
    data = write_table(folder / "rows.csv", positives=0.4)
    for name in ("a", "b"):
        finished_run(folder / name, data=data, model={}, clients={})
    return folder


def tampered(trained, tmp_path, name, content):
    """Return a copy of a run in which a file is another one, and the digest is of that."""
    path = copy_of(trained / "a", tmp_path / "run")
    (path / name).write_bytes(content)
    done = json.loads((path / "DONE").read_text())
    done["files"][name] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (path / "DONE").write_text(json.dumps(done))
    return path


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"clients": np.full(ROWS, -1)}, "clients has a number below 0"),
        ({"clients": np.full(ROWS, 10**12)}, "it names clients beyond the 4 of the run"),
        ({"targets": np.full(ROWS, -3)}, "targets has a number below 0"),
        ({"targets": np.full(ROWS, 10**12)}, "it names classes beyond the 2 of the run"),
        ({"targets": np.zeros(ROWS)}, "predictions are classes, and targets are not"),
        ({"targets": np.zeros(ROWS), "predictions": np.zeros(ROWS)}, "it predicts values"),
        ({"rows": np.full(ROWS, "a")}, "rows are no such numbers"),
        ({"rows": np.full(ROWS, -5)}, "rows has a number below 0"),
        ({"losses": np.zeros(ROWS, complex)}, "losses are no such numbers"),
        ({"losses": np.zeros(ROWS, [("a", "f8")])}, "'losses.npy' is no array"),
        ({"losses": np.zeros((ROWS, 1))}, "losses are no such numbers"),
        ({"probabilities": np.zeros(ROWS)}, "probabilities are no such numbers"),
    ],
)
def test_predictions_that_no_run_wrote(trained, tmp_path, monkeypatch, capsys, changed, reason):
    with np.load(trained / "a" / PREDICTIONS) as arrays:
        assert len(arrays["rows"]) == ROWS
        content = io.BytesIO()
        np.savez(content, **{**arrays, **changed})
    path = tampered(trained, tmp_path, PREDICTIONS, content.getvalue())
    with pytest.raises(StoreError, match=f"damaged \\({reason}"):
        open_run(path).predictions()
    for words in (["compare", path, trained / "b"], ["resume", path]):
        monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
        assert run_app() == 4
        assert reason in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda e: e.update(columns=[]), "it has no feature"),
        (lambda e: e.update(clip=0), "clip is not positive"),
        (lambda e: e.update(clip=-5.0), "clip is not positive"),
        (lambda e: e.update(class_names=["\ud800", "b"]), "surrogates not allowed"),
        (lambda e: e["columns"][0].update(scale=-1.0), "the scale of 'age' is negative"),
        (lambda e: e["columns"][0].update(name="income"), "two columns have the same name"),
    ],
)
def test_an_encoder_that_no_run_wrote(trained, tmp_path, monkeypatch, capsys, change, reason):
    table = json.loads((trained / "a" / ENCODER).read_text())
    change(table)
    path = tampered(trained, tmp_path, ENCODER, json.dumps(table).encode())
    monkeypatch.setattr("sys.argv", ["fedmgda", "predict", str(path), str(trained / "rows.csv")])
    assert run_app() == 4
    assert reason in " ".join(capsys.readouterr().err.split())


def test_no_class_reaches_the_terminal_as_an_escape(trained, tmp_path, monkeypatch, capsys):
    table = json.loads((trained / "a" / ENCODER).read_text())
    content = json.dumps({**table, "class_names": ["\x1b[31mno", "[/]yes\x1b[0m"]}).encode()
    path = tampered(trained, tmp_path, ENCODER, content)
    words = ["predict", path, trained / "rows.csv", "-o", tmp_path / "scored.csv"]
    monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
    assert run_app() == 0
    assert "\x1b" not in capsys.readouterr().out
