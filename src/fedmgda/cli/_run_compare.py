"""A run and what it is held against, in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedmgda._errors import SpecError, StoreError
from fedmgda.cli._compare import report_comparison
from fedmgda.cli._console import err, escape, say
from fedmgda.cli._progress import leave_if_failed, watch_jobs
from fedmgda.experiments import (
    Collection,
    Spec,
    holds_run,
    open_run,
    parse,
    plan_comparison,
    refuse_code,
    refuse_inert_decay,
    refuse_other_runs,
    resolve,
    to_toml,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fedmgda.experiments import Run

__all__ = ["chosen_seeds", "run_compared"]

_MOST_SEEDS = 100  # of which every one is four runs


def run_compared(
    path: Path,
    table: dict[str, Any],
    seeds: list[int] | None,
    *,
    no_code: bool,
    show_spec: bool,
    as_json: bool,
) -> bool:
    """Carry out a spec, FedAvg and the baselines, what is not finished yet, and compare them.

    Args:
        path: The folder that the run folders go to.
        table: The spec.
        seeds: One set of runs for each; that of the spec if None.
        no_code: Whether a spec that names code is refused.
        show_spec: Whether the spec of the run itself is printed before training.
        as_json: Whether nothing but the comparison is printed, as JSON.

    Returns:
        Whether the run itself is good by its verdict, for every seed.
    """
    if holds_run(path):
        raise StoreError(
            f"{path} holds one run; put the runs of the comparison elsewhere: --out {path}-compare"
        )
    spec = resolve(parse(Spec, table))
    refuse_inert_decay(spec)
    if no_code:
        refuse_code(spec)  # before anything is read: data may be code too
    runs = plan_comparison(table, seeds)
    refuse_other_runs(path, runs)
    if show_spec:
        err.print(to_toml(runs[0].spec), markup=False, highlight=False, style="dim")
    collection = Collection(path, runs)
    if not as_json and all(folder.done for folder in collection.folders):
        say(err, f"All runs in {escape(str(path))} are finished; this is their comparison.")
    elif not as_json:
        names = ", ".join(dict.fromkeys(planned.cell["variant"] for planned in runs))
        over = f", {len(seeds)} seeds each" if seeds else ""
        say(err, f"Running {escape(names)}{over} in {escape(str(path))}")
    states = watch_jobs(collection, 1, quiet=as_json, notes=True)
    failed = {state.index for state in states if state.error}
    per_seed = len(runs) // len(seeds or [None])
    own = [open_run(collection.folders[i].path) for i in range(0, len(runs), per_seed)]
    verdicts = [run.verdict for run in own if run.finished]
    if len({index % per_seed for index in range(len(runs)) if index not in failed}) > 1:
        scorer = next((run.path for run in own if run.finished and _reads_tables(run)), None)
        report_comparison([path], as_json=as_json, scorer=scorer)
    leave_if_failed(collection, states)
    return all(verdict.good for verdict in verdicts)


def _reads_tables(run: Run) -> bool:
    encoder = run.encoder()
    return encoder is not None and encoder.columns is not None


def chosen_seeds(text: str | None, table: dict[str, Any]) -> list[int] | None:
    """Return the seeds of `--seeds`: so many from that of the spec on, or from one to another.

    Raises:
        SpecError: If they are neither, or too many to be meant.

    >>> chosen_seeds("3", {"seed": 5}), chosen_seeds("0-1", {})
    ([5, 6, 7], [0, 1])
    """
    from fedmgda.paper import parse_seeds  # noqa: PLC0415 (only here, and slow to import)

    if text is None:
        return None
    found = parse_seeds(text)
    count = len(found) if isinstance(found, range) else found
    if count > _MOST_SEEDS:
        raise SpecError(
            f"--seeds {text} would be {count} data splits with several runs each; ask for at most "
            f"{_MOST_SEEDS}, as more of them do not make the data larger."
        )
    if isinstance(found, range):
        return list(found)
    first = parse(Spec, {"seed": table.get("seed", 0)}).seed
    return list(range(first, first + found))
