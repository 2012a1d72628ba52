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


__all__ = ["distinct_names", "label", "without_twins"]


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


def distinct_names(runs: Sequence[Run]) -> list[str]:
    """Return what each run is called; runs of several seeds that belong together share a name.

    Where runs of one seed in several folders have the same name, it begins with what
    distinguishes the folders; where they are in one folder, the name of the later one keeps its
    seed.
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
    return [_tail(place, places) if place.name in unclear else place.name for place in places]


def _tail(place: Path, places: Sequence[Path]) -> str:
    """Return a path without what it has in common with the others of its name."""
    parents = {other.parent for other in places if other.name == place.name}
    return place.relative_to(os.path.commonpath(parents)).as_posix()


def _key(run: Run) -> Path:
    return run.path.resolve().with_name(label(run))


def _alike(one: Run, other: Run) -> bool:
    return one.spec.seed == other.spec.seed and one.holds(other.spec)
