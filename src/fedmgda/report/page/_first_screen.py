"""The first screen: what was run, what became of it, and what is broken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fedmgda._text import counted, listed
from fedmgda.report.page._answers import protected_losses
from fedmgda.report.page._facts import mood_of
from fedmgda.report.page._html import Markup, element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fedmgda.report.page._answers import Answer
    from fedmgda.report.page._facts import GroupFacts
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Group, Source

__all__ = [
    "answer_list",
    "headline",
    "problems",
    "progress_line",
    "verdicts",
    "what_was_run",
]

_MANY = 6  # values that are listed in a line


def headline(source: Source) -> str:
    """Say in a line what was run."""
    views = source.views
    data = _values(_data_name(view) for view in views)
    groups = len(source.groups)
    told = [data, counted(len(views), "run")]
    if 1 < groups < len(views):
        told.append(f"{groups} variants")
    seeds = sorted({view.seed for view in views})
    told.append(f"seed {seeds[0]}" if len(seeds) == 1 else counted(len(seeds), "seed"))
    return " · ".join(told)


def what_was_run(source: Source, measure: str) -> Markup:
    """Return what was run as terms and their values."""
    views = source.views
    facts = {
        "Runs": _values(group.name for group in source.groups) if len(source.groups) < 5 else "",
        "Data": _values(_data(view) for view in views),
        "Users": _values(str(len(view.clients)) for view in views if view.clients),
        "Model": _values(_short(view.run.spec.model.name) for view in views),
        "Rules": _values(
            view.run.spec.rule.name or "" for view in views if not view.baseline
        ),
        "Seeds": _values(str(seed) for seed in sorted({view.seed for view in views})),
        "Rounds": _values(_rounds(view) for view in views),
        "Measure": measure,
        "Version": _values(
            (view.run.environment.packages or {}).get("fedmgda", "not known") for view in views
        ),
        "Commit": _values((view.run.environment.commit or "not known")[:12] for view in views),
    }  # fmt: skip
    return element(
        "dl",
        joined(
            element("div", element("dt", term), element("dd", told))
            for term, told in facts.items()
            if told
        ),
        class_="facts",
    )


def _data(view: RunView) -> str:
    data = view.run.spec.data
    return _data_name(view) + (f" ({data.partition})" if data.partition else "")


def _data_name(view: RunView) -> str:
    """Return what the data is called: a file of one's own by its name."""
    data = view.run.spec.data
    return Path(data.path).stem if data.path else _short(data.name)


def _short(name: object) -> str:
    """Return a name, of code that is named as `module:attribute` the attribute."""
    return str(name).rpartition(":")[2]


def _rounds(view: RunView) -> str:
    wanted = view.run.spec.rounds
    if view.baseline or (view.state == "finished" and len(view.rounds) >= wanted):
        return str(wanted)
    return f"{len(view.rounds)} of {wanted}"


def _values(texts: Iterable[str]) -> str:
    return listed(dict.fromkeys(texts), _MANY)


def progress_line(source: Source) -> str | None:
    """Say how far the runs are that are not finished; None if all are."""
    waiting = [view for view in source.views if view.state != "finished"]
    if not waiting:
        return None
    told = [
        f"{view.label}{f' (seed {view.seed})' if len(source.views) > 1 else ''}: {_standing(view)}"
        for view in waiting
    ]
    return f"{listed(told, _MANY)}."


def _standing(view: RunView) -> str:
    if view.state == "not begun":
        return "not begun"
    place = f"round {len(view.rounds)} of {view.run.spec.rounds}"
    if view.state == "running":
        return f"going on, {place}"
    return f"stopped after {place} (fedmgda resume {view.run.path} goes on)"


def problems(source: Source) -> Markup | None:
    """Return what is broken or left out; None if nothing is."""
    told = [*source.broken, *source.notes]
    if not told:
        return None
    if any(view.unread for view in source.views):
        told.append("What could not be read is missing below.")
    title = "Some of this is missing or broken" if source.broken else "Please note"
    return element(
        "section",
        element("h2", title, id="problems-title"),
        element("ul", joined(element("li", sentence) for sentence in told)),
        class_="problems",
        id="problems",
        aria_labelledby="problems-title",
    )


def answer_list(given: Sequence[Answer]) -> Markup:
    """Return the questions that come first, with their answers."""
    return element(
        "dl",
        joined(
            element(
                "div",
                element("dt", one.question),
                element("dd", one.answer),
                class_=f"answer {one.mood}",
            )
            for one in given
        ),
        class_="answers",
    )


def verdicts(facts: Sequence[GroupFacts], source: Source) -> Markup:
    """Return the verdict of every group, the most important sentence first."""
    cards = joined(_card(one, group) for one, group in zip(facts, source.groups, strict=True))
    return element("ul", cards, class_="verdicts")


def _card(one: GroupFacts, group: Group) -> Markup:
    badges = joined(
        element("span", _badge(outcome, count, len(one.seeds)),
                class_=f"badge {mood_of(outcome)}")
        for outcome, count in (one.outcomes or one.states).items()
    )  # fmt: skip
    more = dict.fromkeys(
        said for view in group.views[:1] if view.verdict for said in view.verdict.sentences
    )
    seed = f" (seed {group.first.seed})" if len(group.views) > 1 else ""
    details = element(
        "details",
        element("summary", f"More about it{seed}"),
        element("ul", joined(element("li", said) for said in more)),
    )
    return element(
        "li",
        element("p", element("strong", one.name), Markup(" "), badges, class_="who"),
        element("p", one.sentence or _without_sentence(one), class_="said"),
        element("p", joined(_in_numbers(one)), class_="numbers"),
        details if more else None,
    )


def _without_sentence(one: GroupFacts) -> str:
    if one.broken:
        return "Cannot be judged: its folder is damaged, see above."
    if one.average is not None:
        return "Cannot be judged before it is finished, as its spec says by name who attacks."
    return "Nothing has been evaluated yet."


def _badge(outcome: str, count: int, of: int) -> str:
    return outcome if of == 1 else f"{outcome} in {count} of {of} seeds"


def _in_numbers(one: GroupFacts) -> Iterator[str]:
    told = []
    if one.rounds:
        told.append(f"{one.against} of {one.rounds:,} rounds went against a participant")
    if one.said is not None:
        told[:1] = [f"losses that protected steps raised: {protected_losses(one)}"]
    if one.improved is not None:
        told.append(f"{one.improved:.1f} % of participants were left no worse off")
    for count, what in (
        (one.held, "rounds held"),
        (one.stalled, "stalled"),
        (one.failed, "failed"),
        (one.quarantined, "replies quarantined"),
    ):
        if count:
            told.append(f"{count:,} {what}")
    if one.few:
        told.append(f"{counted(one.few, 'user')} with too few test rows to judge singly")
    yield "; ".join(told) + ("." if told else "")
