"""What somebody met who came with a table of their own, each thing as the command line shows it.

Nothing is imported here but the way in and the reader of run folders, so that every test can be
held against any version.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conflicts import table_of
from fedmgda.cli._app import run_app
from fedmgda.experiments import open_run
from tables import BRANCHES, write_houses, write_rows, write_table

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fedmgda(tmp_path, monkeypatch, capsys):
    """Return a call of the command line in an empty folder, which gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
        assert run_app() == code, capsys.readouterr().err
        return capsys.readouterr()

    return call


def spec_of(client, target, rounds=2, path="rows.csv"):
    """Write the lines that a table needs."""
    lines = (
        f'rounds = {rounds}\n[data]\npath = "{path}"\nclient = "{client}"\ntarget = "{target}"\n'
    )
    Path("spec.toml").write_text(lines, encoding="utf-8")
    return "spec.toml"


def words(text):
    return " ".join(text.split())


def summary_of(folder="runs/spec"):
    return json.loads(Path(folder, "summary.json").read_text())


# 1. A useless run looked like success.


def test_a_table_of_houses_learns_from_four_lines(fedmgda):
    write_houses(Path("rows.csv"))
    shown = fedmgda("run", spec_of("quarter", "price", rounds=40))
    losses = [row.honest.loss["average"] for row in open_run("runs/spec").evaluations]
    assert losses[-1] < 0.5 * min(losses[0], 1.0)  # 1 is always predicting the mean
    assert "It learned: test loss" in shown.out


def test_a_run_that_diverged_does_not_look_like_success(fedmgda):
    write_houses(Path("rows.csv"))
    much = ("-c", "clients.client_lr=0.1", "-c", "rule.name=fedavg", "-c", "clients.batch_size=10")
    shown = fedmgda("run", spec_of("quarter", "price", rounds=3), *much)
    last = words(shown.out).partition("It diverged: test loss ")[2]
    assert "-c clients.client_lr=0.01 (now 0.1)" in last
    assert summary_of()["verdict"]["outcome"] == "diverged"
    fedmgda("resume", "runs/spec", "--strict", code=9)


def test_a_run_that_ends_in_nan_names_the_learning_rate(fedmgda):
    write_houses(Path("rows.csv"))
    much = ("-c", "clients.client_lr=1e9", "-c", "rule.name=fedavg")
    shown = fedmgda("run", spec_of("quarter", "price", rounds=30), *much, code=6)
    assert "try -c clients.client_lr=1e+08" in words(shown.err)


# 2. A stall was reported as sacrifice.


def test_rounding_is_a_stall_and_no_sacrifice(fedmgda):
    table_of(Path("rows.csv"), clients=160, rows=12)
    everybody = ("-c", "clients.participation=1.0", "-c", "clients.client_lr=0.01")
    shown = fedmgda("run", spec_of("branch", "value", rounds=4), *everybody)
    assert summary_of()["rounds_that_sacrificed"] == 0
    assert "went against" not in words(shown.out)
    assert "no common direction among 160 participants in 4 of 4 rounds" in words(shown.out)
    assert "-c clients.per_round=" in words(shown.out)
    assert re.search(r"branch \d+", words(shown.out).partition("blocked")[2])


# 3. The model could not be used.


def test_a_trained_model_scores_new_rows_without_the_table(fedmgda):
    write_table(Path("rows.csv"), rows=80, positives=0.5)
    fedmgda("run", spec_of("branch", "left"))
    Path("rows.csv").unlink()
    write_rows(Path("new.csv"), ["income", "age"], [[1, 0.5], [-1, 2]])
    fedmgda("predict", "runs/spec", "new.csv", "-o", "scored.csv")
    head, *rows = Path("scored.csv").read_text().splitlines()
    assert head == "income,age,prediction,probability:no,probability:yes"
    assert {row.split(",")[2] for row in rows} <= {"no", "yes"}
    said = open_run("runs/spec").model().predict([{"age": 0.5, "income": 1}])
    assert said.tolist() == [rows[0].split(",")[2]]


# 4. There was accuracy alone.


def test_positives_that_are_not_found_are_counted(fedmgda):
    write_table(Path("rows.csv"))
    shown = fedmgda("run", spec_of("branch", "left"))
    found = open_run("runs/spec").predictions()
    positives = int((found.targets == 1).sum())
    assert (found.predictions == 0).all()  # an accuracy of more than 90 %
    assert f"found 0 of {positives} 'yes'" in words(shown.out)
    assert "balanced accuracy 50.0 %, AUC 0." in words(shown.out)


def test_a_regression_has_errors_in_units_and_no_column_of_dashes(fedmgda):
    write_table(Path("rows.csv"), task="values")  # 0 to 358.5
    shown = fedmgda("run", spec_of("branch", "left"))
    error = float(re.search(r"RMSE ([\d.]+), MAE [\d.]+, R² ", shown.out)[1])
    assert 50 < error < 400
    assert not any({"accuracy", "-"} & set(line.split()) for line in shown.out.splitlines())


# 5. "Is anyone worse off?" had no command, and clients had no names. (See also test_compare.py.)


def test_who_is_worse_off_is_a_command(fedmgda):
    write_table(Path("rows.csv"), rows=120, positives=0.5)
    for rule in ("fedmgda+", "fedavg"):
        fedmgda("run", spec_of("branch", "left"), "-o", rule, "-c", f"rule.name={rule}")
    fedmgda("compare", "fedmgda+", "fedavg", "--csv", "who.csv")
    rows = Path("who.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0].strip('"') for row in rows] == sorted(BRANCHES)


def test_clients_are_called_by_their_names(fedmgda):
    write_table(Path("rows.csv"))
    chosen = ("-c", 'clients.only=["west", "north"]')
    fedmgda("run", spec_of("branch", "left"), *chosen)
    run = open_run("runs/spec")
    trained = {client.name for client in run.clients if client.rounds}
    assert trained == {"west", "north"}
    attack = ("-c", "attack.name=scale-loss", "-c", 'attack.clients=["south"]')
    fedmgda("run", "spec.toml", *attack, "-o", "attacked")
    assert summary_of("attacked")["honest"]["users"] == 3


# 6. A decay was silently inert below 101 rounds.


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_decay_that_changes_no_step_is_refused(fedmgda, command):
    sweep = "[sweep]\nseeds = [0, 1]\n" if command == "sweep" else ""
    Path("spec.toml").write_text("rounds = 100\n[server]\ndecay = 0.1\n" + sweep)
    shown = fedmgda(command, "spec.toml", code=2)
    assert "server.decay = 0.1 changes nothing in 100 rounds" in shown.err
    assert not Path("runs").exists()


def test_a_decay_that_changes_a_step_is_not_refused(fedmgda):
    Path("spec.toml").write_text("rounds = 101\n[server]\ndecay = 0.1\n")
    assert "decay = 0.1" in fedmgda("run", "spec.toml", "--dry-run").out


# 8. Above 40 clients there was no line per client, and no hint where they are.


def test_many_clients_have_lines_and_a_place(fedmgda):
    table_of(Path("rows.csv"), clients=45, rows=12)
    shown = fedmgda("run", spec_of("branch", "value"))
    lines = [line for line in shown.out.splitlines() if re.match(r" ?branch \d+ ", line)]
    assert len(lines) == 10
    losses = [client.test_loss for client in open_run("runs/spec").clients]
    assert f"{max(losses):.3g}" in lines[0].split()
    assert "clients.csv has every client" in words(shown.out)
    assert len(Path("runs/spec/clients.csv").read_text().splitlines()) == 46


def test_a_client_tested_on_one_row_is_not_shown_as_a_percentage(fedmgda):
    rng = np.random.default_rng(0)
    ages = rng.normal(size=60).round(3)
    rows = [[f"c{i % 6}", age, "yes" if age > 0 else "no"] for i, age in enumerate(ages)]
    write_rows(Path("rows.csv"), ["branch", "age", "old"], rows)
    shown = fedmgda("run", spec_of("branch", "old", rounds=5))
    clients = [line.split() for line in shown.out.splitlines() if re.match(r" ?c\d ", line)]
    assert len(clients) == 6
    assert {" ".join(cells[2:5]) for cells in clients} <= {"1 of 1", "0 of 1"}


# 9. "Worst 5 %" had two meanings.


def test_worst_5_percent_is_one_number(fedmgda):
    data = '[data]\npartition = "iid"\nnum_clients = 30\n'
    Path("spec.toml").write_text(f"rounds = 3\n{data}[clients]\nper_round = 5\n")
    lines = fedmgda("run", "spec.toml").out.splitlines()
    head = next(i for i, line in enumerate(lines) if "worst 5 %" in line)
    end = lines[head].index("worst 5 %") + len("worst 5 %")
    row = next(line for line in lines[head:] if "accuracy" in line)
    shown = row[:end].rsplit("  ", 1)[1].strip()
    written = summary_of()["honest"]["accuracy"]
    told = {key: f"{100 * value:.1f} %" for key, value in written.items()}
    assert shown == told["percentile_5"]
    assert {told[key] for key in told if "worst_5" in key} <= {shown}
    assert told["mean_lowest_5_percent"] != shown  # so that one could be taken for the other


# 10. Ids and dates were features, classes had numbers, and some names were boxes.


@pytest.fixture
def visits(fedmgda):
    """Write visits with an id, days that come again, and names that the usual font lacks."""
    rng = np.random.default_rng(0)
    rare = "\N{GLAGOLITIC CAPITAL LETTER AZU}\N{GLAGOLITIC CAPITAL LETTER BUKY}"
    rows = [
        [("oslo", rare, "bergen")[i % 3], 7000 + 13 * i, f"2024-01-{1 + i % 28:02}",
         f"{rng.normal():.3f}", ("healthy", "ill")[i % 2]]
        for i in range(120)
    ]  # fmt: skip
    write_rows(Path("rows.csv"), ["town", "visit_id", "day", "age", "state"], rows)
    return spec_of("town", "state")


def test_ids_and_dates_are_left_out_and_said(fedmgda, visits):
    shown = fedmgda("run", visits)
    assert "'visit_id' is called like an id" in words(shown.err)
    assert "'day' holds dates like '2024-01-01'" in words(shown.err)
    assert "4 parameters" in words(shown.err)  # of age alone, for two classes


@pytest.mark.parametrize("name", ["visit_id", "day"])
def test_an_id_or_a_date_that_is_named_is_refused(fedmgda, visits, name):
    chosen = f'data.features=["age", "{name}"]'
    shown = fedmgda("run", visits, "-c", chosen, code=3)
    assert f"Column {name!r} of rows.csv" in words(shown.err)
    assert "leave it out of data.features" in words(shown.err)


def test_classes_have_names_and_no_name_is_a_box(fedmgda, visits):
    fedmgda("data", "plot", visits, "-o", "who.svg")  # a letter without a glyph is a warning
    texts = re.findall("<!-- (.*) -->", Path("who.svg").read_text())
    assert {"healthy", "ill", "oslo", "bergen"} <= set(texts)
    fedmgda("run", visits)
    assert [one["name"] for one in summary_of()["metrics"]["classes"]] == ["healthy", "ill"]


# 11. One tiny client blocked the start, and only the first was named.


def test_tiny_clients_stop_nothing_and_are_all_named(fedmgda):
    sizes = {"oslo": 30, "bergen": 20, "tromsø": 2, "bodø": 1, "narvik": 2}
    owners = [town for town, size in sizes.items() for _ in range(size)]
    rows = [[town, i * 37 % 11, "ny"[i % 2]] for i, town in enumerate(owners)]
    write_rows(Path("rows.csv"), ["town", "x", "ill"], rows)
    shown = fedmgda("run", spec_of("town", "ill"))
    notes = [line for line in shown.err.splitlines() if "left out" in line]
    assert len(notes) == 1
    assert "bodø (1), narvik (2), tromsø (2)" in notes[0]
    assert {client.name for client in open_run("runs/spec").clients} == {"oslo", "bergen"}


def test_a_sweep_says_once_whom_it_leaves_out(fedmgda):
    rows = [[name, i, i % 2] for name, count in (("oslo", 12), ("bergen", 12), ("bodø", 2))
            for i in range(count)]  # fmt: skip
    write_rows(Path("rows.csv"), ["branch", "age", "ill"], rows)
    spec = Path(spec_of("branch", "ill"))
    spec.write_text(spec.read_text() + "[sweep]\nseeds = [0, 1]\n")
    shown = words(fedmgda("sweep", spec).err)
    assert shown.count("is left out: bodø (2)") == 1


# 12. Batch norm voided the promise without a word.


def test_batch_norm_is_said_to_void_the_promise_at_the_start_and_at_the_end(fedmgda):
    Path("spec.toml").write_text(
        'rounds = 1\n[data]\nnum_clients = 4\n[model]\nname = "batch_norm:model"\n'
    )
    shown = fedmgda("run", "spec.toml")
    sentence = "running statistics (batch norm, 8 numbers)"
    assert sentence in words(shown.err)
    assert any(sentence in text for text in summary_of()["verdict"]["sentences"])
    assert sentence in words(shown.out)


# 7 and 13. What `run` prints before the first round, and how lines end.


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "fedmgda", *arguments], capture_output=True, text=True, check=False,
        env=os.environ | {"COLUMNS": "80"} | environment,
    )  # fmt: skip


def test_a_run_begins_with_ten_lines_and_compiles_nothing_twice(fedmgda):
    Path("spec.toml").write_text("rounds = 2\n[data]\nnum_clients = 6\n")
    fedmgda("run", "spec.toml", "-o", "first")
    found = command("run", "spec.toml")
    assert found.returncode == 0, found.stderr
    header = [line for line in found.stderr.splitlines() if not line.startswith("round ")]
    assert 3 < len(header) <= 10
    assert "digits" in header[0]
    assert "Compiling" not in found.stderr


def test_a_message_on_a_terminal_breaks_between_words(fedmgda):
    Path("spec.toml").write_text("[data]\nzzz = 1\n")
    found = command("run", "spec.toml", FORCE_COLOR="1")
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in found.stderr.splitlines()]
    assert lines[0].startswith("Error: There is no key 'data.zzz'; the names are")
    assert len(lines) > 1
    assert all(len(line) <= 80 for line in lines)


def test_the_list_of_studies_tells_their_costs(fedmgda):
    shown = fedmgda("reproduce", "list").out
    study = next(line for line in shown.splitlines() if line.startswith("cifar-user-1 "))
    assert re.search(r" 104 x 2000 +~[\d,.]+ h ", study)


def test_a_shell_can_complete(fedmgda):
    """What it completes: tests/system/test_startup.py."""
    assert "--install-completion" in fedmgda("--help").out


# 14. What README and the documents did not say. (15: tests/unit/scripts/test_fetch_test_data.py)


WEIGHTS = "Flower's FedAvg weighs them by their examples"


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("README.md", "`fedmgda run` trains a whole federation on one machine"),
        ("README.md", f"`fedavg` weighs clients alike, as the paper does; {WEIGHTS}"),
        ("docs/keys.md", '`rule.loss_scale = "batch-sum"` multiplies it by the number of batches'),
    ],
)
def test_the_documents_say_what_a_reader_would_guess_wrongly(document, sentence):
    assert sentence in words((ROOT / document).read_text(encoding="utf-8"))
