"""What the paper shows, one study per table or figure: a sweep and what it is compared with."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["STUDIES", "Figure", "Kind", "Study", "load_study", "study_of", "study_text"]

Kind: TypeAlias = Literal["table", "curves", "violins", "improved", "bars", "questions", "theory"]
Figure: TypeAlias = Literal["accuracy", "loss", "improved", "global", "violins", "dots"]

STUDIES = (
    "adult-bias", "fig1-cifar", "fig1-fmnist", "fig2-adult", "fig2-cifar", "fig3-b10", "fig3-b400",
    "fig4-b10", "fig4-b400", "percentage-b10", "percentage-b400", "cifar-user-1", "cifar-user-2",
    "cifar-user-3", "cifar-user-4", "emnist-1", "emnist-2", "shakespeare", "theory",
    "cifar-full-batch", "cifar-order", "writers-full-batch", "shakespeare-small",
    "adult-bias-scale", "fmnist-rules", "fmnist-full-batch", "fmnist-exact", "fmnist-attack",
    "digits-attack", "fmnist-epsilon", "protected-digits", "protected-fmnist",
    "protected-full-batch", "sign-flips-digits", "sign-flips-fmnist", "false-votes-digits",
    "false-votes-fmnist", "tuning-digits", "tuning-fmnist",
)  # fmt: skip
"""The names of all studies, in the order in which they are listed."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A table or figure of the paper, or a question of our own.

    Attributes:
        name: Its id on the command line.
        sweep: The spec of its runs, as `plan_sweep` takes it; empty for the theory.
        title: What it is, in a few words.
        kind: What the paper shows.
        metrics: What is measured of a run, by name.
        figures: What is drawn.
        published: The file with the paper's numbers; empty if it prints none.
        rows: For a variant, the row of that file.
        users: How many users the paper's numbers are about; None if it has none.
        runs: The study whose folder and runs this one shares; empty for its own.
        span: Of the exponentially weighted mean over rounds.
        panel: The key of the grid that panels differ in; empty for one panel.
        group: What panels of dots differ in: "metric", or a key of the grid.
        names: How values of the grid are called in figures.
        pairs: Variants to compare seed by seed, the first minus the second. A protected one is
            held to the second of its first pair: the same rule without protection.
        longer: Variants that run for more rounds than the others: for as much computing as
            protection takes.
        cost: What a protected round takes, in plain rounds, as it was measured.
        incomparable: For a `compat` and a metric, why the paper's number is about something else.
        note: A sentence the reader of the result should see.
    """

    name: str
    sweep: Mapping[str, Any]
    title: str
    kind: Kind
    metrics: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    published: str = ""
    rows: Mapping[str, int] = field(default_factory=dict)
    users: int | None = None
    runs: str = ""
    span: int = 50
    panel: str = ""
    group: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[tuple[str, str], ...] = ()
    longer: tuple[str, ...] = ()
    cost: float = 1.0
    incomparable: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    note: str = ""

    @property
    def rounds(self) -> int:
        """The rounds of the paper, or of our question."""
        return int(self.sweep.get("rounds", 0))


def load_study(name: str) -> Study:
    """Return a study of the package.

    Raises:
        SpecError: If there is none of that name.
    """
    if name not in STUDIES:
        raise SpecError(f"There is no study {name!r}; {_nearest(name)}")
    return study_of(name, study_text(name))


def study_of(name: str, text: str) -> Study:
    """Return the study that a TOML file describes, as one of the package does."""
    table = tomllib.loads(text)
    about = table.pop("paper")
    for key in ("metrics", "figures", "longer"):
        about[key] = tuple(about.get(key, ()))
    about["pairs"] = tuple((first, second) for first, second in about.get("pairs", ()))
    return Study(name=name, sweep=table, **about)


def _nearest(name: str) -> str:
    begun = [study for study in STUDIES if name and study.startswith(name)]
    near = begun or nearest_names(name, STUDIES)
    return did_you_mean(near, "see them with: fedmgda reproduce list")


def study_text(name: str) -> str:
    """Return the TOML file of a study as it stands in the package."""
    return (files("fedmgda.paper") / "specs" / f"{name}.toml").read_text(encoding="utf-8")
