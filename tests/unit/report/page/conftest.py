import pytest

from fedmgda.report.page import build_page
from runs import finished_run, stopped_run

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def sweep(tmp_path_factory):
    """Return a folder of three rules, one under attack, one protected, and clients alone."""
    path = tmp_path_factory.mktemp("sweep")
    finished_run(path / "mgda_seed=0")
    finished_run(path / "mgda_seed=1", seed=1)
    finished_run(path / "fedavg_seed=0", rule={"name": "fedavg"})
    finished_run(
        path / "protected", server={"protect": True}, evaluation={"every": 2, "pareto": True}
    )
    finished_run(path / "attacked", attack={"name": "scale-update", "clients": [1]})
    finished_run(path / "alone", baseline="alone")
    return path


@pytest.fixture(scope="session")
def page(sweep):
    return build_page([sweep])


@pytest.fixture(scope="session")
def stopped(tmp_path_factory):
    return stopped_run(tmp_path_factory.mktemp("stopped") / "run").path
