"""Commands that are killed, or refused by the disk, at any call: given again, they end as one.

The default run takes a few places in the life of every kind of command; `-m torture` every place.
"""

import errno
import signal

import pytest

from commands import COMMANDS, Place, make_sources
from fedmgda.cli._exit_codes import EXIT_CODES
from servant import servant

FAULTS = {"killed": None, "refused": errno.EIO}
FEW = {"run": 3, "protected run": 2, "resume": 2, "sweep": 3, "data import": 2}
SOME = 10  # places of commands that write as one of these does


@pytest.fixture(scope="module")
def commands():
    """Whoever carries out the commands has loaded what they need."""
    with servant() as one:
        yield one


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    make_sources(folder)
    return folder


def survived(commands, sources, name, per_fault):
    """Stop a command at so many calls of its life, each in a folder of its own."""
    whole = Place(commands, COMMANDS[name], sources, f"{name} whole")
    calls = whole.count()
    expected = whole.left()
    for fault, number in FAULTS.items():
        count = min(calls, per_fault)
        for at in (1 + step * (calls - 1) // max(count - 1, 1) for step in range(count)):
            place = Place(commands, COMMANDS[name], sources, f"{name} {fault} at {at}")
            disk = {"below": str(place.folder / "out"), "at": at, "fault": number}
            code, said = place.run(disk=disk)
            if number is None:
                assert code == -signal.SIGKILL, (at, said)
            else:
                assert_one_sentence(code, said, at)
            assert_goes_on(place, expected, at)


def assert_one_sentence(code, said, at):
    """Say that a command was refused in a sentence, or that it did without the call."""
    assert code in EXIT_CODES, (at, said)
    assert "Traceback" not in said, (at, said)
    errors = " ".join(said.split()).count("Error: ")
    assert errors == (code != 0) or (code and errors == 2), (at, said)  # two runs of a sweep


def assert_goes_on(place, expected, at):
    """Give the command again; what it leaves are the bytes of the one that was never stopped."""
    code, said = place.run()
    assert code == 0, (at, said)
    found = place.left()
    names = expected.keys() | found.keys()
    assert [name for name in names if found.get(name) != expected.get(name)] == [], at
    assert place.temporary() == [], at
    assert place.orphans() == [], at
    place.remove()


@pytest.mark.parametrize("name", FEW)
def test_a_few_calls_of_a_command(commands, sources, name):
    survived(commands, sources, name, FEW[name])


@pytest.mark.torture
@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_of_a_command(commands, sources, name):
    survived(commands, sources, name, 1000 if name in FEW else SOME)
