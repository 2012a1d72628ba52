"""kill -9 at random moments: what is left is resumed to the same bytes."""

import multiprocessing
import random
import signal
import time
from dataclasses import replace

import pytest

from fedmgda.experiments import RunFolder, Spec, demo_table, parse, resolve
from runs import carry_on, results

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["fedmgda.experiments", "fedmgda.clients"])


def demo_spec(workers=1, checkpoint_seconds=0.0):
    table = {key: value for key, value in demo_table().items() if key != "sweep"}
    table["engine"] = {"workers": workers, "checkpoint_seconds": checkpoint_seconds}
    table["rule"] = {"name": "fedmgda+"}
    table["server"] = {"decay": 0.1}
    return resolve(parse(Spec, table))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    RunFolder.create(path, demo_spec())
    carry_on(path)
    return results(path)


def rounds_done(path):
    records = path / "rounds.jsonl"
    return records.read_bytes().count(b"\n") if records.exists() else 0


def kill_after(path, more_rounds, seconds=0.0):
    """Go on with a run and kill it so many rounds and seconds later; tell whether it was too late.

    A machine that lets the run go on while it does not let this process look finishes it first.
    """
    goal, deadline = rounds_done(path) + more_rounds, time.monotonic() + 60
    process = CONTEXT.Process(target=carry_on, args=(path,))
    process.start()
    while rounds_done(path) < goal and process.is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.join(seconds)
    process.kill()  # nothing, if it has ended by itself
    process.join(60)
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode == 0


def test_twenty_kills_change_no_byte(whole, tmp_path):
    rng = random.Random(20)  # noqa: S311 (moments to kill at, not secrets)
    folders = (tmp_path / str(number) for number in range(20))
    path, reached = next(folders), []
    RunFolder.create(path, demo_spec())
    while len(reached) < 20:
        # At once or some rounds later, and then at any place of a round or of a write.
        more_rounds = rng.randrange(7)
        if kill_after(path, more_rounds, rng.uniform(0.0, 0.03 if more_rounds else 1.0)):
            assert results(path) == whole
            path = next(folders)
            RunFolder.create(path, demo_spec())
        else:
            reached.append((path, rounds_done(path)))
    assert len(set(reached)) > 10, "the kills must fall into different rounds"
    carry_on(path)
    assert results(path) == whole


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_no_byte(whole, tmp_path, workers):
    RunFolder.create(tmp_path, demo_spec(workers))
    carry_on(tmp_path)
    assert results(tmp_path) == whole


def test_pooled_training_is_killed_and_resumed_to_the_same_bytes(tmp_path):
    spec = replace(demo_spec(), baseline="pooled")
    places = [tmp_path / name for name in ("whole", "killed")]
    for place in places:
        RunFolder.create(place, spec)
    carry_on(places[0])
    rounds = rounds_done(places[0])
    late, reached = False, []
    while not late and len(reached) < 3:
        late = kill_after(places[1], 1 + len(reached))
        reached.append(rounds_done(places[1]))
    assert 0 < reached[0] < rounds, "the first kill must fall into the training"
    carry_on(places[1])
    assert results(places[1]) == results(places[0])


def test_a_run_over_workers_is_killed_and_resumed_to_the_same_bytes(whole, tmp_path):
    RunFolder.create(tmp_path, demo_spec(workers=2))
    late = [kill_after(tmp_path, 3) for _ in range(2)]
    assert late[0] is False, "the first kill must fall into the run"
    carry_on(tmp_path)
    assert results(tmp_path) == whole
