"""Too little of something: one sentence, a documented code, and nothing of the work is lost.

The default run tries a few amounts; `-m torture` all of them from nothing to enough.
"""

import shlex
import subprocess
import sys

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


def test_little_address_space(commands, sources, expected):
    place = Place(commands, COMMANDS["run"], sources, "0 MB")
    assert ends(place, expected, 0, memory=0) == 1


@pytest.mark.parametrize("inodes", [5, 14])
def test_few_inodes(commands, sources, expected, small_disk, inodes):
    assert with_inodes(commands, sources, expected, small_disk, inodes) == 4


@pytest.mark.torture
def test_any_number_of_inodes(commands, sources, expected, small_disk):
    codes = [with_inodes(commands, sources, expected, small_disk, n) for n in range(3, 24)]
    assert codes == sorted(codes, reverse=True)
    assert set(codes) == {0, 4}


def with_inodes(commands, sources, expected, small_disk, inodes):
    """Run on a disk that takes so many files and folders, then on one that takes more."""
    disk = sources / f"{inodes} inodes"
    small_disk(1000, f"nr_inodes={inodes}", place=disk)
    place = Place(commands, COMMANDS["run"], sources, disk.name)
    code, said = place.run()
    assert_one_sentence(code, said, inodes)
    assert code == 0 or "No space left on device" in said
    small_disk(1000, "remount", "nr_inodes=1000", place=disk)
    assert_goes_on(place, expected, inodes)
    return code


def test_a_read_only_disk(commands, sources, small_disk):
    whole = Place(commands, COMMANDS["resume"], sources, "resumed")
    assert whole.run()[0] == 0
    disk = small_disk(1000, place=sources / "read-only")
    place = Place(commands, COMMANDS["resume"], sources, disk.name)
    before = place.left()
    small_disk(1000, "remount", "ro", place=disk)
    code, said = place.run()
    assert code == 4
    assert_one_sentence(code, said, disk)
    assert "Read-only file system" in said
    assert place.left() == before
    small_disk(1000, "remount", "rw", place=disk)
    assert_goes_on(place, whole.left(), disk)


FULL = "mount -t tmpfs -o size=4k full /dev/shm && head -c 4096 /dev/zero > /dev/shm/full && exec "


@pytest.mark.torture
def test_shared_memory_that_is_full(commands, sources):
    """In a mount namespace of its own: arrays that workers share lie elsewhere."""
    whole = Place(commands, COMMANDS["run over workers"], sources, "with shared memory")
    assert whole.run()[0] == 0
    place = Place(commands, COMMANDS["run over workers"], sources, "without shared memory")
    command = shlex.join([sys.executable, "-m", "fedmgda", *COMMANDS["run over workers"].arguments])
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", FULL + command],
        cwd=place.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("filling /dev/shm needs the superuser")
    assert done.returncode == 0, done.stderr
    assert place.left() == whole.left()


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
