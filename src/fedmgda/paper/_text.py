"""The comparison as CSV, and in sentences."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from fedmgda.paper._comparison import cell_name
from fedmgda.paper._metrics import HEADINGS
from fedmgda.paper._primary import PRIMARIES, SEEDS, decide, is_whole
from fedmgda.paper._setting import seeds_of
from fedmgda.paper._verdict import rule_text, tolerance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fedmgda.paper._comparison import Line
    from fedmgda.paper._primary import Decision, Sample
    from fedmgda.paper._promise import Promise
    from fedmgda.paper._questions import Answer
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._statistics import Difference
    from fedmgda.paper._study import Study

__all__ = [
    "SEEN",
    "STARS",
    "agreement",
    "answers_csv",
    "answers_lines",
    "fixed_answers_csv",
    "fixed_answers_lines",
    "fixed_csv",
    "interval_text",
    "line_cells",
    "lines_csv",
    "preamble",
    "primaries_csv",
    "primaries_lines",
    "promises_csv",
    "promises_lines",
    "reasons_of",
    "star",
    "welch_csv",
    "worth_saying",
]

STARS = (
    "95 % intervals of Student's t: * where one excludes zero, ** where the difference also stands "
    "among all of this page (Holm, 5 %)."
)
"""What the marks behind an interval mean."""

SEEN = (
    "Descriptive: 95 % intervals of Student's t, without a correction for their number; seen is "
    "what excludes zero."
)
"""What is said above differences that no verdict rests on."""

_LEVEL, _NOTHING = 0.05, 1e-9


def lines_csv(study: Study, lines: Sequence[Line]) -> str:
    """Write every line with full precision."""
    head = (
        "row", "metric", "seeds", "mean", "std_over_seeds", "published_mean", "published_pm",
        "difference", "tolerance", "verdict", "reason",
    )  # fmt: skip
    rows = [
        (
            cell_name(study, line.cell), line.metric, len(line.values), line.mean, line.std,
            *((line.published.mean, line.published.pm) if line.published else ("", "")),
            "" if line.difference is None else line.difference,
            round(tolerance(line.metric) + line.published.pm, 4) if line.published else "",
            line.verdict.word, line.verdict.reason,
        )
        for line in lines
    ]  # fmt: skip
    return _csv(head, rows)


def answers_csv(found: Sequence[Answer]) -> str:
    """Write every difference with full precision."""
    head = (
        "first", "second", "within", "metric", "seeds", "mean", "low_95", "high_95", "p", "p_holm",
    )  # fmt: skip
    rows = [
        (
            a.first, a.second, "; ".join(a.within.values()), a.metric,
            a.difference.n, a.difference.mean, a.difference.low, a.difference.high,
            a.difference.p, a.p_adjusted,
        )
        for a in found
    ]  # fmt: skip
    return _csv(head, rows)


def fixed_csv(study: Study, fixed: Sequence[Line]) -> str:
    """Write what every run has in the metrics that were fixed beforehand."""
    rows = [
        (cell_name(study, line.cell), line.metric, seed, value)
        for line in fixed
        for seed, value in line.values.items()
    ]
    return _csv(("row", "metric", "seed", "value"), rows)


def fixed_answers_csv(found: Sequence[Answer]) -> str:
    """Write every difference in them, without a correction."""
    head = ("first", "second", "within", "metric", "seeds", "mean", "low_95", "high_95", "p")
    rows = [
        (
            a.first, a.second, "; ".join(a.within.values()), a.metric,
            a.difference.n, a.difference.mean, a.difference.low, a.difference.high, a.difference.p,
        )
        for a in found
    ]  # fmt: skip
    return _csv(head, rows)


def primaries_csv(found: Mapping[str, Sample]) -> str:
    """Write the primary comparisons that may be looked at, seed by seed."""
    rows = [
        (name, seed, value)
        for name, sample in found.items()
        if is_whole(sample)
        for seed, value in sample.items()
    ]
    return _csv(("comparison", "seed", "value"), rows)


def promises_csv(found: Sequence[Promise]) -> str:
    """Write what protected rows did."""
    head = (
        "row", "runs", "rounds", "losses", "rose", "held_percent", "most_held_percent",
        "short_percent", "most_short_percent", "overridden_percent", "plain", "path_percent",
    )  # fmt: skip
    rows = [
        (
            p.row, p.runs, p.rounds, p.losses, p.rose, p.held, p.most_held, p.short, p.most_short,
            p.overridden, p.plain, "" if p.path is None else p.path,
        )
        for p in found
    ]  # fmt: skip
    return _csv(head, rows)


def promises_lines(found: Sequence[Promise]) -> list[str]:
    """Say of every protected row how far its promise was kept, and what it cost in steps."""
    return [
        f"{p.row}: of {p.losses:,} losses of honest participants in {p.rounds:,} rounds of "
        f"{p.runs} runs, {p.rose:,} rose; {p.held:.2f} % of the rounds were held (at most "
        f"{p.most_held:.2f} % of a run), {p.short:.2f} % had a step cut to less than a sixteenth "
        f"(at most {p.most_short:.2f} %), {p.overridden:.2f} % of the participants were overridden"
        + ("." if p.path is None else f"; the path is {p.path:.0f} % as long as that of {p.plain}.")
        for p in found
    ]


def agreement(lines: Sequence[Line]) -> str:
    """Count what agrees by the rule, which is lenient, and by Welch's test, which is not."""
    judged = [line for line in lines if line.verdict.word != "not comparable"]
    tested = [line for line in judged if not math.isnan(line.welch_p)]
    if not tested:
        return ""
    agree = sum(line.verdict.word == "agrees" for line in judged)
    compatible = sum(line.welch_p > _LEVEL for line in tested)
    return (
        f"By this rule {agree} of {len(judged)} numbers agree. By Welch's test, from both means, ± "
        f"and numbers of runs, {compatible} of {len(tested)} are compatible with the published "
        f"ones (p > {_LEVEL:g}, each tested by itself)."
    )


def welch_csv(study: Study, lines: Sequence[Line]) -> str:
    """Write Welch's test of every number that can be compared."""
    rows = [
        (cell_name(study, line.cell), line.metric, len(line.values), number.runs, line.welch_p)
        for line in lines
        if (number := line.published) is not None and not math.isnan(line.welch_p)
    ]
    return _csv(("row", "metric", "seeds", "published_runs", "welch_p"), rows)


def line_cells(study: Study, line: Line) -> tuple[str, str, str, str, str, str]:
    """Return the texts of one line: row, ours, published, difference, verdict, Welch's p."""
    spread = f" ± {line.std:.2f}" if len(line.values) > 1 else ""
    # What was fixed beforehand is asked of every row, also of one that it says nothing of.
    missing = "-" if line.metric in HEADINGS else "diverged"
    ours = missing if math.isnan(line.mean) else f"{line.mean:.2f}{spread}"
    published = f"{line.published.mean:.2f} ± {line.published.pm:.2f}" if line.published else "-"
    gap = "-" if line.difference is None else f"{line.difference:+.2f}"
    p = "-" if math.isnan(line.welch_p) else f"{line.welch_p:.2g}"
    return cell_name(study, line.cell), ours, published, gap, line.verdict.word, p


def answers_lines(found: Sequence[Answer]) -> list[str]:
    """Say every difference in one line.

    The interval is 95 %, over paired seeds; a star marks one that excludes zero, two stars one
    that would do so with all others beside it.
    """
    return [f"{_answer_text(a)}{star(a)}" for a in found]


def fixed_answers_lines(found: Sequence[Answer]) -> list[str]:
    """Say every difference in what was fixed beforehand, and whether it is seen."""
    return [
        f"{_answer_text(a)}{', seen' if a.difference.excludes_zero else ''}"
        for a in worth_saying(found)
    ]


def worth_saying(found: Sequence[Answer]) -> list[Answer]:
    """Leave out what neither was measured nor differs in any seed: shares that are all zero."""
    return [
        a
        for a in found
        if not math.isnan(a.difference.mean)
        and not (math.isnan(a.difference.low) and abs(a.difference.mean) < _NOTHING)
    ]


def _answer_text(a: Answer) -> str:
    return (
        f"{a.first} minus {a.second}{''.join(f' [{value}]' for value in a.within.values())}: "
        f"{a.metric} {a.difference.mean:+.2f} {interval_text(a.difference)}, n = {a.difference.n}"
    )


def primaries_lines(found: Mapping[str, Sample]) -> list[str]:
    """Say of every primary comparison of a study what its seeds decide, or which are missing."""
    decided = {decision.primary.name: decision for decision in decide(found)}
    return [
        _decision_text(decided[name]) if name in decided else _missing_text(name, sample)
        for name, sample in found.items()
    ]


def _decision_text(decision: Decision) -> str:
    primary = decision.primary
    text = (
        f"{primary.name} {decision.word}: {primary.claim}: {primary.metric} {decision.mean:+.2f} "
        f"{interval_text(decision)} (Holm over {len(PRIMARIES)}, p = {decision.p_adjusted:.2g})"
    )
    if decision.word != "undecided":
        return f"{text}."
    return f"{text}; beyond ±{decision.smallest:.2f} it would have been decided."


def _missing_text(name: str, sample: Sample) -> str:
    missing = ", ".join(map(str, sorted(SEEDS - sample.keys())))
    return f"{name} waits: it is decided, and shown, when the seeds {missing} are there."


def reasons_of(lines: Iterable[Line]) -> list[str]:
    """Return why published numbers are not comparable, each reason once."""
    lines = [line for line in lines if line.published is not None and line.verdict.reason]
    return list(dict.fromkeys(line.verdict.reason for line in lines))


def preamble(study: Study, setting: Setting, lines: Sequence[Line]) -> list[str]:
    """Say in sentences what was run and how it is judged."""
    seeds = sorted({seed for line in lines for seed in line.values})
    rounds = setting.rounds or study.rounds
    texts = [f"compat = {setting.compat}, {rounds} rounds, seeds {', '.join(map(str, seeds))}."]
    if short := _short_of(study, lines, asked=len(seeds_of(study, setting))):
        texts.append(short)
    if setting.changes:
        texts.append(f"Changed: {', '.join(setting.changes)}.")
    ran = {cell_name(study, line.cell) for line in lines if line.values}
    if longer := [name for name in study.longer if name in ran]:
        texts.append(
            f"{', '.join(longer)}: {round(study.cost * rounds)} rounds beside {rounds} protected "
            f"ones, one of which is reckoned as {study.cost:g} plain ones."
        )
    if rounds != study.rounds:
        texts.append(
            f"The study has {study.rounds} rounds: --rounds {rounds} also shortens or stretches "
            "the decay of the server's step, which is spread over all rounds."
        )
    judged = "Where the paper prints no number, nothing is judged."
    texts.append(f"{rule_text(study.metrics)} {judged}" if study.published else judged)
    texts += [found] if (found := agreement(lines)) else []
    texts.append("± is the population standard deviation over seeds, as in the paper.")
    return [*texts, *([study.note] if study.note else [])]


def _short_of(study: Study, lines: Sequence[Line], asked: int) -> str:
    """Say which rows rest on fewer seeds: a mean must not hide the runs that did not get there."""
    counts = {cell_name(study, line.cell): len(line.values) for line in lines}
    short = [f"{name} ({count})" for name, count in counts.items() if count < asked]
    if not short:
        return ""
    rows = "all rows" if len(short) == len(counts) else ", ".join(short)
    return (
        f"{asked} seeds were asked for. Fewer have results in {rows}: runs that stalled or are not "
        "finished are in no mean."
    )


def interval_text(gap: Difference | Decision) -> str:
    """Write an interval, or that there is none."""
    return "(no interval)" if math.isnan(gap.low) else f"[{gap.low:+.2f}, {gap.high:+.2f}]"


def star(answer: Answer) -> str:
    """Mark a difference whose interval excludes zero, and one that stands among all others."""
    if not answer.difference.excludes_zero:
        return ""
    return " **" if answer.p_adjusted < _LEVEL else " *"


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
