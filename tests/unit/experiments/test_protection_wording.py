"""Protection in words: no more than is true, and nothing that stood still looks like success."""

from dataclasses import fields, replace

import numpy as np
import pytest

from conflicts import table_of
from fedmgda._json import decode, encode
from fedmgda.experiments import RunFolder, execute, open_run
from fedmgda.experiments._hints import after_held
from fedmgda.experiments._rows import Gram
from fedmgda.experiments._verdict import HeldRounds, Verdict
from runs import small_spec
from verdicts import evaluation, protected_row, round_row, verdict_of

BETTER, NO_BETTER = [0.3, 0.4, 0.5, 0.4], [1.4] * 4
SPEC = small_spec(rounds=10, server={"protect": True})
SCOPE = "Only each round's participants are meant, and it does not add up over rounds."


def verdict(reasons, losses=BETTER, spec=SPEC, **changes):
    """Return the verdict on ten rounds of which the last few were held for such reasons."""
    held = dict(zip(range(10, 0, -1), reasons, strict=False))
    rows = [protected_row(number, reason=held.get(number)) for number in range(1, 11)]
    return verdict_of(losses, rounds=rows, spec=spec, **changes)


def said(found):
    return " ".join((*found.sentences, found.headline))


def test_the_promise_is_said_with_its_numbers_and_its_scope():
    found = verdict(["stationary"])
    assert found.outcome == "learned"
    assert found.sentences[0] == (
        "In every one of 10 rounds no participant ended with a higher training loss, as they said "
        f"it: 9 steps, 1 round held (no step serves all). {SCOPE}"
    )
    assert "10 steps, no round held." in verdict([]).sentences[0]
    assert (
        "7 steps, 3 rounds held (no step serves all in 2, somebody's loss rose at every length "
        "in 1)" in said(verdict(["stationary", "stationary", "opposed"]))
    )


def test_a_step_of_updates_that_cancel_is_said_to_be_next_to_nothing():
    """Twelve of 98 steps moved the model by less than a part in a million of an update."""
    rows = [
        protected_row(number, reason="stationary" if number < 3 else None, stalled=number < 5)
        for number in range(1, 11)
    ]
    text = said(verdict_of(BETTER, rounds=rows, spec=SPEC))
    told = "8 steps, 2 of them next to nothing as the updates cancelled, 2 rounds held ("
    assert told in text


def test_a_round_that_failed_is_no_step_and_no_held_round():
    rows = [protected_row(number) for number in range(1, 10)] + [round_row(10, failed="nobody")]
    text = said(verdict_of(BETTER, rounds=rows, spec=SPEC))
    assert "9 steps, no round held, 1 failed." in text


def test_without_protection_nothing_is_promised():
    text = said(verdict_of(BETTER))
    assert "no participant" not in text
    assert "held" not in text


def test_who_is_overridden_is_said_by_name():
    spec = small_spec(rounds=10, server={"protect": {"allow": 1}})
    rows = [
        protected_row(number, after=(0.9, 1.2) if number > 6 else (0.9, 0.9))
        for number in range(1, 11)
    ]
    text = said(verdict_of(BETTER, rounds=rows, spec=spec))
    assert "no participant ended" not in text
    assert (
        "In every one of 10 rounds at most 1 participant (server.protect.allow) ended with a "
        "higher training loss, as they said it: 10 steps, no round held; somebody did in 4 rounds, "
        f"most often south (4). {SCOPE}" in text
    )


def test_who_is_overridden_most_often_is_nobody_whom_others_equal():
    """Three of five that were overridden as often stood there as if they were the ones."""
    spec = small_spec(rounds=10, server={"protect": {"allow": 1}})

    def named(*losers):
        rows = [
            replace(protected_row(number, after=(0.9, 1.2)), client_ids=(4, loser))
            for number, loser in enumerate(losers, 1)
        ]
        names = tuple("abcdef")
        text = said(verdict_of(BETTER, rounds=rows, spec=spec, names=names))
        return text.partition("most often ")[2].partition(". Only")[0]

    assert named(0, 0, 0, 1, 1, 2, 3, 5) == "a (3) and b (2)"
    assert named(3, 3, 2, 2, 1) == "c (2), d (2) and b (1)"
    assert named(3, 2, 1, 0) == "a (1), b (1) and c (1)"


@pytest.mark.parametrize("measured", [True, False])
def test_under_attack_what_was_said_is_held_against_what_was_measured(measured):
    attack = {"name": "scale-update", "clients": [0]}
    spec = small_spec(rounds=10, server={"protect": True}, attack=attack)
    after = np.array([9.0, 1.5]) if measured else None
    rows = [protected_row(number, losses_after=after) for number in range(1, 11)]
    text = said(verdict_of(BETTER, rounds=rows, spec=spec))
    told = "an honest participant ended a step with a higher training loss 10 of 10 times."
    assert (told in text) == measured
    assert ("nothing was measured beside" in text) != measured


def test_where_no_step_was_made_none_was_measured():
    attack = {"name": "veto", "clients": [0]}
    spec = small_spec(rounds=10, server={"protect": True}, attack=attack)
    text = said(verdict(["opposed"] * 10, spec=spec))
    assert "0 steps, 10 rounds held" in text
    assert "easured" not in text


def test_an_early_end_is_said():
    spec = small_spec(rounds=50, server={"protect": {"patience": 3}})
    text = said(verdict(["stationary"] * 4, spec=spec))
    assert "The run ended after round 10 of 50: stationary, 4 rounds in a row were held." in text
    assert "The run ended" not in said(verdict(["stationary"] * 4))


@pytest.mark.parametrize("held", [4, 7])
def test_one_reason_among_several_is_not_said_of_all_that_were_held(held):
    """52 were held `as no step serves all`, and the sentence before said that of 38."""
    why = "most often as no step serves all 2 participants."
    text = said(verdict(["stationary"] * (held - 1) + ["opposed"]))
    assert f"{held} of 10 rounds were held, {why}" in text
    assert f"no step serves all in {held - 1}, somebody's loss rose at every length in 1" in text


def test_how_long_the_steps_were_is_said_where_some_were_shortened():
    assert "Of 10 steps 5 were turned, and all were made at their full length." in said(verdict([]))
    rows = [protected_row(number, scale=1.0 if number > 5 else 1 / 32) for number in range(1, 11)]
    text = said(verdict_of(BETTER, rounds=rows, spec=SPEC))
    assert "made at 0.52 of their length on average, 1/32 at least; 50 % below 1/16." in text


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("stationary", "as no step serves all 2 participants."),
        ("opposed", "as by what was said the training loss of north rose at every length tried."),
        ("unmoved", "as the steps were too short to change the model."),
    ],
)
@pytest.mark.parametrize("losses", [BETTER, NO_BETTER])
def test_a_run_that_held_most_of_its_rounds_stood_still_whatever_its_loss(reason, why, losses):
    found = verdict([reason] * 5, losses)
    assert (found.outcome, found.good) == ("stood still", False)
    assert found.headline.startswith(f"It stood still: 5 of 10 rounds were held, {why}")
    assert found.sentences[0].startswith("The model has test loss ")
    assert found.hints
    assert all(f"-c {hint}" in found.headline for hint in found.hints)
    assert decode(Verdict, encode(found)).held == found.held
    fewer = verdict([reason] * 4, losses)
    assert fewer.good == (losses is BETTER)
    assert f"4 of 10 rounds were held, {why}" in said(fewer)


def test_held_rounds_are_no_success_where_nobody_is_tested_either():
    assert verdict(["opposed"] * 6, [1.0] * 4, judged=_untested()).outcome == "stood still"
    assert verdict(["opposed"] * 2, [1.0] * 4, judged=_untested()).outcome == "not tested"


def _untested():
    return replace(evaluation(10, [1.0] * 4), num_examples=np.zeros(4))


def test_updates_that_cancel_are_the_cause_of_what_was_held_then():
    rows = [
        protected_row(number, reason="opposed" if number % 2 else "unmoved", stalled=True)
        for number in range(1, 11)
    ]
    found = verdict_of(NO_BETTER, rounds=rows, spec=SPEC)
    assert found.held.why == "stalled"
    assert "10 of 10 rounds were held, as the updates of 2 participants cancel." in found.headline
    assert "which may go against some" not in said(found)
    assert "no common direction among 2 participants" not in said(found)


def arrays_of_three(row):
    names = [field.name for field in fields(row)]
    return {name: np.ones(3) for name in names if isinstance(getattr(row, name), np.ndarray)}


def stationary_of_three(number):
    row = protected_row(number, reason="stationary")
    held = replace(row.protection, **arrays_of_three(row.protection))
    return replace(row, client_ids=(0, 1, 2), protection=held, **arrays_of_three(row))


def test_who_blocks_a_stationary_round_is_named():
    rows = np.array([[1.0, 0.1], [-1.0, 0.1], [0.0, -1.0]])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    gram = Gram(matrix=unit @ unit.T, columns=np.arange(3))
    made = [stationary_of_three(number) for number in range(1, 11)]
    found = verdict_of(NO_BETTER, rounds=made, spec=SPEC, cone_gram=lambda _: gram)
    assert found.held.looked_at == 10
    assert set(found.held.blocking) == {0, 1, 2}
    assert "In round 10 " in said(found)
    assert "server.protect.allow=1" in found.hints


class TestHints:
    def held(self, why, **changes):
        return HeldRounds(rounds=9, participants=160, why=why, **changes)

    def test_no_step_for_all_means_fewer_or_unprotected(self):
        hints = after_held(SPEC, self.held("stationary"), None)
        assert hints == ("clients.per_round=10", "server.protect=false")

    def test_who_always_opposes_can_be_overridden(self):
        hints = after_held(SPEC, self.held("opposed", opposing=(3, 5)), None)
        assert hints == ("server.protect.allow=2", "server.lr=0.1", "server.protect=false")
        allowing = small_spec(server={"protect": {"allow": 1}})
        assert after_held(allowing, self.held("opposed", opposing=(3,)), None)[0] == (
            "server.protect.allow=2"
        )

    def test_a_step_that_is_nothing_should_be_longer(self):
        assert after_held(SPEC, self.held("unmoved"), None) == ("server.lr=10",)
        harmonic = small_spec(server={"protect": True, "schedule": "harmonic", "curvature": 1.0})
        assert after_held(harmonic, self.held("unmoved"), None) == ()


def test_a_table_of_many_clients_stands_still_and_its_own_hint_lets_it_learn(tmp_path):
    table = table_of(tmp_path / "visits.csv", clients=90, agreement=1.0)
    data = {"path": str(table), "client": "branch", "target": "value"}
    server = {"protect": True}
    spec = small_spec(
        rounds=40, data=data, model={}, rule={"name": "fedavg"}, server=server,
        clients={"participation": 1.0},
    )  # fmt: skip
    stood = run_of(tmp_path / "run", spec)
    assert stood.verdict.outcome == "stood still"
    assert stood.summary.protection.ended_stationary
    key, _, value = stood.verdict.hints[0].partition("=")
    assert key == "clients.per_round"
    fewer = replace(spec.clients, participation=None, per_round=int(value))
    cured = run_of(tmp_path / "cured", replace(spec, clients=fewer))
    assert cured.verdict.outcome == "learned"
    assert cured.verdict.loss < stood.verdict.loss


def run_of(path, spec):
    for _ in execute(RunFolder.create(path, spec)):
        pass
    return open_run(path)
