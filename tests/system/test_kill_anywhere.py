"""Commands that are killed, or refused by the disk, at any call: given again, they end as one.

The default run takes a few places in the life of every kind of command; `-m torture` every place.
"""

import errno
import os
import random
import signal
import time
from contextlib import suppress

import pytest

from commands import COMMANDS, Command, Place, assert_goes_on, assert_one_sentence

FAULTS = {"killed": None, "refused": errno.EIO}
FEW = {"run": 3, "resume": 2, "sweep": 2, "data import": 2, "data fetch": 2}
LONG_ROUNDS = ["-c", "clients.local_epochs=100000", "-j", "2"]
ALL = ("run", "resume", "data import", "data fetch")  # the others write as these do
SOME = 12
SLOW = ("workers", "at a time")  # to start: processes are started that load everything anew


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


@pytest.mark.parametrize("name", FEW)
def test_a_few_calls_of_a_command(commands, sources, name):
    survived(commands, sources, name, FEW[name])


@pytest.mark.torture
@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_of_a_command(commands, sources, name):
    survived(commands, sources, name, 1000 if name in ALL else SOME)


def kill(place, seconds):
    """Give the command and kill it so many seconds later; return its code, 0 if that was late."""
    pid = place.start()
    process = os.pidfd_open(pid)
    time.sleep(seconds)
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
    os.close(process)
    return place.wait()


def survived_kills(commands, sources, name, kills):
    """Kill a command at random moments of its life, again and again where it then stands."""
    whole, started = Place(commands, COMMANDS[name], sources, f"{name} whole"), time.monotonic()
    code, said = whole.run()[:2]
    assert code == 0, said
    seconds, expected = time.monotonic() - started, whole.left()
    rng, left, number = random.Random(name), kills, 0  # noqa: S311 (moments, not secrets)
    while left:
        place, number = Place(commands, COMMANDS[name], sources, f"{name} {number}"), number + 1
        while left and (code := kill(place, rng.uniform(0.0, seconds))):
            assert code == -signal.SIGKILL
            assert place.orphans() == []
            left -= 1
        assert_goes_on(place, expected, (number, left))


def test_a_kill_at_a_random_moment(commands, sources):
    survived_kills(commands, sources, "sweep of two at a time", 1)


@pytest.mark.torture
@pytest.mark.parametrize("name", COMMANDS)
def test_kills_at_random_moments(commands, sources, name):
    survived_kills(commands, sources, name, 5 if name.endswith(SLOW) else 9)


def test_runs_end_with_the_command_that_started_them_however_long_their_rounds(commands, sources):
    long = Command([*COMMANDS["sweep"].arguments, *LONG_ROUNDS])
    place = Place(commands, long, sources, "long rounds")
    pid = place.start()
    deadline = time.monotonic() + 120
    while not all(
        (place.folder / "out" / f"seed={n}" / "evaluations.jsonl").exists() for n in "01"
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    assert place.wait() == -signal.SIGKILL
    assert place.orphans() == []
