"""The words that screens, records and pages use, each with its one meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SYMBOLS", "WORDS", "Word"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word.

    Attributes:
        name: The word.
        meaning: What it means, with code in backticks.
        see: The page of docs/ that says more.
        also: What else is asked for when this is meant.
    """

    name: str
    meaning: str
    see: str
    also: tuple[str, ...] = ()


SYMBOLS = {
    "ε": "rule.epsilon",
    "η": "clients.client_lr",
    "μ": "clients.mu",
    "κ": "server.protect.margin",
    "λ0": "rule.center",
}
"""Symbols of the paper that are keys of a spec."""

WORDS: Mapping[str, tuple[Word, ...]] = {
    "Who, and what they send": (
        Word(
            name="client",
            meaning="Whoever has rows of its own: a person, a hospital, a branch. Also called a "
            "user.",
            see="tables.md",
            also=("user", "users", "clients"),
        ),
        Word(
            name="participant",
            meaning="A client that takes part in a round. What is promised of a round is promised "
            "to its participants, not to who stayed away.",
            see="protection.md#what-is-promised",
            also=("participants", "cohort"),
        ),
        Word(
            name="update",
            meaning="What a participant sends: g_i = w_t - w_i, the model it got minus the one it "
            "trained. It points like a gradient, and the server subtracts it.",
            see="explanation/mathematics.md",
            also=("updates", "g_i"),
        ),
    ),
    "The direction of a round": (
        Word(
            name="λ",
            meaning="The weight of each participant's update in the direction: not negative, of "
            "sum 1 (but for `q-fedavg`). Who has a large λ steers.",
            see="explanation/mathematics.md#common-descent",
            also=("lambda", "lam", "weights", "steers"),
        ),
        Word(
            name="direction",
            meaning="d, what the rule makes of the updates; the server subtracts a multiple of it.",
            see="explanation/mathematics.md#common-descent",
            also=("d",),
        ),
        Word(
            name="common descent",
            meaning="A direction that opposes no participant's update: ⟨g_i, d⟩ >= 0 for all.",
            see="explanation/mathematics.md#common-descent",
            also=("common descent direction",),
        ),
        Word(
            name="certificate",
            meaning="The numbers that prove a round's direction: ‖d‖ and the duality gap of λ, "
            "computed apart from how λ was found. At ε = 1 a gap below ‖d‖² proves common "
            "descent.",
            see="explanation/mathematics.md#common-descent",
            also=("gap", "duality gap", "proof"),
        ),
        Word(
            name="sacrificed",
            meaning="A participant whose update the direction opposes, ⟨g_i, d⟩ < 0 beyond "
            "rounding. It is about the update of that round, not about losses or test rows.",
            see="explanation/protection.md#can-i-trust-nobody-was-sacrificed",
            also=("sacrifice", "nobody was sacrificed", "opposed"),
        ),
        Word(
            name="improved %",
            meaning="The share of a round's participants whose training loss is no higher after "
            "it than before.",
            see="explanation/protection.md",
            also=("improved", "improved participants", "no worse off"),
        ),
    ),
    "Rounds that go wrong": (
        Word(
            name="stalled",
            meaning="Of a round: the updates cancel, so that no direction serves all "
            "participants, and d is zero but for rounding.",
            see="how-to/choose-epsilon.md#who-blocks",
            also=("stall", "stalls", "rounds stalled"),
        ),
        Word(
            name="blocks",
            meaning="A client blocks a stalled round if the others have a common direction "
            "without it. That is a diagnosis and no verdict: it may well be honest.",
            see="how-to/choose-epsilon.md#who-blocks",
            also=("who blocks", "blocked", "blocking"),
        ),
        Word(
            name="quarantined",
            meaning="A reply that cannot be used (an exception, NaN, another shape, a number that "
            "cannot be true) is left out of its round, with the reason, and the round goes on.",
            see="faults.md",
            also=("quarantine", "gate"),
        ),
        Word(
            name="failed",
            meaning="Of a round: the model could not be moved, say because no reply was usable. "
            "`engine.max_failed_rounds` in a row end the run with code 6.",
            see="exit-codes.md#exit-code-6",
            also=("failed round", "failed rounds"),
        ),
    ),
    "Protected steps": (
        Word(
            name="protected",
            meaning="Of a step, with `server.protect`: no participant that is not quarantined says "
            "a higher training loss after it than before, or the round is held.",
            see="explanation/protection.md",
            also=("protection", "protected step", "protected steps"),
        ),
        Word(
            name="held",
            meaning="Of a protected round: no step was found that raises nobody's loss, so the "
            "model stayed where it was. It is no failure.",
            see="protection.md#rounds-that-are-held",
            also=("held rounds", "hold"),
        ),
        Word(
            name="overridden",
            meaning="A participant whose loss rose in a protected step, as `server.protect.allow` "
            "lets it; `clients.csv` counts how often.",
            see="protection.md#keys",
            also=("override", "rounds_overridden"),
        ),
        Word(
            name="ω",
            meaning="How much a step of length 1 can be worth, at best, to the participant it is "
            "worth least to. 0 where no step serves all.",
            see="explanation/mathematics.md#protected-steps",
            also=("omega",),
        ),
        Word(
            name="Pareto stationary",
            meaning="Of a model: no step lowers everybody's loss, to first order. The Pareto "
            "residual, measured with `evaluation.pareto`, is 0 there.",
            see="explanation/mathematics.md#common-descent",
            also=("pareto residual", "stationary"),
        ),
    ),
    "What a run says": (
        Word(
            name="verdict",
            meaning="The last lines of a run: did it learn, diverge or stand still, who blocks, "
            "who is worse off, which key to change.",
            see="runs.md#the-verdict",
            also=("learned", "may have learned", "diverged", "stood still"),
        ),
        Word(
            name="worst 5 %",
            meaning="The 5th percentile of the clients' metric, mostly accuracy; `best 5 %` is "
            "the 95th.",
            see="runs.md#the-verdict",
            also=("worst", "worst 5%", "best 5 %", "best 5%"),
        ),
        Word(
            name="gain, lose",
            meaning="A client gains against another run if its own test rows are served better, "
            "and loses if worse, by however little.",
            see="compare.md#what-is-computed",
            also=("gain", "lose", "loser", "losers"),
        ),
        Word(
            name="better, worse",
            meaning="A client gains or loses by more than swapping the answers of the two models "
            "row by row would mostly make: p <= 0.05.",
            see="compare.md#what-is-computed",
            also=("better", "worse", "worse off", "beyond chance"),
        ),
        Word(
            name="chance",
            meaning="How many clients would lose, or be called worse, if the answers of the two "
            "models were swapped at random: on average and, in brackets, in 95 of 100 draws at "
            "most.",
            see="compare.md#what-chance-leaves-out",
            also=("by chance",),
        ),
        Word(
            name="constant",
            meaning="The predictor that says the same of every row: the shares of the classes, or "
            "the mean target. Who does no better has learned nothing from the columns.",
            see="compare.md#baselines",
            also=("constant predictor",),
        ),
    ),
    "Files": (
        Word(
            name="spec",
            meaning="The TOML file that a run is; every key has a default.",
            see="keys.md",
            also=("specification", "config", "toml"),
        ),
        Word(
            name="run folder",
            meaning="All that a run leaves behind: spec, environment, every round, the model. It "
            "resumes, compares, predicts and can be verified.",
            see="runs.md#the-run-folder",
            also=("run", "folder"),
        ),
    ),
}
"""All of them, by what they are about; docs/words.md is made of this."""
