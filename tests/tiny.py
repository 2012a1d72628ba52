"""Every study of the paper on a handful of examples, with its own rules, models and reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedmgda.data import Examples, FederatedData, Pixels
from fedmgda.experiments import Collection
from fedmgda.paper import Setting, load_study, plan_study

ROUNDS = 3
_MODELS = {
    "adult": "logistic",
    "cifar10": "cifar-cnn",
    "fashion-mnist": "fmnist-cnn",
    "femnist": "femnist-cnn",
    "shakespeare": "char-lstm",
    "writers": "femnist-cnn",
}


def _federation(name, features, num_classes, clients, pixels=None):
    rng = np.random.default_rng(0)
    hands = np.array_split(np.arange(len(features)), clients)
    return FederatedData(
        name=name,
        features=features,
        targets=rng.integers(0, num_classes, len(features)),
        train=tuple(hand[:-3] for hand in hands),
        validation=tuple(hand[-3:-2] for hand in hands),
        test=tuple(hand[-2:] for hand in hands),
        num_classes=num_classes,
        pixels=pixels,
    )


def _images(name, shape, num_classes):
    features = np.random.default_rng(1).integers(0, 256, (20, *shape), dtype=np.uint8)
    return _federation(name, features, num_classes, 4, Pixels(mean=0.5, std=0.5))


def cifar10():
    return _images("cifar10", (3, 32, 32), 10)


def fashion_mnist():
    return _images("fashion-mnist", (1, 28, 28), 10)


def femnist():
    return _images("femnist", (1, 28, 28), 62)


def writers():
    return _images("writers", (1, 28, 28), 10)


def official_images(part="train"):
    """Return what stands for Fashion-MNIST where the official test set is asked for."""
    data = fashion_mnist()
    return Examples(
        name="fashion-mnist",
        features=data.features[: 20 if part == "train" else 10],
        targets=np.arange(20 if part == "train" else 10) % 10,
        num_classes=10,
        pixels=data.pixels,
    )


def adult():
    features = np.random.default_rng(1).integers(0, 2, (30, 99)).astype(np.float32)
    return _federation("adult", features, 2, 2)


def shakespeare():
    return _federation("shakespeare", np.random.default_rng(1).integers(0, 80, (12, 80)), 80, 3)


def tiny_study(name):
    """Return a study with few clients, examples and variants."""
    study = load_study(name)
    if study.kind == "theory":
        return study
    sweep = dict(study.sweep)
    data = sweep["data"]["name"]
    clients = {k: v for k, v in sweep["clients"].items() if k not in {"participation", "per_round"}}
    if data == "digits":
        sweep |= {"data": {"name": "digits", "num_clients": 4}}
    elif sweep.get("evaluation", {}).get("global_test"):  # data with an official test set
        sweep |= {"data": {"name": "fashion-mnist", "num_clients": 4, "shards_per_client": 1}}
    elif "data.partition" in sweep["sweep"].get("grid", {}):  # data that a partition deals
        sweep |= {"data": {"name": "digits", "num_clients": 4}, "model": {"name": "mlp"}}
    else:
        sweep |= {"data": {"name": f"tiny:{data.replace('-', '_')}"}}
        sweep |= {"model": {**sweep.get("model", {}), "name": _MODELS[data]}}
    if data != "adult":
        clients["per_round"] = 2
    sweep["clients"] = clients
    sweep["evaluation"] = {**sweep.get("evaluation", {}), "every": 2, "improved_every": 1}
    sweep["sweep"] = _fewer(study)
    return replace(study, sweep=sweep)


def run_tiny(study, setting, path):
    """Carry all runs of a study to their end, in this process; return how each ended."""
    states = list(Collection(path, plan_study(study, setting)).execute())
    assert [state.error for state in states if state.error] == []
    return [state for state in states if state.finished]


def short(**options):
    return Setting(rounds=ROUNDS, **options)


def _fewer(study):
    """Keep the variants that are compared, else one of each rule on Adult and two elsewhere."""
    fewer = dict(study.sweep["sweep"])
    variants = fewer.get("variants", [])
    if study.name == "adult-bias":
        by_rule = {v["rule"]["name"] + str("only" in v.get("clients", {})): v for v in variants}
        fewer["variants"] = list(by_rule.values())
    elif variants and not study.pairs:
        fewer["variants"] = [variants[0], variants[-1]]
    if "attack" in fewer.get("grid", {}):
        attacks = fewer["grid"]["attack"]
        fewer["grid"] = {**fewer["grid"], "attack": [attacks[0], attacks[-1]]}
    if "server.lr" in fewer.get("grid", {}):
        fewer["variants"] = fewer["variants"][-4:]
        fewer["grid"] = {"server.lr": [1.0, 4.0]}
    if "server" in fewer.get("grid", {}):
        fewer["grid"] = {"server": fewer["grid"]["server"][:2]}
    if "rule.epsilon" in fewer.get("grid", {}):
        fewer["grid"] = {**fewer["grid"], "rule.epsilon": [0.0, 0.5]}
    return fewer
