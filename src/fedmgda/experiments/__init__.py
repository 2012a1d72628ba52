"""Experiments: a spec, the run folder it becomes, sweeps over specs."""

from fedmgda._json import to_json
from fedmgda.experiments._audit import Audit, Finding
from fedmgda.experiments._build import build_clients
from fedmgda.experiments._build_data import build_data
from fedmgda.experiments._class_weights import known_weights
from fedmgda.experiments._client_names import known_ids, with_client_ids
from fedmgda.experiments._code import named_code, refuse_code
from fedmgda.experiments._collection import Collection
from fedmgda.experiments._compare import compare_runs
from fedmgda.experiments._compared import comparison_order
from fedmgda.experiments._compared_users import are_same_users, user_label
from fedmgda.experiments._comparison import (
    Against,
    ClientGain,
    Comparison,
    RunScore,
    comparison_csv,
    is_comparison_csv,
)
from fedmgda.experiments._conclusion import in_seeds, most_telling, of_clients
from fedmgda.experiments._decay import inert_decay, refuse_inert_decay
from fedmgda.experiments._demo import demo_table
from fedmgda.experiments._environment import Environment
from fedmgda.experiments._folder_files import NODES, is_file_of_run
from fedmgda.experiments._init import Proposal, propose_spec
from fedmgda.experiments._init_schema import FEWEST_ROWS, local_part, propose_schema
from fedmgda.experiments._jobs import JobState
from fedmgda.experiments._keys import SpecKey, SpecTable, spec_keys, spec_tables
from fedmgda.experiments._labels import distinct_names, without_twins
from fedmgda.experiments._npz import npy_array, npz_arrays, npz_bytes
from fedmgda.experiments._parse import parse
from fedmgda.experiments._plan_comparison import plan_comparison, refuse_other_runs
from fedmgda.experiments._reader import Run, RunState, holds_run, open_run, run_folders
from fedmgda.experiments._resolve import resolve
from fedmgda.experiments._results import read_encoder
from fedmgda.experiments._rows import (
    ClassResult,
    ClientResult,
    EvaluationRow,
    Gram,
    GroupSummary,
    MetricsSummary,
    NamedClient,
    ProtectionRow,
    RoundRow,
    RowPredictions,
    Summary,
    TimingRow,
)
from fedmgda.experiments._run import Progress, execute
from fedmgda.experiments._settle import Settled, settle, settle_elsewhere, settled_like
from fedmgda.experiments._signals import Interrupted, interruptible
from fedmgda.experiments._spec import RuleSpec, Spec
from fedmgda.experiments._store import RunFolder
from fedmgda.experiments._sweep import PlannedRun, plan_sweep
from fedmgda.experiments._table import COLUMNS, Row, cells, columns_of
from fedmgda.experiments._tag import spec_tag
from fedmgda.experiments._toml import (
    merged,
    parse_toml,
    read_toml,
    to_table,
    to_toml,
    toml_value,
    with_overrides,
)
from fedmgda.experiments._train import History, Training, rule_table, train
from fedmgda.experiments._trained_model import Scores, TrainedModel
from fedmgda.experiments._unlisted import unlisted_notes
from fedmgda.experiments._verdict import Stalls, Verdict
from fedmgda.experiments._verify import verify
from fedmgda.experiments._worst import ClientLine, recorded_clients, worst_clients

__all__ = [
    "COLUMNS",
    "FEWEST_ROWS",
    "NODES",
    "Against",
    "Audit",
    "ClassResult",
    "ClientGain",
    "ClientLine",
    "ClientResult",
    "Collection",
    "Comparison",
    "Environment",
    "EvaluationRow",
    "Finding",
    "Gram",
    "GroupSummary",
    "History",
    "Interrupted",
    "JobState",
    "MetricsSummary",
    "NamedClient",
    "PlannedRun",
    "Progress",
    "Proposal",
    "ProtectionRow",
    "RoundRow",
    "Row",
    "RowPredictions",
    "RuleSpec",
    "Run",
    "RunFolder",
    "RunScore",
    "RunState",
    "Scores",
    "Settled",
    "Spec",
    "SpecKey",
    "SpecTable",
    "Stalls",
    "Summary",
    "TimingRow",
    "TrainedModel",
    "Training",
    "Verdict",
    "are_same_users",
    "build_clients",
    "build_data",
    "cells",
    "columns_of",
    "compare_runs",
    "comparison_csv",
    "comparison_order",
    "demo_table",
    "distinct_names",
    "execute",
    "holds_run",
    "in_seeds",
    "inert_decay",
    "interruptible",
    "is_comparison_csv",
    "is_file_of_run",
    "known_ids",
    "known_weights",
    "local_part",
    "merged",
    "most_telling",
    "named_code",
    "npy_array",
    "npz_arrays",
    "npz_bytes",
    "of_clients",
    "open_run",
    "parse",
    "parse_toml",
    "plan_comparison",
    "plan_sweep",
    "propose_schema",
    "propose_spec",
    "read_encoder",
    "read_toml",
    "recorded_clients",
    "refuse_code",
    "refuse_inert_decay",
    "refuse_other_runs",
    "resolve",
    "rule_table",
    "run_folders",
    "settle",
    "settle_elsewhere",
    "settled_like",
    "spec_keys",
    "spec_tables",
    "spec_tag",
    "to_json",
    "to_table",
    "to_toml",
    "toml_value",
    "train",
    "unlisted_notes",
    "user_label",
    "verify",
    "with_client_ids",
    "with_overrides",
    "without_twins",
    "worst_clients",
]
