"""Three CSVs on three real nodes: the bytes of one table, and what goes over the wire."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deployed import NODES, run_deployed, run_embedded, same_bytes
from fedmgda.experiments import open_run, settle
from fedmgda.flower.wire._leaving import FIELDS
from fedmgda.flower.wire._messages import answer_from_bytes
from hospitals import PATIENT, PATIENTS_DOSE, hospital_spec

EXAMPLE = Path(__file__).parents[3] / "examples" / "hospitals"


def listed(name, phase):
    """Tell whether a field is one of those that are documented for answers of a phase."""
    name = name.split(".", 2)[2] if name.startswith("also.") else name
    names = [field.name for field in FIELDS if phase in field.phases]
    return name in names or any(n.endswith("*") and name.startswith(n[:-1]) for n in names)


def test_files_that_stay_where_they_are_give_the_bytes_of_one_table(deployment, tmp_path):
    tap, sites = deployment.folder / "tap", deployment.folder / "sites"
    table = {
        "rounds": 1,
        "evaluation": {"every": 100, "improved": False, "select": "last"},
        "clients": {"client_lr": 0.1},
        "engine": {"client_timeout": 120.0},
    }
    spec = hospital_spec(table)
    end, _ = run_deployed(deployment, spec, tmp_path / "nodes", client_app="wire_tap:app")
    assert end.code == 0, end.sentence
    here = settle(replace(spec, data=replace(spec.data, path=str(sites)))).spec
    run_embedded(here, tmp_path / "here")
    assert same_bytes(tmp_path / "nodes", tmp_path / "here") == []
    row = {"age": 95, "dose": 100, "ward": "A"}
    assert open_run(tmp_path / "nodes").model().predict([row]).shape == (1,)

    hidden = [PATIENT.encode(), str(PATIENTS_DOSE).encode(), b".csv", str(sites).encode()]
    hidden += [np.array([PATIENTS_DOSE], kind).tobytes() for kind in (np.float64, np.float32)]
    phases = set()
    for file in tap.iterdir():
        content = file.read_bytes()
        answer = answer_from_bytes(content)
        phase = answer.header["phase"]
        phases.add((file.name[0], phase))
        unlisted = [n for n in (*answer.header, *answer.arrays) if not listed(n, phase)]
        assert unlisted == []
        assert not any(value in content for value in hidden)
    told = ("hello", "statistics", "train", "evaluate")
    assert phases == {(str(node), phase) for node in range(NODES) for phase in told}


@pytest.mark.slow
def test_the_worked_example_from_its_first_command_to_its_last(tmp_path):
    def fedmgda(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "fedmgda", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"TMPDIR": os.environ.get("TMPDIR", "/tmp")},  # noqa: S108
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    subprocess.run([sys.executable, EXAMPLE / "make_files.py", "files"], cwd=tmp_path, check=True)
    sites = ("north", "coast", "valley")
    fedmgda("flower", "schema", "files/north.csv", "--target", "diagnosis", "--out", "made.toml")
    for site in sites[1:]:
        fedmgda("flower", "schema", f"files/{site}.csv", "--check", "made.toml")
    data = [word for site in sites for word in ("--data", f"files/{site}.csv")]
    few = ("-c", "rounds=2", "-c", "evaluation.improved=false")
    where = ("--engine", "local-deployment", *data, *few)
    for out, rule in (("plus", "fedmgda+"), ("average", "fedavg")):
        spec = EXAMPLE / "spec.toml"
        fedmgda("flower", "run", spec, *where, "-c", f"rule.name={rule}", "--out", f"runs/{out}")
    assert "3 clients, 54 test rows" in fedmgda("compare", "runs/plus", "runs/average")
    fedmgda("predict", "runs/plus", "files/new.csv", "--out", "judged.csv")
    assert len((tmp_path / "judged.csv").read_text().splitlines()) == 41
