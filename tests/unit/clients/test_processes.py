from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedmgda import FedmgdaError
from fedmgda.clients import LocalTraining, _processes
from fedmgda.clients._process import WorkerProcess
from unit.clients._toys import (
    SIZES,
    complain,
    convolutions,
    descriptors,
    die,
    die_once,
    everything,
    federation,
    hang,
    only_in,
    pictures,
    pool,
    small,
    trapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.clients import ClientPool

ALL = tuple(range(len(SIZES)))
OTHERS = tuple(i for i in ALL if i != 2)
TESTS = Path(__file__).parents[2]


def pids(clients: ClientPool) -> list[int]:
    clients.evaluate(clients.initial_params(), ALL, "test")
    deadline = time.monotonic() + 60
    while not all(worker.ready for worker in clients._engine._workers):
        assert time.monotonic() < deadline
        clients.evaluate(clients.initial_params(), ALL, "test")
    return [worker._process.pid for worker in clients._engine._workers]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while being read
        return False


def gone(processes: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(alive(pid) for pid in processes)


def test_who_is_closed_while_it_starts_leaves_no_thread_and_no_process(monkeypatch):
    """A thread that starts a process while the interpreter ends would break its end."""
    before = threading.active_count()
    pool(workers=2).close()
    assert threading.active_count() == before
    assert multiprocessing.active_children() == []
    made = []

    def only_one(*args):
        if made:
            raise OSError("Too many open files")
        made.append(WorkerProcess(*args))
        return made[0]

    monkeypatch.setattr(_processes, "WorkerProcess", only_one)
    with pytest.raises(OSError, match="Too many open files"):
        pool(workers=2)
    assert threading.active_count() == before
    assert multiprocessing.active_children() == []


def limit_that_leaves(number: int) -> int:
    """Return the limit under which so many descriptors are left."""
    taken = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    return [fd for fd in range(10_000) if fd not in taken][number]


def test_too_few_descriptors_are_a_sentence_and_nothing_that_forks_dies(
    capfd: pytest.CaptureFixture[str],
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pool(workers=2) as clients:
        for pid in pids(clients):
            os.kill(pid, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit_that_leaves(8), hard))
        try:
            with pytest.raises(FedmgdaError, match=r"cannot start.*Too many open files"):
                clients.evaluate(clients.initial_params(), ALL, "test")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with pool(workers=2) as clients:
        assert len(pids(clients)) == 2
    assert "Traceback" not in capfd.readouterr().err


def everything_of(clients: ClientPool) -> list[bytes]:
    """All numbers of three rounds."""
    params, numbers = clients.initial_params(), []
    for round_num in (1, 2, 3):
        cohort = clients.train_cohort(params, ALL[::-1], round_num)
        assert cohort.failures == ()
        numbers += [cohort.updates.rows.tobytes(), cohort.losses.tobytes()]
        moved = [cohort.updates.rows, *(() if cohort.buffers is None else (cohort.buffers,))]
        params = params - np.hstack(moved).mean(axis=0)
        for split in ("train", "test"):
            scores = clients.evaluate(params, ALL, split)
            numbers += [scores.losses.tobytes(), scores.accuracies.tobytes()]
        numbers.append(clients.gradients(params, ALL).updates.rows.tobytes())
    return numbers


@pytest.fixture(scope="module")
def processes() -> Iterator[ClientPool]:
    with pool(workers=2, build_model=everything) as clients:
        yield clients


def test_one_two_and_three_workers_give_the_same_bits(processes: ClientPool) -> None:
    with pool(build_model=everything) as alone, pool(workers=3, build_model=everything) as three:
        expected = everything_of(alone)
        assert everything_of(processes) == expected
        assert everything_of(three) == expected


def test_convolutions_give_the_same_bits_in_every_process() -> None:
    options = {"data": pictures(), "build_model": convolutions}
    with pool(**options) as alone, pool(**options, workers=2) as two:
        assert alone._settings.channels_last
        assert everything_of(alone) == everything_of(two)


def test_the_updates_of_a_round_last_until_the_next(processes: ClientPool) -> None:
    params = processes.initial_params()
    cohort = processes.train_cohort(params, ALL, 1)
    before = cohort.updates.rows.copy()
    processes.gradients(params, ALL * 3)
    processes.evaluate(params, ALL, "test")
    np.testing.assert_array_equal(cohort.updates.rows, before)
    assert processes.train_cohort(params, ALL * 3, 1).updates.rows.shape == (18, before.shape[1])


def test_nobody_is_a_cohort_too(processes: ClientPool) -> None:
    assert processes.train_cohort(processes.initial_params(), (), 1).client_ids == ()


def test_a_round_of_ten_thousand_sends_each_worker_less_than_a_megabyte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    everyone, sent = range(10_000), Counter[Connection]()
    send_bytes = Connection._send_bytes

    def counted(pipe: Connection, message: bytes) -> None:
        sent[pipe] += len(message)
        send_bytes(pipe, message)

    data, known = federation((1,) * len(everyone)), dict.fromkeys(everyone, 0.123456789)
    training = LocalTraining(batch_size=None)
    with pool(data=data, training=training, workers=2) as clients:
        params = clients.initial_params()
        clients.train_cohort(params, (0, 1), 1)
        monkeypatch.setattr(Connection, "_send_bytes", counted)
        cohort = clients.train_cohort(params, everyone, 2, known=known)
    assert cohort.failures == ()
    assert (cohort.losses == 0.123456789).all()
    assert len(sent) == 2
    # Whoever does how many of them: even all at one worker would be less.
    assert sum(sent.values()) < 1_000_000


def test_workers_ignore_an_interrupt_from_the_terminal(processes: ClientPool) -> None:
    before = pids(processes)
    for pid in before:
        os.kill(pid, signal.SIGINT)
    assert processes.train_cohort(processes.initial_params(), ALL, 1).failures == ()
    assert pids(processes) == before


def test_a_worker_killed_between_rounds_is_replaced(processes: ClientPool) -> None:
    params = processes.initial_params()
    expected = processes.train_cohort(params, ALL, 4).updates.rows.copy()
    victims = pids(processes)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    assert gone(victims, 10)
    cohort = processes.train_cohort(params, ALL, 4)
    assert cohort.failures == ()
    np.testing.assert_array_equal(cohort.updates.rows, expected)
    assert not set(victims) & set(pids(processes))


def test_an_interrupted_call_leaves_nothing_behind_for_the_next(
    processes: ClientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = processes.initial_params()
    expected = processes.train_cohort(params, ALL, 5).updates.rows.copy()
    busy = pids(processes)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_processes.WorkerProcesses, "_wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            processes.train_cohort(params, ALL[::-1], 6)
    assert gone(busy, 10)
    np.testing.assert_array_equal(processes.train_cohort(params, ALL, 5).updates.rows, expected)


def test_a_worker_killed_at_its_work_is_replaced_and_the_client_tried_again(tmp_path: Path) -> None:
    data, flag = federation(trigger=2), tmp_path / "died"
    with (
        pool(data=data, workers=2, build_model=trapped(partial(die_once, flag))) as clients,
        pool(data=data) as calm,
    ):
        params = clients.initial_params()
        cohort = clients.train_cohort(params, ALL, 1)
        expected = calm.train_cohort(params, ALL, 1)
        assert flag.exists()
        flag.unlink()
        evaluation = clients.evaluate(params, ALL, "train")
        assert flag.exists()
    assert cohort.failures == ()
    np.testing.assert_array_equal(cohort.updates.rows, expected.updates.rows)
    np.testing.assert_array_equal(evaluation.losses, expected.losses)


def test_a_client_that_kills_every_worker_is_a_failure_and_the_others_go_on() -> None:
    data = federation(trigger=2)
    with (
        pool(data=data, workers=2, build_model=trapped(die)) as clients,
        pool(data=data) as calm,
    ):
        params = clients.initial_params()
        expected = calm.train_cohort(params, OTHERS, 1)
        for _ in range(2):
            cohort = clients.train_cohort(params, ALL, 1)
            assert cohort.client_ids == OTHERS
            np.testing.assert_array_equal(cohort.updates.rows, expected.updates.rows)
            np.testing.assert_array_equal(cohort.losses, expected.losses)
            assert [failure.client_id for failure in cohort.failures] == [2]
            assert cohort.failures[0].reason == "its worker died twice, last with signal 9"
        evaluation = clients.evaluate(params, ALL, "train")
        assert np.isnan(evaluation.losses).tolist() == [i == 2 for i in ALL]
        assert [failure.client_id for failure in evaluation.failures] == [2]
        assert evaluation.failures[0].reason == "its worker died twice, last with signal 9"


def test_a_client_that_takes_too_long_is_a_failure_and_its_worker_is_ended() -> None:
    data = federation(trigger=2)
    with (
        pool(data=data, workers=2, build_model=trapped(hang), client_timeout=1.0) as clients,
        pool(data=data) as calm,
    ):
        before = pids(clients)
        params = clients.initial_params()
        start = time.monotonic()
        cohort = clients.train_cohort(params, ALL, 1)
        assert time.monotonic() - start < 10
        expected = calm.train_cohort(params, OTHERS, 1)
        assert sum(alive(pid) for pid in before) == 1
    np.testing.assert_array_equal(cohort.updates.rows, expected.updates.rows)
    assert [failure.client_id for failure in cohort.failures] == [2]
    assert cohort.failures[0].reason == "it did not finish within 1 seconds"


def test_a_deadline_that_nobody_keeps_ends_no_evaluation() -> None:
    with pool(workers=2, client_timeout=1e-9) as clients, pool() as calm:
        params = clients.initial_params()
        evaluation = clients.evaluate(params, ALL, "test")
        expected = calm.evaluate(params, ALL, "test").losses
    late = np.isnan(evaluation.losses)  # an answer that is there when it is looked for counts
    assert late.any()
    np.testing.assert_array_equal(evaluation.losses[~late], expected[~late])
    assert {failure.reason for failure in evaluation.failures} == {
        "it did not finish within 1e-09 seconds"
    }


def test_a_client_that_raises_is_a_failure_and_its_worker_goes_on() -> None:
    data = federation(trigger=2)
    with pool(data=data, workers=2, build_model=trapped(complain)) as clients:
        before = pids(clients)
        cohort = clients.train_cohort(clients.initial_params(), ALL, 1)
        assert pids(clients) == before
    assert cohort.client_ids == OTHERS
    assert cohort.failures[0].reason == "its work raised ArithmeticError: too much"


def test_closing_is_quick_and_leaves_neither_processes_nor_files() -> None:
    with pool(workers=2) as warm:
        pids(warm)
    before = descriptors()
    clients = pool(workers=2)
    processes = pids(clients)
    cohort = clients.train_cohort(clients.initial_params(), ALL, 1)
    start = time.monotonic()
    clients.close()
    assert time.monotonic() - start < 3
    assert not any(alive(pid) for pid in processes)
    assert cohort.updates.rows.any()
    del cohort, clients
    assert descriptors() == before


def test_closing_before_the_workers_have_started_is_quick_too() -> None:
    before = set(multiprocessing.active_children())
    start = time.monotonic()
    clients = pool(workers=2)
    clients.close()
    clients.close()
    assert time.monotonic() - start < 3
    time.sleep(0.1)
    deadline = time.monotonic() + 30
    while set(multiprocessing.active_children()) - before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not set(multiprocessing.active_children()) - before


def test_closing_a_pool_at_its_start_does_not_harm_another() -> None:
    for _ in range(5):
        pool(workers=3).close()
    with pool(workers=2) as clients:
        assert clients.train_cohort(clients.initial_params(), ALL, 1).failures == ()


def test_a_closed_pool_refuses_work() -> None:
    clients = pool(workers=2)
    clients.close()
    with pytest.raises(ValueError, match="The pool is closed"):
        clients.evaluate(clients.initial_params(), ALL, "test")


def test_a_factory_that_cannot_travel_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"^build_model cannot be sent to worker processes"):
        pool(
            workers=2,
            build_model=lambda: small(),  # noqa: PLW0108 - a lambda is the point
        )


def test_workers_that_cannot_start_end_the_call_with_the_reason() -> None:
    with (
        pool(workers=2, build_model=partial(only_in, os.getpid())) as clients,
        pytest.raises(FedmgdaError, match=r"cannot start.*LookupError: no such layer.*workers"),
    ):
        clients.train_cohort(clients.initial_params(), ALL, 1)


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from unit.clients._toys import federation, hang, pool, trapped
from unit.clients.test_processes import pids

def main():
    with pool(data=federation(trigger=0), workers=2, build_model=trapped(hang)) as clients:
        print(*pids(clients), flush=True)
        {act}

{guard}
"""
GUARD = "if __name__ == '__main__': main()"


def script(folder: Path, act: str, guard: str = GUARD) -> list[str]:
    path = folder / "script.py"
    path.write_text(SCRIPT.format(tests=str(TESTS), act=act, guard=guard))
    return [sys.executable, "-W", "error", str(path)]


def test_workers_leave_when_the_main_process_is_killed(tmp_path: Path) -> None:
    command = script(tmp_path, "clients.train_cohort(clients.initial_params(), (0, 1), 1)")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as main:
        workers = [int(pid) for pid in main.stdout.readline().split()]
        assert len(workers) == 2
        assert all(alive(pid) for pid in workers)
        time.sleep(0.2)
        main.kill()
    assert gone(workers, 10)


@pytest.mark.parametrize("forgotten", [True, False])
def test_a_script_ends_without_a_word(tmp_path: Path, forgotten: bool) -> None:
    act = "global kept; kept = pool(workers=2); pids(kept)" if forgotten else "pass"
    done = subprocess.run(
        script(tmp_path, act), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert gone([int(pid) for pid in done.stdout.split()], 10)


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    command = script(tmp_path, "pass", guard="main()")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "guard the main script with `if __name__ == '__main__':`" in done.stderr
