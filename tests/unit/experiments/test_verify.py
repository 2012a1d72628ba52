"""The audit of a run folder: what it passes, and what it finds."""

import io
import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from fedmgda import verify
from fedmgda._errors import DataError
from fedmgda.cli._app import run_app
from fedmgda.experiments import RunFolder, execute
from fedmgda.experiments._folder_files import RESULTS
from forgery import forge, seal
from runs import FORMAT_1, carry_on, copy_of, finished_run, small_spec, stopped_run
from tables import write_table

PROTECTED = {"server": {"protect": True, "lr": 3.0}, "rounds": 8, "clients": {"per_round": 3}}


KINDS = {
    "fedmgda": {"rule": {"name": "fedmgda"}},
    "a box": {"rule": {"epsilon": 0.1, "center": "examples"}, "clients": {"per_round": 3}},
    "an annealed box": {"rule": {"epsilon": {"first": 1.0, "power": 0.5}}},
    "constraints": {
        "rule": {"constraints": [{"clients": [0, 1], "at_most": 0.4}]},
        "clients": {"per_round": 4},
    },
    "fedavg": {"rule": {"name": "fedavg", "center": "examples"}},
    "fedavg-n": {"rule": {"name": "fedavg-n"}, "server": {"schedule": "median-norm"}},
    "q-fedavg": {"rule": {"name": "q-fedavg", "loss_scale": "batch-sum"}},
    "q-fedavg, lied to": {
        "rule": {"name": "q-fedavg"},
        "clients": {"per_round": 3, "reported_loss": "during"},
        "attack": {"name": "bias-loss", "clients": [1]},
    },
    "afl": {"rule": {"name": "afl"}},
    "released code": {"rule": {"name": "afl"}, "compat": "released-code"},
    "attack": {"attack": {"name": "scale-update", "factor": -1.0}},
    "selected": {"evaluation": {"every": 1, "select": "loss", "patience": 2}, "rounds": 10},
    "metrics": {"evaluation": {"metrics": "auto", "improved_every": 2, "pareto": True}},
    "divergence": {"clients": {"per_round": 2, "client_lr": 1e4}},
    "many": {"data": {"num_clients": 70}, "clients": {"participation": 1.0}, "rounds": 2},
    "batch norm": {"model": {"name": "batch_norm:model"}, "server": {"protect": True}},
    "statistics that stay": {
        "model": {"name": "batch_norm:model"},
        "server": {"protect": True, "lr": 0.01},
        "rule": {"name": "fedavg-n"},
    },
    "allowed": {
        "server": {"protect": {"allow": 1}, "lr": 3.0},
        "clients": {"per_round": 3},
        "attack": {"name": "scale-update", "factor": -1.0},
    },
    "held": {"server": {"protect": {"trials": 1, "patience": 2}, "lr": 1e6}},
    "alone": {"baseline": "alone"},
    "pooled": {"baseline": "pooled"},
}


def moved(rows):
    """Move a thousandth of λ from one client to another."""
    lam = rows[1]["lam"]
    lam[0], lam[1] = lam[0] + 1e-3, lam[1] - 1e-3


CHANGES = {
    "λ": ("rounds.jsonl", moved),
    "norms": ("rounds.jsonl", lambda rows: rows[1]["norms"].__setitem__(0, 1.0)),
    "‖d‖": ("rounds.jsonl", lambda rows: rows[1].update(norm=rows[1]["norm"] * 1.001)),
    "gap": ("rounds.jsonl", lambda rows: rows[1].update(gap=1e-6)),
    "improved": ("rounds.jsonl", lambda rows: rows[1].update(improved=50.0)),
    "a loss": ("rounds.jsonl", lambda rows: rows[1]["losses_after"].__setitem__(0, 99.0)),
    "who took part": ("rounds.jsonl", lambda rows: rows[1].update(clients=[0, 1, 99])),
    "training examples": (
        "rounds.jsonl", lambda rows: rows[1]["num_examples"].__setitem__(0, 7.2e6),
    ),
    "sacrificed": ("rounds.jsonl", lambda rows: rows[1].update(sacrificed=[1])),
    "a client's loss": (
        "evaluations.jsonl", lambda rows: rows[-1]["losses"].__setitem__(0, 0.1),
    ),
    "an average": (
        "evaluations.jsonl",
        lambda rows: rows[1]["honest"]["accuracy"].update(average=0.9),
    ),
    "test examples": (
        "evaluations.jsonl", lambda rows: rows[0]["num_examples"].__setitem__(0, 44.0),
    ),
    "the summary": ("summary.json", lambda table: table.update(improved=99.0)),
    "its accuracy": (
        "summary.json", lambda table: table["honest"]["accuracy"].update(average=0.9),
    ),
    "sacrifices": ("summary.json", lambda table: table.update(rounds_that_sacrificed=-1)),
    "the outcome": ("summary.json", lambda table: table["verdict"].update(outcome="learned")),
    "clients.csv": (
        "clients.csv", lambda content: content.replace(b"45,0.", b"45,1.", 1),
    ),
    "the model": ("model.safetensors", lambda content: content[:-4] + b"\x00\x00\xc0\x7f"),
    "a matrix": ("gram.bin", lambda content: content[:8] + bytes(8) + content[16:]),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("plain") / "run", clients={"per_round": 3}).path


@pytest.fixture(scope="module")
def protected(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("protected") / "run", **PROTECTED).path


def wrong(audit):
    return [f"{finding.place}: {finding.by}" for finding in audit.of("wrong")]


def missing(audit):
    return {finding.claim: finding.by for finding in audit.of("not checkable")}


def claims(audit):
    return [finding.claim for finding in audit.of("proved")]


class TestPasses:
    @pytest.mark.parametrize("table", KINDS.values(), ids=KINDS.keys())
    def test_what_a_run_wrote(self, tmp_path, table):
        finished_run(tmp_path / "run", **table)
        audit = verify(tmp_path / "run")
        assert wrong(audit) == []
        assert audit.verified
        assert audit.verdict.startswith("verified: ")
        assert set(missing(audit)) <= {"predictions.npz"}

    @pytest.mark.parametrize("task", ["classes", "values"])
    @pytest.mark.parametrize("baseline", [None, "alone", "pooled"])
    def test_a_table_whose_clients_have_names(self, tmp_path, task, baseline):
        data = write_table(tmp_path / "rows.csv", positives=0.4, task=task)
        rule = {"rule": {"epsilon": 0.2, "center": {"north": 3, "south": 1, "east": 1, "west": 1}}}
        attack = {"attack": {"name": "scale-update", "clients": ["south"]}}
        more = {"baseline": baseline} if baseline else rule | attack
        lr = {"client_lr": 0.1, "per_round": 3}
        finished_run(tmp_path / "run", data=data, model={}, clients=lr, **more)
        audit = verify(tmp_path / "run")
        assert wrong(audit) == []
        assert missing(audit) == {}

    def test_everything_that_a_protected_run_claims(self, protected):
        assert claims(verify(protected)) == [
            "spec and results", "the records", "who took part, η_t", "norms, Gram matrices", "λ",
            "‖d‖, ⟨g_i, d⟩", "sacrificed, stalled", "ω, the margin", "the turned step",
            "losses that rose", "the step made", "improved", "evaluations", "the model",
            "predictions.npz", "clients.csv", "summary.json",
        ]  # fmt: skip

    def test_every_claim_is_explained(self, protected):
        page = (Path(__file__).parents[3] / "docs" / "verify.md").read_text()
        table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
        explained = {claim.strip() for cell in table for claim in (cell, *cell.split(","))}
        assert set(claims(verify(protected))) <= explained

    def test_a_run_that_was_stopped_as_far_as_it_is(self, tmp_path):
        stopped_run(tmp_path / "run")
        audit = verify(tmp_path / "run")
        assert (audit.verified, audit.state, audit.rounds) == (True, "unfinished", 3)
        assert "3 rounds of a run that is not finished" in audit.verdict
        assert missing(audit) == {"spec and results": "DONE comes at the end of a run"}
        records = next(f for f in audit.findings if f.claim == "the records")
        assert "all but the last of each" in records.by

    @pytest.mark.parametrize("torn", [b"", b'{"round": 4, "cli'])
    def test_a_run_that_is_writing_a_line(self, tmp_path, torn):
        stopped_run(tmp_path / "run")
        with (tmp_path / "run" / "rounds.jsonl").open("ab") as file:
            file.write(torn)
        assert verify(tmp_path / "run").verified

    def test_a_run_that_is_going_on(self, tmp_path):
        path, seen = tmp_path / "run", []
        steps = execute(RunFolder.create(path, small_spec()))
        for _ in steps:
            audit = verify(path)
            seen.append((wrong(audit), audit.rounds))
        assert seen == [([], rounds) for rounds in range(7)]

    @pytest.mark.parametrize("name", ["finished", "stopped"])
    def test_a_folder_of_format_1_and_what_it_lacks(self, name):
        audit = verify(FORMAT_1 / name)
        assert (wrong(audit), audit.format) == ([], 1)
        assert {"spec and results", "the records", "‖d‖, ⟨g_i, d⟩"} <= missing(audit).keys()
        assert {"λ", "improved", "evaluations"} <= set(claims(audit))

    def test_a_run_that_went_on_from_format_1(self, tmp_path):
        path = copy_of(FORMAT_1 / "stopped", tmp_path / "run")
        carry_on(path)
        audit = verify(path)
        assert (wrong(audit), audit.format) == ([], 2)
        records = next(f for f in audit.findings if f.claim == "the records")
        assert "before which format 1 wrote no digests" in records.by

    def test_without_gram_matrices_no_certificate_is_claimed(self, tmp_path):
        finished_run(tmp_path / "run", records={"gram": False, "predictions": False}, **PROTECTED)
        audit = verify(tmp_path / "run")
        assert audit.verified
        lacking = {"λ", "‖d‖, ⟨g_i, d⟩", "ω, the margin", "the turned step"}
        assert lacking == missing(audit).keys()
        assert not any("gap" in finding.by for finding in audit.of("proved"))

    def test_a_rule_of_ones_own_is_never_imported(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(Path(__file__).parents[3] / "examples")
        finished_run(tmp_path / "run", rule={"name": "own_rule:Median"})
        monkeypatch.undo()
        sys.modules.pop("own_rule", None)
        audit = verify(tmp_path / "run")
        assert audit.verified
        assert "the rule is code of its own" in missing(audit)["λ"]
        assert "own_rule" not in sys.modules


def test_a_folder_without_a_run_is_refused(tmp_path, plain):
    with pytest.raises(DataError, match="holds no run"):
        verify(tmp_path)
    copy_of(plain, tmp_path / "one")
    with pytest.raises(DataError, match="holds a sweep"):
        verify(tmp_path)


def change_bytes(finished, path, number):
    """Change one byte of one result after the other; return what went unnoticed."""
    copy_of(finished, path)
    rng = np.random.default_rng(12)
    there = [name for name in (*RESULTS, "DONE", "spec.toml") if (path / name).exists()]
    contents = {name: (path / name).read_bytes() for name in there}
    unnoticed = []
    for _ in range(number):
        name = there[rng.integers(len(there))]
        changed = bytearray(contents[name])
        # What stands in [engine] and [records] changes no result, and is not covered.
        end = changed.index(b"[engine]") if name == "spec.toml" else len(changed)
        place = int(rng.integers(end))
        changed[place] ^= int(rng.integers(1, 256))
        (path / name).write_bytes(changed)
        if verify(path).verified:
            unnoticed.append((name, place))
        (path / name).write_bytes(contents[name])
    assert verify(path).verified
    return unnoticed


class TestDamage:
    def test_every_byte_that_is_changed_is_found(self, plain, protected, tmp_path):
        assert change_bytes(plain, tmp_path / "plain", 100) == []
        assert change_bytes(protected, tmp_path / "protected", 100) == []

    @pytest.mark.slow
    def test_a_thousand_bytes_that_are_changed_are_found(self, plain, protected, tmp_path):
        assert change_bytes(plain, tmp_path / "plain", 1000) == []
        assert change_bytes(protected, tmp_path / "protected", 1000) == []

    @pytest.mark.parametrize("name", ["DONE", *RESULTS])
    def test_a_result_that_is_cut_short_or_missing_is_found(self, protected, tmp_path, name):
        if name not in (done := json.loads((protected / "DONE").read_text())["files"]):
            assert name in {"DONE", "encoder.json"}
        path = copy_of(protected, tmp_path / "run")
        if name in done or name == "DONE":
            (path / name).write_bytes((protected / name).read_bytes()[:-1])
            assert not verify(path).verified
        if name in done:
            (path / name).unlink()
            assert f"{name}: it is missing" in wrong(verify(path))
            (path / name).mkdir()
            assert not verify(path).verified

    @pytest.mark.parametrize("name", sorted({*RESULTS} - {"encoder.json", "gram.bin"}))
    def test_a_result_that_nobody_misses_any_more_is_missed(self, protected, tmp_path, name):
        path = copy_of(protected, tmp_path / "run")
        (path / name).unlink()
        seal(path)
        assert wrong(verify(path))

    def test_results_that_nobody_listed_are_found(self, plain, tmp_path):
        path = copy_of(plain, tmp_path / "run")
        (path / "encoder.json").write_text("{}")
        assert "encoder.json: DONE knows nothing of it" in wrong(verify(path))

    @pytest.mark.parametrize("name", ["rounds.jsonl", "evaluations.jsonl"])
    def test_a_line_that_is_left_out_is_found_whatever_the_digests_say(self, plain, tmp_path, name):
        for place in (0, 1, -1):
            path = copy_of(plain, tmp_path / f"run{place}")
            forge(path, name, lambda rows, place=place: rows.pop(place))
            assert any(said.startswith(f"{name}, line") for said in wrong(verify(path)))

    def test_a_broken_chain_names_the_line_and_hides_nothing_behind_it(self, plain, tmp_path):
        path = copy_of(plain, tmp_path / "run")
        lines = (path / "rounds.jsonl").read_text().splitlines(keepends=True)
        lines[2] = lines[2].replace('"improved":', '"improved":  ')
        row = json.loads(lines[4]) | {"norm": 1.0}
        lines[4] = json.dumps(row, separators=(",", ":")) + "\n"
        (path / "rounds.jsonl").write_text("".join(lines))
        said = wrong(verify(path))
        assert (
            "rounds.jsonl, line 4: the bytes before it are not those it was written after" in said
        )
        assert any(s.startswith("rounds.jsonl, line 5: ‖d‖ is 1, which") for s in said)

    def test_an_edit_of_the_spec_is_found(self, plain, tmp_path):
        text = (plain / "spec.toml").read_text()
        for edit in (
            text.replace("rounds = 6", "rounds = 7"),
            text.replace("seed = 0", "seed = 1"),
            text + "# a comment\n",
            text.replace("\n", "\r\n"),
            text.replace('name = "fedmgda+"', 'name = "fedmgda"'),
            "nothing",
            "",
        ):
            path = copy_of(plain, tmp_path / "run")
            (path / "spec.toml").write_bytes(edit.encode())
            assert not verify(path).verified
            shutil.rmtree(path)


class TestForgery:
    """Chain and DONE are made anew, so only what follows from other numbers tells."""

    @pytest.mark.parametrize(("name", "change"), CHANGES.values(), ids=CHANGES.keys())
    def test_what_follows_from_other_numbers_is_found(self, plain, tmp_path, name, change):
        path = copy_of(plain, tmp_path / "run")
        before = (path / name).read_bytes()
        forge(path, name, change)
        assert (path / name).read_bytes() != before
        audit = verify(path)
        assert wrong(audit)
        assert not any("digest" in said for said in wrong(audit) if name != "gram.bin")

    def test_a_matrix_made_anew_with_its_digest_is_found(self, plain, tmp_path):
        path = copy_of(plain, tmp_path / "run")
        content = bytearray((path / "gram.bin").read_bytes())
        content[:8] = np.float64(1.0).tobytes()
        (path / "gram.bin").write_bytes(content)

        def change(rows):
            place = rows[0]["gram"]
            matrix = bytes(content[: 8 * place["rows"] * place["columns"]])
            place["sha256"] = sha256(matrix).hexdigest()

        forge(path, "rounds.jsonl", change)
        assert any("rounds.jsonl, line 1: ‖g_i‖ of client" in said for said in wrong(verify(path)))

    def test_the_model_of_a_protected_run_is_that_of_its_round(self, protected, plain, tmp_path):
        def other(content):
            return content[:-4] + np.float32(0.125).tobytes()

        path = copy_of(protected, tmp_path / "run")
        forge(path, "model.safetensors", other)
        assert any("its sha256 is not that of the model" in said for said in wrong(verify(path)))
        # Without protection no record speaks of the model, and whoever makes DONE anew wins.
        path = copy_of(plain, tmp_path / "plain")
        forge(path, "model.safetensors", other)
        assert verify(path).verified

    @pytest.mark.parametrize(
        ("array", "change", "reason"),
        [
            ("losses", lambda values: values * 1.01, "is not that of its probability"),
            ("predictions", lambda values: (values + 1) % 10, "is not its likeliest class"),
            ("probabilities", lambda values: values * 1.01, "of its probability|do not sum"),
            ("clients", lambda values: values[::-1] * 0, "are not the test examples"),
            ("targets", lambda values: (values + 1) % 10, "of its probability"),
        ],
    )
    def test_predictions_give_the_losses_of_the_evaluation(
        self, plain, tmp_path, array, change, reason
    ):
        path = copy_of(plain, tmp_path / "run")

        def changed(content):
            with np.load(io.BytesIO(content)) as found:
                arrays = {**found, array: change(found[array]).astype(found[array].dtype)}
            file = io.BytesIO()
            np.savez(file, **arrays)
            return file.getvalue()

        forge(path, "predictions.npz", changed)
        assert any(re.search(reason, said) for said in wrong(verify(path)))

    def test_no_key_of_the_summary_leads_to_another_model(self, protected, tmp_path):
        path = copy_of(protected, tmp_path / "run")
        forge(path, "summary.json", lambda table: table.update(selected_round=0))
        assert any("selected_round" in said for said in wrong(verify(path)))
        forge(path, "model.safetensors", lambda content: content[:-4] + bytes(4))
        assert any("its sha256 is not that of the model" in said for said in wrong(verify(path)))

    def test_a_summary_without_a_verdict_or_what_was_held_is_found(self, protected, tmp_path):
        for key in ("verdict", "protection"):
            path = copy_of(protected, tmp_path / key)
            forge(path, "summary.json", lambda table, key=key: table.pop(key))
            assert any(key in said for said in wrong(verify(path)))

    def test_a_seal_alone_changes_nothing(self, plain, tmp_path):
        path = copy_of(plain, tmp_path / "run")
        seal(path)
        assert verify(path) == replace(verify(plain), path=str(path))


class TestCommand:
    def call(self, monkeypatch, capsys, *words):
        monkeypatch.setattr("sys.argv", ["fedmgda", "verify", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "80")
        code = run_app()
        said = capsys.readouterr()
        return code, said.out, said.err

    @pytest.mark.parametrize("kind", ["plain", "protected"])
    def test_one_run_fits_a_screen_and_ends_with_the_verdict(
        self, request, monkeypatch, capsys, kind
    ):
        path = request.getfixturevalue(kind)
        code, out, _ = self.call(monkeypatch, capsys, path)
        lines = out.splitlines()
        assert code == 0
        assert len(lines) <= 24
        assert lines[-1].startswith("verified: ")
        assert "No folder can prove that clients told the truth" in " ".join(out.split())

    def test_what_is_wrong_has_code_4_and_a_place(self, plain, tmp_path, monkeypatch, capsys):
        path = copy_of(plain, tmp_path / "run")
        forge(path, "rounds.jsonl", lambda rows: rows[2].update(improved=1.5))
        code, out, _ = self.call(monkeypatch, capsys, path)
        assert code == 4
        assert "NOT verified: rounds.jsonl, line 3: improved is 1.5, and" in " ".join(out.split())

    def test_many_runs_have_a_line_each(self, plain, protected, tmp_path, monkeypatch, capsys):
        copy_of(plain, tmp_path / "runs" / "a")
        copy_of(protected, tmp_path / "runs" / "b")
        code, out, _ = self.call(monkeypatch, capsys, tmp_path / "runs", plain)
        assert code == 0
        assert out.splitlines()[-1] == "verified: 3 runs, 20 rounds."
        (tmp_path / "runs" / "b" / "clients.csv").unlink()
        code, out, _ = self.call(monkeypatch, capsys, tmp_path / "runs")
        assert code == 4
        assert "NOT verified: 1 of 2 runs, the first is" in " ".join(out.split())

    def test_json_has_everything(self, plain, monkeypatch, capsys):
        code, out, _ = self.call(monkeypatch, capsys, plain, "--json")
        found = json.loads(out)
        assert (code, found["verified"]) == (0, True)
        (run,) = found["runs"]
        assert run["verdict"] == found["verdict"] == verify(plain).verdict
        assert run["findings"][4] == {
            "claim": "λ",
            "standing": "proved",
            "by": run["findings"][4]["by"],
            "place": None,
            "checked": 6,
            "numbers": {"gap": run["findings"][4]["numbers"]["gap"]},
        }
        assert len(run["not_proved"]) == 2
        assert "timings.jsonl" in run["not_covered"]

    def test_a_folder_without_a_run_has_code_3(self, tmp_path, monkeypatch, capsys):
        code, _, err = self.call(monkeypatch, capsys, tmp_path)
        assert code == 3
        assert "holds no run" in err

    def test_no_text_of_a_folder_reaches_the_terminal_as_an_escape(
        self, plain, tmp_path, monkeypatch, capsys
    ):
        path = copy_of(plain, tmp_path / "red\x1b[31m")
        done = json.loads((path / "DONE").read_text())
        done["files"]["\x1b[2J"] = {"sha256": "", "bytes": 1}
        (path / "DONE").write_text(json.dumps(done, indent=2) + "\n")
        code, out, _ = self.call(monkeypatch, capsys, path)
        assert code == 4
        assert "\x1b" not in out


def test_neither_torch_nor_any_other_large_package_is_needed(protected):
    code = (
        "import sys, builtins\n"
        "real = builtins.__import__\n"
        "def refuse(name, *rest, **more):\n"
        "    if name.split('.')[0] in "
        "{'torch', 'safetensors', 'scipy', 'sklearn', 'numba', 'typer', 'rich'}:\n"
        "        raise ImportError(name)\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = refuse\n"
        "import fedmgda\n"
        "audit = fedmgda.verify(sys.argv[1])\n"
        "assert 'torch' not in sys.modules\n"
        "print(audit.verdict)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(protected)], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("verified: 8 rounds")


@pytest.mark.slow
def test_five_hundred_rounds_of_ten_take_less_than_two_seconds(tmp_path):
    table = {"rounds": 500, "data": {"num_clients": 20}, "clients": {"per_round": 10}}
    finished_run(tmp_path / "run", server={"protect": True}, model={"hidden": [32]}, **table)
    started = time.process_time()
    assert verify(tmp_path / "run").verified
    assert time.process_time() - started < 1.4  # the rest is for starting up
