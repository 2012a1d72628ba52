"""Sweeps: variants x grid x seeds, each a run folder of its own, and one table over all.

In the spec:

    [sweep]
    seeds = [0, 1, 2]
    [sweep.grid]
    "rule.epsilon" = [0.0, 0.1, 1.0]     # a key
    attack = [{ label = "no", name = "none" }, { label = "yes", name = "scale-loss" }]  # a table
    [[sweep.variants]]                   # partial specs, each with a label
    label = "FedAvg"
    rule.name = "fedavg"
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import reduce
from itertools import chain, product
from typing import TYPE_CHECKING, Any, final

from fedmgda._errors import SpecError
from fedmgda._text import nearest_names
from fedmgda.experiments._overrides import override_patches, refuse_ignored
from fedmgda.experiments._parse import parse, suggest
from fedmgda.experiments._resolve import resolve
from fedmgda.experiments._settle import settle_all
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._spec_key import MOST_RUNS
from fedmgda.experiments._toml import merged, to_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["PlannedRun", "plan_sweep"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run of a sweep.

    Attributes:
        cell: What distinguishes it from the others, seed apart: one row of the table.
        seed: Its seed.
        spec: Its resolved spec.
        folder: The name of its folder, where that is not put together from cell and seed.
        notes: What the user should know of its data, if that was read to settle the spec.
    """

    cell: Mapping[str, str]
    seed: int
    spec: Spec
    folder: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def folder_name(self) -> str:
        """A folder name that says what the run is."""
        if self.folder is not None:
            return self.folder
        parts = [
            value if key == "variant" else f"{key}={value}" for key, value in self.cell.items()
        ]
        return re.sub(r"[^\w.=+-]+", "-", "_".join([*parts, f"seed={self.seed}"]))


def plan_sweep(
    table: dict[str, Any],
    overrides: Sequence[str] = (),
    rows: Sequence[str] = (),
    *,
    check: Callable[[Spec], None] | None = None,
) -> list[PlannedRun]:
    """Return the runs a spec with a `[sweep]` table asks for, in a fixed order.

    Args:
        table: The spec; without a `[sweep]` table it is one run.
        overrides: Keys to change, as `section.key=value`.
        rows: Labels of variants, or values of the grid, to plan alone: any of those named on an
            axis, and all axes together. Empty plans all.
        check: Called with every spec before any data is read, which may be code: raises what is
            to be refused.

    Raises:
        SpecError: If the table or one of the specs in it is not valid, an override would be
            ignored, or there is no such row.
    """
    patches = override_patches(overrides)
    _check_sweep(reduce(merged, patches, table))
    tables = _tables(reduce(merged, patches, table), rows)
    refuse_ignored(patches, lambda changed: _tables(reduce(merged, changed, table), rows))
    resolved = [resolve(parse(Spec, run)) for _, run in tables]
    if check is not None:
        for spec in resolved:
            check(spec)
    runs = [
        PlannedRun(cell=cell, seed=run["seed"], spec=settled.spec, notes=settled.notes)
        for (cell, run), settled in zip(tables, settle_all(resolved), strict=True)
    ]
    _refuse_twins(runs)
    return runs


def _check_sweep(table: dict[str, Any]) -> None:
    sweep = table.get("sweep", {})
    if not isinstance(sweep, dict):
        raise SpecError(f"sweep must be a table of keys, got {sweep!r:.60}.")
    known = ["seeds", "grid", "variants"]
    for key in sweep:
        if key not in known:
            raise SpecError(f"There is no key {f'sweep.{key}'!r:.60}{suggest(key, known, 'sweep')}")
    seeds = sweep.get("seeds", [table.get("seed", 0)])
    if not (isinstance(seeds, list) and seeds and all(type(seed) is int for seed in seeds)):
        raise SpecError(f"sweep.seeds must be a list of whole numbers, got {seeds!r:.60}.")
    grid = sweep.get("grid", {})
    axes = [seeds, sweep.get("variants"), *(grid.values() if isinstance(grid, dict) else ())]
    runs = math.prod(len(axis) or 1 for axis in axes if isinstance(axis, list))
    if runs > MOST_RUNS:
        raise SpecError(f"The sweep has {runs} runs, more than {MOST_RUNS}; take fewer values.")


def _tables(
    table: dict[str, Any], rows: Sequence[str]
) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Return the cell of every run and its spec, before it is parsed."""
    base = {key: value for key, value in table.items() if key != "sweep"}
    sweep = table.get("sweep", {})
    seeds = sweep.get("seeds", [base.get("seed", 0)])
    return [
        (cell, merged(merged(base, patch), {"seed": seed}))
        for (cell, patch), seed in product(_chosen(_cells(sweep), rows), seeds)
    ]


def _chosen(
    cells: list[tuple[dict[str, str], dict[str, Any]]], rows: Sequence[str]
) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Return the cells whose value on every axis is a named one, if any of that axis is named."""
    axes: dict[str, dict[str, None]] = {}
    for cell, _ in cells:
        for axis, value in cell.items():
            axes.setdefault(axis, {})[value] = None
    known = list(dict.fromkeys(chain.from_iterable(axes.values())))
    for row in rows:
        if row not in known:
            nearest = nearest_names(row, known, count=3, cutoff=0.0)
            names = f"the nearest are {'; '.join(nearest)}" if nearest else "the sweep has none"
            raise SpecError(f"There is no row {row!r}; {names}.")
    named = {axis: set(rows) & set(values) or set(values) for axis, values in axes.items()}
    return [
        (cell, patch)
        for cell, patch in cells
        if all(value in named[axis] for axis, value in cell.items())
    ]


def _cells(sweep: dict[str, Any]) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Return the label and the patch of every row of the table."""
    cells: list[tuple[dict[str, str], dict[str, Any]]] = [({}, {})]
    variants, grid = sweep.get("variants", []), sweep.get("grid", {})
    if not isinstance(variants, list) or not isinstance(grid, dict):
        raise SpecError("sweep.variants must be a list of tables, and sweep.grid a table of lists.")
    if variants:
        cells = [({"variant": _label(variant)}, _without_label(variant)) for variant in variants]
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise SpecError(f"sweep.grid.{key} must be a list of values, got {values!r:.60}.")
        cells = [
            (cell | {key: _name(value)}, merged(patch, _nested(key, value)))
            for (cell, patch), value in product(cells, values)
        ]
    return cells


def _label(variant: Any) -> str:
    if not isinstance(variant, dict) or not isinstance(variant.get("label"), str):
        raise SpecError(f"Each of sweep.variants needs a label, a text; got {variant!r:.60}.")
    return str(variant["label"])


def _without_label(variant: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in variant.items() if key != "label"}


def _nested(key: str, value: Any) -> dict[str, Any]:
    value = _without_label(value) if isinstance(value, dict) else value
    for part in reversed(key.split(".")):
        value = {part: value}
    return dict(value)


def _name(value: Any) -> str:
    return str(value.get("label", value.get("name", value)) if isinstance(value, dict) else value)


def _refuse_twins(runs: list[PlannedRun]) -> None:
    seen = set[str]()
    # One of each row is enough: seeds are whole numbers.
    rows = {tuple(run.cell.items()): run.spec for run in runs}
    for run in runs:
        if run.folder_name in seen:
            raise SpecError(
                f"Two runs of the sweep would share the folder {run.folder_name!r}; give the "
                "variants different labels and list no value twice."
            )
        seen.add(run.folder_name)
    for spec in rows.values():
        to_toml(spec)  # every spec can be written before the first run starts
