"""What runs are called when they are compared: short, and never two alike."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from fedmgda.experiments._reader import Run

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["distinct_names", "goes_by", "label", "without_twins"]

_KEY = re.compile(r"(^|[_/])((?:[a-z]+\.)+[a-z_]+)=")  # of a spec, in what a sweep calls a run


def label(run: Run) -> str:
    """Return the name of the folder, without the seed behind it if that is the run's own."""
    name = run.path.resolve().name
    return re.sub(rf"(^|_)seed={run.spec.seed}$", "", name) or name


def without_twins(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Leave out runs that a folder has twice, as `fedavg` and as `fedavg_seed=0`.

    Returns:
        The others, and a sentence for every run that is left out.
    """
    kept, notes = list[Run](), list[str]()
    for run in runs:
        twin = next(
            (other for other in kept if _key(other) == _key(run) and _alike(other, run)), None
        )
        if twin is None:
            kept.append(run)
        else:
            notes.append(f"{run.path} is the same run as {twin.path}, and is left out.")
    return kept, notes


def goes_by(wanted: str, name: str, run: Run) -> bool:
    """Whether a run, called `name` among others, is what a user means by a word.

    Of runs of one name in several folders the word means each; a run of a sweep may also be
    called by its folder.
    """
    return wanted in {name, name.rpartition("/")[2], label(run)}


def distinct_names(runs: Sequence[Run]) -> list[str]:
    """Return what each run is called; runs of several seeds that belong together share a name.

    Where runs of one seed in several folders have the same name, it begins with what
    distinguishes the folders; where they are in one folder, the name of the later one keeps its
    seed. Keys of a spec are told by their last part, unless two names would then be one.
    """
    seen = set[tuple[Path, int]]()
    places = list[Path]()
    for run in runs:
        place = _key(run)
        if (place, run.spec.seed) in seen:
            place = run.path.resolve()
        seen.add((place, run.spec.seed))
        places.append(place)
    count = Counter((place.name, run.spec.seed) for place, run in zip(places, runs, strict=True))
    unclear = {name for (name, _), number in count.items() if number > 1}
    names = [_tail(place, places) if place.name in unclear else place.name for place in places]
    short = [_in_short(name) for name in names]
    return short if len(set(short)) == len(set(names)) else names


def _in_short(name: str) -> str:
    """Tell the keys in a name by their last part.

    >>> _in_short("rule.name=fedavg_attack.name=none_clients.client_lr=0.1")
    'fedavg_attack=none_client_lr=0.1'
    """
    return _KEY.sub(lambda found: found[1] + _last_part(found[2]), name)


def _last_part(key: str) -> str:
    section, _, last = key.rpartition(".")
    if last != "name":
        return f"{last}="
    return "" if section == "rule" else f"{section}="


def _tail(place: Path, places: Sequence[Path]) -> str:
    """Return a path without what it has in common with the others of its name."""
    parents = {other.parent for other in places if other.name == place.name}
    return place.relative_to(os.path.commonpath(parents)).as_posix()


def _key(run: Run) -> Path:
    return run.path.resolve().with_name(label(run))


def _alike(one: Run, other: Run) -> bool:
    return one.spec.seed == other.spec.seed and one.holds(other.spec)
