"""The paper, reproduced: its tables and figures as sweeps, and how they compare."""

from fedmgda.paper._collected import published_results
from fedmgda.paper._comparison import Line
from fedmgda.paper._cost import Standing, calibrate, elsewhere, measured_on, standing
from fedmgda.paper._export import export_study
from fedmgda.paper._metrics import METRICS
from fedmgda.paper._primary import PRIMARIES, Decision, Primary, decide
from fedmgda.paper._promise import Promise
from fedmgda.paper._published import Number, published_number
from fedmgda.paper._published_study import PublishedStudy, open_published
from fedmgda.paper._questions import Answer
from fedmgda.paper._redraw import draw_published
from fedmgda.paper._report import Report
from fedmgda.paper._setting import Setting, default_folder, parse_seeds, plan_study, run_command
from fedmgda.paper._statistics import Difference, holm, paired_difference
from fedmgda.paper._step_matched import StepMatched
from fedmgda.paper._study import STUDIES, Study, load_study
from fedmgda.paper._text import (
    SEEN,
    STARS,
    answers_lines,
    fixed_answers_lines,
    line_cells,
    preamble,
    primaries_lines,
    promises_lines,
    reasons_of,
)
from fedmgda.paper._verdict import Verdict, judge
from fedmgda.paper._write import write_report

__all__ = [
    "METRICS",
    "PRIMARIES",
    "SEEN",
    "STARS",
    "STUDIES",
    "Answer",
    "Decision",
    "Difference",
    "Line",
    "Number",
    "Primary",
    "Promise",
    "PublishedStudy",
    "Report",
    "Setting",
    "Standing",
    "StepMatched",
    "Study",
    "Verdict",
    "answers_lines",
    "calibrate",
    "decide",
    "default_folder",
    "draw_published",
    "elsewhere",
    "export_study",
    "fixed_answers_lines",
    "holm",
    "judge",
    "line_cells",
    "load_study",
    "measured_on",
    "open_published",
    "paired_difference",
    "parse_seeds",
    "plan_study",
    "preamble",
    "primaries_lines",
    "promises_lines",
    "published_number",
    "published_results",
    "reasons_of",
    "run_command",
    "standing",
    "write_report",
]
