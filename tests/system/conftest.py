import pytest

from commands import make_sources
from servant import servant


@pytest.fixture(scope="session")
def commands():
    """Whoever carries out the commands has loaded what they need."""
    with servant() as one:
        yield one


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    make_sources(folder)
    return folder
