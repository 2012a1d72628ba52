"""Whatever the engine does in a round, its record bears it out; and a changed record does not."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from cohorts import RULES, cohorts
from fedmgda._json import decode, encode
from fedmgda.experiments._gram import cone_gram_bytes, gram_bytes, gram_place, read_gram
from fedmgda.experiments._measure import round_row
from fedmgda.experiments._recorded import RecordedUpdates
from fedmgda.experiments._rows import RoundRow
from fedmgda.experiments._spec import ClientsSpec, ProtectSpec, ServerSpec, Spec
from fedmgda.experiments._verify_rounds import RunFacts, check_rounds
from fedmgda.experiments._verify_step import Precision, StepCheck
from fedmgda.federation import Constant, Protection, RoundRecord, UniformSampler, margin_of
from fedmgda.minnorm import cone_certificate
from fedmgda.rules import FedMGDA, weigh_again
from fedmgda.values import aggregate
from quadratics import Quadratics, run


def written(row):
    """Return a row as it comes back from a file."""
    return decode(RoundRow, json.loads(json.dumps(encode(row))))


def gram_of(kept, weights):
    if kept is None:
        return None
    return read_gram(kept[0], gram_place(*kept, offset=0), weights)


def wrong(findings):
    return [(f.place, f.by) for f in findings if f.standing == "wrong"]


class Recorded:
    """The rounds of a federation as a run would write them down."""

    def __init__(self, federation, states, records, losses):
        self.federation = federation
        self.rows, self.grams = [], []
        for before, after, record in zip(states, states[1:], records, strict=False):
            ids = list(record.cohort.client_ids)
            digest = hashlib.sha256(after.params.tobytes()).hexdigest()
            said = [losses(state.params)[ids] for state in (before, after)]
            self.rows.append(written(round_row(record, *said, (), digest)))
            step = record.protected
            cone = None if step is None else step.omega_lam + step.multipliers
            self.grams.append(
                (
                    gram_of(gram_bytes(record), record.aggregate and record.aggregate.lam),
                    gram_of(cone_gram_bytes(record), cone),
                )
            )
        self.length = float(np.linalg.norm(states[-1].params))
        self.num_params = len(states[-1].params)

    def findings(self, rows=None):
        federation = self.federation
        protect = federation.protection
        facts = RunFacts(
            spec=Spec(
                seed=federation.seed,
                clients=ClientsSpec(reported_loss="before"),
                server=ServerSpec(
                    protect=None
                    if protect is None
                    else ProtectSpec(
                        allow=protect.allow, margin=protect.margin, trials=protect.trials
                    )
                ),
            ),
            num_clients=federation.num_clients,
            train_sizes=None,
            malicious=(),
            rule=federation.rule,
            no_rule="",
            sampler=federation.sampler,
            no_sampler="",
            schedule=federation.schedule,
            precision=Precision(
                num_params=self.num_params, num_buffers=0, model_length=self.length
            ),
            gram=lambda row: self.grams[row.round_num - 1],
            attack=None,
        )
        return list(check_rounds(facts, self.rows if rows is None else rows))


@st.composite
def federations(draw, *, protected):
    """Draw a federation of quadratics in float32, some of them at rest, alike or opposed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(1, 7)), draw(st.sampled_from([1, 2, 3, 8, 40]))
    anchors = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 3.0])) * rng.normal(size=d)
    start = rng.normal(size=d).astype(np.float32)
    if n > 1 and draw(st.booleans()):
        anchors[1] = anchors[0]
    if n > 2 and draw(st.booleans()):
        anchors[2] = 2 * start - anchors[0]  # whose gradient is the opposite of another's
    if draw(st.booleans()):
        anchors[0] = start  # who is at rest
    problem = Quadratics(
        anchors * draw(st.sampled_from([1e-3, 1.0, 1e3])),
        client_lr=draw(st.sampled_from([0.01, 0.4])),
        steps=draw(st.sampled_from([1, 3])),
    )
    rule = draw(st.sampled_from(list(RULES.values())))
    if rule.average_iterates:
        rule = replace(rule, average_iterates=False)
    changes = {
        "rule": rule,
        "sampler": UniformSampler(num_clients=n, per_round=draw(st.integers(1, n))),
        "schedule": Constant(server_lr=draw(st.sampled_from([0.1, 1.0, 20.0]))),
        "seed": 5,
    }
    if not protected:
        return problem, problem.federation(**changes), start
    protection = Protection(
        allow=draw(st.sampled_from([0, 0, 1])),
        margin=draw(st.sampled_from([0.0, 0.5, 0.9])),
        trials=draw(st.sampled_from([1, 3, 12])),
    )
    return problem, problem.protected(protection=protection, **changes), start


def recorded(problem, federation, start, rounds=3):
    with np.errstate(all="ignore"):
        return Recorded(federation, *run(federation, start, rounds), problem.losses)


@given(federations(protected=False))
@settings(max_examples=150)
def test_the_record_of_every_round_is_borne_out(drawn):
    assert wrong(recorded(*drawn).findings()) == []


@given(federations(protected=True))
@settings(max_examples=150)
def test_the_record_of_every_protected_round_is_borne_out(drawn):
    assert wrong(recorded(*drawn).findings()) == []


def weighed(rule, cohort, lam=None):
    """Return the row and the Gram matrix of one round with some updates, or of another λ."""
    state = rule.init(len(cohort.client_ids))
    weighing, _ = rule.weigh(cohort, state, 1)
    if lam is not None:
        products = np.asarray(cohort.updates, dtype=np.float64)
        inner = lambda weights: products @ (weights @ products)  # noqa: E731
        weighing, _ = weigh_again(rule, cohort, lam, state, 1, inner=inner)
    record = RoundRecord(
        round_num=1,
        sampled=cohort.client_ids,
        cohort=cohort,
        quarantined=(),
        aggregate=aggregate(cohort, weighing),
        server_lr=1.0,
    )
    row = written(round_row(record, None, None, ()))
    return row, gram_of(gram_bytes(record), row.lam)


def looked_at(rule, cohort, row, gram):
    precision = Precision(
        num_params=cohort.updates.num_columns, num_buffers=None, model_length=None
    )
    check = StepCheck(rule, "", len(cohort.client_ids), precision)
    known = replace(cohort, updates=RecordedUpdates(row.norms, gram))
    check.check("line 1", row, known, gram, reported=True)
    return list(check.findings())


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@given(cohort=cohorts(dtype=np.float32, with_zeros=True))
@settings(max_examples=30)
def test_wild_updates_raise_no_false_alarm(rule, cohort):
    row, gram = weighed(rule, cohort)
    assert wrong(looked_at(rule, cohort, row, gram)) == []


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@given(cohort=cohorts(dtype=np.float32), data=st.data())
@settings(max_examples=30)
def test_a_weight_moved_by_a_thousandth_to_another_client_is_found(rule, cohort, data):
    row, gram = weighed(rule, cohort)
    m = len(row.client_ids)
    give, take = data.draw(st.permutations(range(m))).copy()[:2] if m > 1 else (0, 0)
    lam = row.lam.copy()
    lam[give] += 1e-3
    lam[take] -= 1e-3 if m > 1 else 0.0
    again = looked_at(rule, cohort, replace(row, lam=lam), gram)
    if isinstance(rule, FedMGDA) and m > 1:
        # Where two updates are the same, it makes no difference which of them has the weight.
        rows = np.asarray(cohort.updates, dtype=np.float64)
        rows /= np.linalg.norm(rows, axis=1)[:, None] if rule.normalize else 1.0
        moved = np.linalg.norm(rows[give] - rows[take]) * 1e-3
        if moved <= 1e-5 * np.abs(lam @ np.linalg.norm(rows, axis=1)):
            return
    assert wrong(again)


@pytest.mark.parametrize("normalize", [False, True])
@given(cohort=cohorts(dtype=np.float32), share=st.floats(1e-3, 0.9))
@settings(max_examples=60)
def test_another_lam_is_found_though_all_that_follows_from_it_is_made_anew(
    normalize, cohort, share
):
    rule = FedMGDA(normalize=normalize)
    row, _ = weighed(rule, cohort)
    m = len(row.client_ids)
    lam = (1.0 - share) * row.lam + share * np.roll(np.eye(m)[int(row.lam.argmax())], 1)
    forged, gram = weighed(rule, cohort, lam)
    top = 1.0 if normalize else float(row.norms.max()) ** 2
    assume(forged.gap > 1e-8 * top)  # else it is a minimum too
    reasons = [why for _, why in wrong(looked_at(rule, cohort, forged, gram))]
    assert len(reasons) == 1
    assert reasons[0].startswith("λ is not the minimum: its duality gap is ")


ANCHORS = np.random.default_rng(3).normal(size=(6, 12)).astype(np.float32)
START = np.full(12, 0.5, np.float32)


@pytest.fixture(scope="module")
def protected():
    """Return rounds of which the second turns its step and shortens it."""
    problem = Quadratics(ANCHORS, client_lr=0.4, steps=3)
    federation = problem.protected(
        FedMGDA(epsilon=0.05),
        sampler=UniformSampler(num_clients=6, per_round=4),
        schedule=Constant(server_lr=4.0),
        seed=2,
    )
    found = recorded(problem, federation, START, rounds=4)
    assert wrong(found.findings()) == []
    assert len(found.rows[1].protection.opposed) > 1
    assert found.rows[1].protection.multipliers.any()
    return found


def scaled(name, factor=1.001):
    return lambda row: replace(row, **{name: getattr(row, name) * factor})


def shifted(name, by=1e-3):
    def change(row):
        values = getattr(row, name).copy()
        values[np.argmax(np.abs(values))] += by
        return replace(row, **{name: values})

    return change


def exchanged(name, by=1e-3):
    def change(row):
        values = getattr(row, name).copy()
        values[[values.argmax(), values.argmin()]] += [-by, by]
        return replace(row, **{name: values})

    return change


def put(**values):
    return lambda row: replace(row, **values)


def of_protection(change):
    return lambda row: replace(row, protection=change(row.protection))


OF_A_ROUND = {
    "λ": exchanged("lam"),
    "λ that does not sum to one": shifted("lam"),
    "‖d‖": scaled("norm"),
    "gap": put(gap=1e-3),
    "⟨g_i, d⟩": shifted("inner"),
    "min_inner": scaled("min_inner"),
    "‖g_i‖": shifted("norms"),
    "improved": put(improved=75.0),
    "a loss that rose": shifted("losses_after", 1.0),
    "a loss that was other": shifted("losses_before", 1.0),
    "the step": scaled("server_lr"),
    "who is sacrificed": lambda row: replace(row, sacrificed=row.client_ids[:1]),
    "who was dropped": lambda row: replace(row, dropped=row.client_ids[:1]),
    "a stall": put(stalled=True),
    "no λ": put(lam=None),
    "a failure": put(failed="nobody came"),
    "held": put(held=True),
    "a participant twice": lambda row: replace(
        row, client_ids=(row.client_ids[0], *row.client_ids[:-1])
    ),
    "another participant": lambda row: replace(
        row,
        client_ids=tuple(set(range(6)) - set(row.client_ids))[:1] + row.client_ids[1:],
    ),
    "no protection": put(protection=None),
}
OF_PROTECTION = {
    "ω": scaled("omega"),
    "no ω": put(omega=None),
    "λ of ω": exchanged("omega_lam"),
    "the gap of ω": put(omega_gap=1e-3),
    "margin": scaled("margin"),
    "⟨u_i, z⟩": shifted("inner"),
    "a multiplier": shifted("multipliers"),
    "a negative multiplier": shifted("multipliers", -9.0),
    "gap": put(gap=1e-3),
    "violation": put(violation=1e-3),
    "‖z‖": scaled("step_norm"),
    "‖z'‖": scaled("turned_norm"),
    "s": scaled("scale", 2.0),
    "trials": lambda step: replace(step, opposed=step.opposed[1:]),
    "nobody opposed": lambda step: replace(step, opposed=((),) * len(step.opposed)),
    "a stranger opposed": lambda step: replace(step, opposed=((99,), *step.opposed[1:])),
    "a loss that rose": shifted("after", 9.0),
    "a loss that was lower": shifted("before", -1e-3),
    "‖Δ‖": scaled("moved_norm"),
    "⟨u_i, Δ⟩": shifted("moved_inner"),
    "a reason": put(reason="opposed"),
    "held": put(scale=None, after=None, reason="opposed"),
    "an override": put(overridden=(0,)),
    "another cone": put(other_opposed=((0, 1, 2),)),
    "buffers of a model that has none": put(buffers_stayed=True),
    "no model": put(model=""),
}
CHANGES = OF_A_ROUND | {
    f"protection: {name}": of_protection(change) for name, change in OF_PROTECTION.items()
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_in_a_round_is_found(protected, change):
    rows = [protected.rows[0], change(protected.rows[1]), *protected.rows[2:]]
    found = wrong(protected.findings(rows))
    assert found
    assert found[0][0] in {"rounds.jsonl, line 2", "rounds.jsonl, line 3"}


def untouched(found, step):
    """Leave the step as the rule proposed it, with the certificate that this has."""
    v = np.zeros(len(step.multipliers))
    bound = step.margin * step.step_norm
    proof = cone_certificate(found.grams[1][1].matrix, step.inner, bound, v)
    return replace(
        step,
        multipliers=v,
        gap=proof.gap,
        violation=proof.violation,
        turned_norm=step.step_norm,
        moved_norm=step.scale * step.step_norm,
        moved_inner=step.scale * step.inner,
    )


def of_one_alone(found, step):
    """Take one participant for ω, with the gap that this has, and the margin that follows."""
    lam = np.eye(len(step.inner))[0]
    slope = found.grams[1][1].matrix[0]
    margin = margin_of(1.0, found.federation.protection.margin)
    proof = cone_certificate(
        found.grams[1][1].matrix, step.inner, margin * step.step_norm, step.multipliers
    )
    return replace(
        step,
        omega=1.0,
        omega_lam=lam,
        omega_gap=float(1.0 - slope.min()),
        margin=margin,
        gap=proof.gap,
        violation=proof.violation,
    )


def held_too_soon(found, step):
    """Hold the round after the first length that was tried."""
    return replace(
        step,
        scale=None,
        after=None,
        reason="opposed",
        opposed=step.opposed[:1],
        moved_norm=0.0,
        moved_inner=np.zeros(len(step.inner)),
        model=found.rows[0].protection.model,
    )


FITS = {
    "the step is not the nearest in the cone": untouched,
    "ω is not the minimum": of_one_alone,
    "the round is held, and a step of": held_too_soon,
}


@pytest.mark.parametrize("reason", FITS)
def test_evidence_that_fits_and_proves_something_else_is_found(protected, reason):
    step = FITS[reason](protected, protected.rows[1].protection)
    row = replace(protected.rows[1], protection=step, held=step.scale is None)
    if row.held:
        row = replace(row, losses_after=row.losses_before, improved=100.0)
    said = wrong(protected.findings([protected.rows[0], row]))
    assert any(place == "rounds.jsonl, line 2" and why.startswith(reason) for place, why in said)


SHORT = {
    "one participant fewer": lambda row: replace(row, client_ids=row.client_ids[:-1]),
    "one λ fewer": lambda row: replace(row, lam=row.lam[1:]),
    "one ⟨u_i, z⟩ fewer": of_protection(lambda step: replace(step, inner=step.inner[1:])),
}


@pytest.mark.parametrize("change", SHORT.values(), ids=SHORT.keys())
def test_a_round_without_a_number_for_each_participant_is_none(protected, change):
    with pytest.raises(ValueError, match=r"has \d entries for \d clients"):
        change(protected.rows[1])
