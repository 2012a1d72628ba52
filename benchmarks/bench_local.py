"""W2, W3 and evaluation: what one client's local work costs, plain torch against ours."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from _data import adult_data, export_w1, random_images, random_texts, w1_data
from _measure import machine, median_seconds, text_table, write_result
from _plain import plain_module, plain_pool, train, train_client
from fedmgda.clients import ClientPool, LocalTraining, gather
from fedmgda.federation import Federation, UniformSampler, initial_state, run_round, simulate
from fedmgda.metrics import improved_participants
from fedmgda.models import char_lstm, cifar_cnn, femnist_cnn, fmnist_cnn, linear
from fedmgda.rules import FedAvg, FedMGDA

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from fedmgda.data import FederatedData


@dataclass(frozen=True)
class Client:
    """A model of W3 and the data of one client that trains it."""

    name: str
    build: Callable[[], nn.Module]
    data: FederatedData
    batch_size: int


def clients_of_w3() -> tuple[Client, ...]:
    """Return one client for each of the paper's larger models."""
    return (
        Client("CIFAR-10 CNN", partial(cifar_cnn, 10), random_images((3, 32, 32), 1, 200), 10),
        Client("FEMNIST CNN", partial(femnist_cnn, 62), random_images((1, 28, 28), 1, 200), 20),
        Client("Shakespeare LSTM", partial(char_lstm, 80), random_texts(80, 1, 60), 10),
    )


def make_pool(
    data: FederatedData, build: Callable[[], nn.Module], batch_size: int, **options: Any
) -> ClientPool:
    """Return a pool that reports the loss it sees anyway, unless the options ask for more."""
    training = LocalTraining(batch_size=batch_size, client_lr=0.01)
    options = {"reported_loss": "during", **options}
    return ClientPool(data=data, build_model=build, training=training, seed=0, **options)


def bench_w2(repeats: int, rounds: int = 20) -> dict[str, Any]:
    """Time a round of Adult: the eager loop of torch against ours."""
    data = adult_data()
    blocks = [gather(data, rows) for rows in data.train]
    build = partial(linear, int(data.features[0].size), 2)

    def eager() -> None:
        for block in blocks:
            train(build(), block.features, block.targets, 10)

    with make_pool(data, build, 10, workers=2) as pool:
        federation = Federation(
            train_cohort=pool.train_cohort,
            rule=FedMGDA(),
            sampler=UniformSampler(num_clients=2, per_round=2),
            num_clients=2,
        )
        start = initial_state(federation, pool.initial_params())
        ours = partial(_run, federation, start, rounds)
        seconds = median_seconds({"eager": eager, "ours": ours}, repeats)
        path = getattr(pool, "path", "torch")
    round_s = seconds["ours"] / rounds
    return {
        "rows": [len(rows) for rows in data.train],
        "eager_round_s": seconds["eager"],
        "ours_round_s": round_s,
        "ours_path": path,
        "eager_over_ours": seconds["eager"] / round_s,
        "ours_rounds_per_s": 1 / round_s,
    }


def _run(federation: Federation, server: Any, rounds: int) -> None:
    for _ in islice(simulate(federation, server), rounds):
        pass


def bench_w3(client: Client, repeats: int) -> dict[str, Any]:
    """Count the samples per second of one client on one thread: plain module and ours."""
    rows = client.data.train[0]
    block = gather(client.data, rows)

    def plain() -> None:
        train(plain_module(client.build()), block.features, block.targets, client.batch_size)

    with make_pool(client.data, client.build, client.batch_size) as pool:
        params = pool.initial_params()
        works = {"plain": plain, "ours": lambda: pool.train_cohort(params, (0,), 1)}
        seconds = median_seconds(works, repeats)
    return {
        "model": client.name,
        "plain_samples_per_s": len(rows) / seconds["plain"],
        "ours_samples_per_s": len(rows) / seconds["ours"],
        "plain_over_ours": seconds["plain"] / seconds["ours"],
    }


def bench_cifar_round(repeats: int, users: int = 4, size: int = 400) -> dict[str, Any]:
    """Time CIFAR-10 users of 400 samples on two processes: the plain loop against ours."""
    build = partial(cifar_cnn, 10)
    data = random_images((3, 32, 32), users, size)
    ids = tuple(range(users))
    jobs: list[Any] = [(build, (3, 32, 32), size, 10)] * users
    with plain_pool(2) as processes, make_pool(data, build, 10, workers=2) as pool:
        params = pool.initial_params()
        seconds = median_seconds(
            {
                "plain": lambda: processes.map(train_client, jobs, chunksize=1),
                "ours": lambda: pool.train_cohort(params, ids, 1),
            },
            repeats,
        )
    return {
        "users": users,
        "samples_each": size,
        "plain_s": seconds["plain"],
        "ours_s": seconds["ours"],
        "plain_over_ours": seconds["plain"] / seconds["ours"],
    }


def bench_evaluation(path: str, repeats: int) -> dict[str, Any]:
    """Time a W1 round without evaluation, and one with f_i before and after for participants."""
    data = w1_data(export_w1())
    build, ids = partial(fmnist_cnn, 10), tuple(range(10))
    options: dict[str, Any] = {"workers": 2, "path": path}
    bare = make_pool(data, build, 10, **options)
    full = make_pool(data, build, 10, reported_loss="before", **options)
    with bare, full:
        params = bare.initial_params()
        federation = Federation(
            train_cohort=bare.train_cohort,
            rule=FedAvg(),
            sampler=UniformSampler(num_clients=100, per_round=10),
            num_clients=100,
        )
        server = initial_state(federation, params)

        def with_bookkeeping() -> None:
            after, record = run_round(replace(federation, train_cohort=full.train_cohort), server)
            seen = full.evaluate(after.params, record.cohort.client_ids, "train")
            improved_participants(record.cohort.losses, seen.losses)

        works: dict[str, Callable[[], object]] = {
            "bare": lambda: run_round(federation, server),
            "full": with_bookkeeping,
            "all_users": lambda: full.evaluate(params, range(100), "train"),
            "participants": lambda: full.evaluate(params, ids, "train"),
        }
        seconds = median_seconds(works, repeats)
    return {
        "path": path,
        "round_s": seconds["bare"],
        "round_with_bookkeeping_s": seconds["full"],
        "bookkeeping_share": seconds["full"] / seconds["bare"] - 1,
        "evaluate_participants_s": seconds["participants"],
        "evaluate_all_users_s": seconds["all_users"],
    }


def main() -> None:
    """Measure, print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    facts = machine()
    record: dict[str, Any] = {
        "machine": facts,
        "repeats": repeats,
        "w2": bench_w2(repeats),
        "w3": [bench_w3(client, repeats) for client in clients_of_w3()],
        "cifar_round": bench_cifar_round(repeats),
        "evaluation": [bench_evaluation(path, repeats) for path in ("compiled", "torch")],
    }
    for name in ("w2", "w3", "cifar_round", "evaluation"):
        rows = record[name]
        print(f"{name}\n{text_table(rows if isinstance(rows, list) else [rows])}\n")
    write_result("local", record)


if __name__ == "__main__":
    main()
