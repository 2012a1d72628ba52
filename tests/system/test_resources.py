"""Too little of something: one sentence, a documented code, and nothing of the work is lost.

The default run tries a few amounts; `-m torture` all of them from nothing to enough.
"""

import pytest

from commands import COMMANDS, Place, assert_goes_on, assert_one_sentence

MB = 1 << 20


@pytest.fixture(scope="module")
def expected(commands, sources):
    place = Place(commands, COMMANDS["run"], sources, "enough of everything")
    assert place.run()[0] == 0
    return place.left()


def ends(place, expected, amount, **limits):
    """Give a command with too little, then with enough; return the code of the first."""
    code, said = place.run(**limits)
    assert_one_sentence(code, said, amount)
    assert_goes_on(place, expected, amount)
    return code


@pytest.mark.parametrize("amount", [4, 5, 8])
def test_few_descriptors(commands, sources, expected, amount):
    place = Place(commands, COMMANDS["run"], sources, f"{amount} descriptors")
    assert ends(place, expected, amount, descriptors=amount) == 4


@pytest.mark.parametrize("amount", [0, 1])
def test_little_address_space(commands, sources, expected, amount):
    place = Place(commands, COMMANDS["run"], sources, f"{amount} MB")
    assert ends(place, expected, amount, memory=amount * MB) == 1


DESCRIPTORS = {"run": range(4, 14), "run over workers": range(6, 30, 2), "data import": range(4, 9)}
MEMORY = {"run": (0, 1, 2, 4, 8, 16, 32), "run over workers": (0, 4, 16, 64, 256)}
MEMORY |= {"run on torch": (0, 1, 2, 4, 8, 16, 32), "run over threads": (0, 4, 16, 64)}


@pytest.mark.torture
@pytest.mark.parametrize("name", DESCRIPTORS)
def test_any_number_of_descriptors(commands, sources, name):
    any_amount(commands, sources, name, {n: {"descriptors": n} for n in DESCRIPTORS[name]})


@pytest.mark.torture
@pytest.mark.parametrize("name", MEMORY)
def test_any_address_space(commands, sources, name):
    any_amount(commands, sources, name, {n: {"memory": n * MB} for n in MEMORY[name]})


def any_amount(commands, sources, name, limits):
    whole = Place(commands, COMMANDS[name], sources, f"{name} with enough")
    assert whole.run()[0] == 0
    codes = []
    for amount, limit in limits.items():
        place = Place(commands, COMMANDS[name], sources, f"{name} with {amount}")
        codes.append(ends(place, whole.left(), amount, **limit))
    assert codes[0] != 0, "nothing was missing"
    whole.remove()
