import tomllib
from pathlib import Path

import pytest
from flwr.cli.build import build_fab_from_disk
from flwr.cli.config_utils import load_and_validate

import fedmgda
from fedmgda._errors import SpecError, StoreError
from fedmgda.experiments import Spec, parse, resolve, to_toml
from fedmgda.flower.deployment._export import export_app
from fedmgda.flower.deployment._local import Order

ORDER = Order(
    spec=resolve(parse(Spec, {"data": {"path": 'a "quoted" \\ ünïcödé.csv', "target": "y"}})),
    out=Path("/srv/runs/a"),
    num_nodes=3,
    roster='{"12": [0, 1]}',
)


def read(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_app_tells_its_two_halves_what_was_ordered(tmp_path):
    ORDER.export(tmp_path / "my-app")
    app = read(tmp_path / "my-app")["tool"]["flwr"]["app"]
    assert app["config"] == {
        "spec": to_toml(ORDER.spec),
        "out": "/srv/runs/a",
        "num-nodes": 3,
        "roster": ORDER.roster,
    }
    assert app["components"] == {
        "serverapp": "fedmgda.flower.server_app:app",
        "clientapp": "fedmgda.flower.client_app:app",
    }


@pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")  # Flower's own
def test_flower_itself_takes_the_app_without_a_warning(tmp_path):
    ORDER.export(tmp_path / "my-app")
    config, warnings = load_and_validate(tmp_path / "my-app" / "pyproject.toml")
    assert warnings == []
    assert config["project"]["version"] == fedmgda.__version__
    assert len(build_fab_from_disk(tmp_path / "my-app")) < 10_000


def test_an_app_is_written_again_but_never_over_something_else(tmp_path):
    folder = tmp_path / "app"
    ORDER.export(folder)
    ORDER.export(folder)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="holds other things"):
        ORDER.export(folder)
    mine = tmp_path / "project"
    mine.mkdir()
    (mine / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    with pytest.raises(StoreError, match="holds other things"):
        ORDER.export(mine)
    assert "mine" in (mine / "pyproject.toml").read_text()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="holds other things"):
        ORDER.export(tmp_path / "file")


@pytest.mark.parametrize("name", ["my_app", "9lives", "a b", "a.b", "ä"])
def test_a_name_that_flower_would_refuse_is_refused_here(tmp_path, name):
    with pytest.raises(SpecError, match="letters, digits and hyphens"):
        export_app(tmp_path / name, {"out": ""})
    assert not (tmp_path / name).exists()
