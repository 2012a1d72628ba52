"""Clients in another process: a server that holds nobody's data drives them through a pipe.

Run as a program it is such a server: `python remote.py RUNS DRIVEN` does every run in the folder
RUNS again in the folder DRIVEN; the other process reads the specs and has the data.
"""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

FACTS = (
    "num_clients",
    "num_params",
    "num_buffers",
    "path",
    "client_names",
    "facts",
    "models_at_once",
)


class RemoteClients:
    """Whoever is at the other end of a pipe, as `fedmgda.values.Clients`."""

    def __init__(self, connection):
        self._connection = connection
        for name in FACTS:
            setattr(self, name, self._ask("fact", name))

    def initial_params(self):
        return self._ask("initial_params")

    def train_cohort(self, params, client_ids, round_num, *, gradients=False, known=None):
        return self._ask(
            "train_cohort", params, client_ids, round_num, gradients=gradients, known=known
        )

    def evaluate(self, params, client_ids, split, *, predictions=False):
        return self._ask("evaluate", params, client_ids, split, predictions=predictions)

    def gradients(self, params, client_ids):
        return self._ask("gradients", params, client_ids)

    def close(self):
        self._ask("close")

    def _ask(self, name, *arguments, **options):
        self._connection.send((name, arguments, options))
        answer = self._connection.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


def serve(connection):
    """Answer for the clients of one spec after the other; their data is in this process alone."""
    from fedmgda.experiments import build_data, open_run  # noqa: PLC0415
    from fedmgda.experiments._build import build_pool  # noqa: PLC0415

    while (folder := connection.recv()) is not None:
        spec = open_run(folder).spec
        data, _ = build_data(spec)
        with build_pool(spec, data) as pool:
            _answer(connection, pool)


def serve_pool(connection, make_pool):
    """Answer for the clients of one pool, which is made in this process."""
    with make_pool() as pool:
        _answer(connection, pool)


def _answer(connection, pool):
    while True:
        name, arguments, options = connection.recv()
        if name == "close":
            connection.send(None)
            return
        try:
            found = getattr(pool, *arguments) if name == "fact" else getattr(pool, name)
            connection.send(found if name == "fact" else found(*arguments, **options))
        except Exception as error:  # noqa: BLE001 (for whoever asked)
            connection.send(error)


def drive(runs, driven):
    """Carry runs to their end with clients that live in another process."""
    from fedmgda.experiments import RunFolder, execute, open_run, run_folders  # noqa: PLC0415

    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,))
    process.start()
    for folder in run_folders(runs):
        ours.send(folder)
        clients = RemoteClients(ours)
        spec = open_run(folder).spec
        for _ in execute(RunFolder.create(driven / folder.name, spec), clients):
            pass
        clients.close()
    ours.send(None)
    process.join(60)


if __name__ == "__main__":
    drive(*map(Path, sys.argv[1:3]))
    heavy = {"torch", "numba", "sklearn"} & set(sys.modules)
    sys.stdout.write(f"{sorted(heavy)}\n")
