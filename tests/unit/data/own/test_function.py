import sys

import pytest

from fedmgda._errors import SpecError
from fedmgda.data import find_dataset

SOURCE = """
from fedmgda._errors import SpecError
from fedmgda.data import quadratic_federation

def make(clients=2, *, features=3, names=()):
    return quadratic_federation(clients, features, seed=0)

def needs(size):
    return quadratic_federation(2, size, seed=0)

def anything(**options):
    return quadratic_federation(len(options), 1, seed=0)

def nothing():
    return quadratic_federation(2, 1, seed=0)

def positional(size, /):
    return None

def wrong():
    return "data"

def own_words():
    raise SpecError("The year must be after 2000.")

def refuses(size=1):
    raise ValueError(f"size {size}\\nis wrong")
"""


@pytest.fixture(autouse=True)
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own_function_module.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("own_function_module", None)


def load(function, **options):
    name = f"own_function_module:{function}"
    settings = {"name": name} | ({"options": options} if options else {})
    return find_dataset(name).load(settings, 0)


def test_a_function_is_called_with_its_options():
    assert load("make").num_clients == 2
    data = load("make", clients=4, features=5)
    assert (data.num_clients, data.features.shape[1]) == (4, 5)
    assert load("needs", size=2).features.shape[1] == 2
    assert load("anything", a=1, b=2, c=3).num_clients == 3


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("make", {"client": 3}, "data.options.client is no argument of 'own_function_module:make'"),
        ("make", {"client": 3}, "; did you mean 'clients'?"),
        ("make", {"zzz": 3}, "; it takes clients, features, names."),
        ("nothing", {"zzz": 3}, "; it takes no arguments."),
        ("needs", {}, "needs the argument 'size'; give it as data.options.size."),
        ("positional", {"size": 1}, "data.options.size is no argument"),
        ("wrong", {}, "must return a fedmgda.FederatedData, got an object of type str."),
        ("own_words", {}, "The year must be after 2000."),
        ("refuses", {"size": 3}, "raised ValueError: size 3 is wrong; correct the function."),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_sentence(function, options, message):
    with pytest.raises(SpecError) as caught:
        load(function, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
