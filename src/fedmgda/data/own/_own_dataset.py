"""What a spec means whose data is the user's own: its keys, their defaults, what goes together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmgda._errors import DataError, SpecError
from fedmgda.data._dataset import Dataset
from fedmgda.data.own._files import TABLES, read_own

if TYPE_CHECKING:
    from fedmgda.data._dataset import Settings
    from fedmgda.data._federated import Examples
    from fedmgda.data.own._encoding import Table
    from fedmgda.data.own._schema import GivenSchema
    from fedmgda.data.own._table import LearningTask

__all__ = ["TABLE"]

_MIN_ROWS = 10  # of fewer, one row is tested on, and nobody can be told from chance


def _load(settings: Settings, seed: int) -> Table | Examples:
    del seed  # the rows are what they are
    if "path" not in settings:
        raise DataError(
            "data.path is not set, and data.schema says only what the files look like: name the "
            "file to train here, or start the run where nodes have their own (fedmgda flower run)."
        )
    return read_own(Path(settings["path"]), settings)


def _is_table_file(settings: Settings) -> bool:
    """Tell a table, whose target and clients are columns, from an npz file or a folder."""
    return Path(settings.get("path") or "").suffix.lower() in {*TABLES, ".txt"}


def _is_npz(settings: Settings) -> bool:
    return Path(settings.get("path") or "").suffix.lower() == ".npz"


def _default_partition(settings: Settings) -> str:
    return "iid" if _is_table_file(settings) and "client" not in settings else "natural"


def _check(settings: Settings) -> None:
    _check_needed(settings)
    if "schema" in settings:
        _check_schema(settings, settings["schema"])
    for key in ("encoding", "ignore"):
        if key in settings and _is_npz(settings):
            raise SpecError(f"data.{key} does not apply to an npz file, which has no columns.")
    if "ignore" in settings and "features" in settings:
        raise SpecError("data.ignore does not apply beside data.features; leave one of them out.")
    if "min_rows" in settings and settings["partition"] != "natural":
        raise SpecError(
            "data.min_rows applies to clients of their own, data.partition = 'natural', only."
        )


def _check_needed(settings: Settings) -> None:
    if "path" not in settings and "schema" not in settings:
        raise SpecError("data.path is needed for a table; name the file.")
    table = _is_table_file(settings)
    if (table or "schema" in settings) and "target" not in settings:
        raise SpecError("data.target is needed for a table; name the column to predict.")
    if table and settings["partition"] == "natural" and "client" not in settings:
        raise SpecError("data.partition = 'natural' needs data.client, the clients' column.")


def _check_schema(settings: Settings, schema: GivenSchema) -> None:
    for key in ("features", "ignore"):
        if key in settings:
            raise SpecError(f"data.{key} does not apply beside data.schema, which names columns.")
    if _is_npz(settings):
        raise SpecError("data.schema does not apply to an npz file, which has no columns.")
    if settings["encoding"] != "guarded":
        raise SpecError("data.schema needs data.encoding = 'guarded', whose sums can be added up.")
    task = _task_of(schema)
    if settings["task"] != task:
        classes = "lists classes" if schema.classes else "lists no classes"
        raise SpecError(
            f"data.task = {settings['task']!r} contradicts data.schema, which {classes}; leave "
            "data.task out."
        )
    for role in ("target", "client"):
        if settings.get(role) in [column.name for column in schema.columns]:
            raise SpecError(
                f"data.schema.columns names {settings[role]!r}, which is data.{role}; leave it out "
                "of the columns that are learned from."
            )


def _task_of(schema: GivenSchema) -> LearningTask:
    return "regression" if schema.classes is None else "classification"


def _defaults(settings: Settings) -> Settings:
    """Return what new specs mean; "plain" is all that was done before there were these keys."""
    found: dict[str, Any] = {} if _is_npz(settings) else {"encoding": "guarded"}
    if settings["partition"] == "natural" and settings.get("encoding") != "plain":
        found["min_rows"] = _MIN_ROWS
    if "schema" in settings:
        found["task"] = _task_of(settings["schema"])
    return found


TABLE = Dataset(
    name="table",
    title="a table, arrays or a folder of your own",
    federation="by its column of clients, by its files, or dealt by a partition",
    licence="yours",
    load=_load,
    model="logistic",
    clients="either",
    options=(
        "path",
        "client",
        "target",
        "features",
        "ignore",
        "task",
        "encoding",
        "min_rows",
        "schema",
    ),
    released={"local_split": "tail"},
    # About ten updates mostly have a common direction; a hundred mostly have none.
    most_per_round=10,
    client_lr="auto",
    # Updates of small models are short, and a step of length 1 leaps over what they point at.
    schedule="median-norm",
    # Small clients with rare classes are soon fitted too well.
    select="loss",
    default_partition=_default_partition,
    check=_check,
    defaults=_defaults,
)
