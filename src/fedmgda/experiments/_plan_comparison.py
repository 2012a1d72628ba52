"""The runs that tell whether it is worth joining: the spec itself, FedAvg, alone and pooled."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

from fedmgda._errors import SpecError, StoreError
from fedmgda._files import is_there
from fedmgda.experiments._build_data import build_data
from fedmgda.experiments._parse import parse
from fedmgda.experiments._reader import Run, holds_run, open_run
from fedmgda.experiments._records import EVALUATIONS
from fedmgda.experiments._resolve import resolve
from fedmgda.experiments._settle import settle_all
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._sweep import PlannedRun

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["plan_comparison", "refuse_other_runs"]

_OF_THE_SERVER = ("rule", "server", "attack")


def plan_comparison(table: dict[str, Any], seeds: Sequence[int] | None = None) -> list[PlannedRun]:
    """Return the runs to compare, the one that the spec describes first.

    FedAvg is the spec with another rule, whose step is 1; the baselines have no server at all. A
    spec whose steps are protected is also run without protection.
    Data, seed, clients and budget are those of the spec.

    Args:
        table: The spec.
        seeds: One data split and one set of runs for each; that of the spec alone if None. The
            folders of other seeds than that of the spec have it in their names, so that one seed
            is the beginning of several.

    Raises:
        SpecError: If the spec is not valid, or is a baseline itself.
    """
    if "baseline" in table:
        raise SpecError(
            f"baseline = {table['baseline']!r} is among what --compare runs; leave it out of the "
            "spec."
        )
    given = resolve(parse(Spec, table))
    own = given.rule.name
    bare = {key: value for key, value in table.items() if key not in _OF_THE_SERVER}
    tables = {own: table}
    if given.server.protect is not None:
        server = {key: value for key, value in table["server"].items() if key != "protect"}
        tables[f"{own}-plain"] = table | {"server": server}
    if own != "fedavg":
        attacked = {"attack": table["attack"]} if "attack" in table else {}
        tables["fedavg"] = bare | attacked | {"rule": {"name": "fedavg"}}
    tables |= {name: bare | {"baseline": name} for name in ("alone", "pooled")}
    chosen: Sequence[int | None] = seeds or [None]
    cells = [(name, seed) for seed in chosen for name in tables]
    specs = [
        resolve(parse(Spec, tables[name] | ({} if seed is None else {"seed": seed})))
        for name, seed in cells
    ]
    return [
        PlannedRun(
            cell={"variant": name},
            seed=settled.spec.seed,
            spec=settled.spec,
            folder=_folder(name, None if settled.spec.seed == given.seed else settled.spec.seed),
            notes=settled.notes,
        )
        for (name, _), settled in zip(cells, settle_all(specs), strict=True)
    ]


def _folder(name: str, seed: int | None) -> str:
    return re.sub(r"[^\w.=+-]+", "-", name) + ("" if seed is None else f"_seed={seed}")


def refuse_other_runs(path: Path, runs: Sequence[PlannedRun]) -> None:
    """Refuse a folder whose runs are of another spec, or of data that has changed since.

    The data is read only where some runs have begun and others have not come to their end.

    Args:
        path: The folder that the run folders are in, or will be.
        runs: The runs that are wanted.

    Raises:
        StoreError: If the runs that are there could not be compared with those to come.
    """
    begun = list[Run]()
    for planned in runs:
        folder = path / planned.folder_name
        if not (holds_run(folder) and is_there(folder / EVALUATIONS)):
            continue
        run = open_run(folder)
        if not run.holds(planned.spec):
            raise _refused(path, f"{folder} already holds a run of another spec, or its data has "
                           "changed since")  # fmt: skip
        begun.append(run)
    if sum(run.finished for run in begun) == len(runs):
        return
    for seed in {run.spec.seed for run in begun}:
        same = [run for run in begun if run.spec.seed == seed]
        data, _ = build_data(same[0].spec)
        for run in same:
            try:
                run.check_data(data)
            except StoreError as error:
                told = f"The data has changed since {run.path} began"
                raise _refused(path, told) from error


def _refused(path: Path, reason: str) -> StoreError:
    places = (path.with_name(f"{path.name}-{number}") for number in count(2))
    free = next(place for place in places if not is_there(place))
    return StoreError(f"{reason}; put the runs of this comparison elsewhere: --out {free}")
