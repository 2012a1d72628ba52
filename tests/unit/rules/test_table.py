"""docs/rules/index.md against the rules: every ✓ is a law, every – has a counterexample."""

import re
from pathlib import Path

import numpy as np
import pytest

from fedmgda import Cohort, make_rule
from fedmgda.rules import PRESETS, FedMGDA

DOCS = Path(__file__).parents[3] / "docs"
INDEX = (DOCS / "rules" / "index.md").read_text(encoding="utf-8")


def table():
    """Return for every rule and column of the table whether it has a ✓."""
    lines = INDEX[INDEX.index("| rule |") :].split("\n\n")[0].splitlines()
    columns = [cell.strip() for cell in lines[0].strip("|").split("|")][1:]
    rows = {}
    for line in lines[2:]:
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        assert set(cells) <= {"✓", "–"}
        rows[re.match(r"\[`(.+)`\]", first)[1]] = {
            column: cell == "✓" for column, cell in zip(columns, cells, strict=True)
        }
    return rows


def cohorts(count=40):
    """Yield cohorts of users who agree and disagree, of several lengths, with losses."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        shared = rng.normal(size=6) * (seed % 3)
        rows = rng.normal(size=(4, 6)) + shared
        yield rows * rng.uniform(0.2, 3.0, size=(4, 1)), rng.uniform(0.5, 2.0, size=4)


def cohort_of(rows, losses):
    ids = tuple(range(len(rows)))
    return Cohort(client_ids=ids, updates=rows, num_examples=np.ones(len(rows)), losses=losses)


def made(name):
    return make_rule(name, client_lr=0.1) if name == "q-fedavg" else make_rule(name)


def opposes_nobody(rule, rows, losses):
    found = rule.aggregate(cohort_of(rows, losses))
    return bool((rows @ found.direction >= -1e-9 * np.linalg.norm(rows, axis=1)).all())


def ignores_length(rule, rows, losses):
    longer = rows * np.array([[50.0], [1.0], [1.0], [1.0]])
    return same(rule, (rows, losses), (longer, losses))


def ignores_losses(rule, rows, losses):
    state = rule.init(len(rows))
    louder = losses * np.array([50.0, 1.0, 1.0, 1.0])
    for said in (losses, louder):
        _, after = rule.weigh(cohort_of(rows, said), state, 1)
        if said is losses:
            honest = rule.weigh(cohort_of(rows, losses), after, 2)[0].weights
        else:
            told = rule.weigh(cohort_of(rows, louder), after, 2)[0].weights
    return bool(np.allclose(honest, told, rtol=1e-9))


def same(rule, one, other):
    first, second = (rule.aggregate(cohort_of(*each)).direction for each in (one, other))
    return bool(np.allclose(first, second, atol=1e-9 * np.linalg.norm(first)))


def sums_to_one(rule, rows, losses):
    weighing = rule.weigh(cohort_of(rows, losses), rule.init(len(rows)), 1)[0]
    return bool(np.isclose(weighing.lam.sum(), 1.0))


def remembers_nothing(rule, rows, losses):
    state = rule.weigh(cohort_of(rows, losses), rule.init(len(rows)), 1)[1]
    return not state


def solves_nothing(rule, rows, losses):
    return not isinstance(rule, FedMGDA)


LAWS = {
    "opposes no participant's update": opposes_nobody,
    "a longer update gains nothing": ignores_length,
    "a larger reported loss gains nothing": ignores_losses,
    "λ sums to 1": sums_to_one,
    "remembers nothing": remembers_nothing,
    "solves nothing": solves_nothing,
}


def test_every_rule_is_in_the_table_and_has_a_page():
    assert list(table()) == list(PRESETS)
    for name, preset in PRESETS.items():
        page = DOCS / "rules" / f"{name.replace('+', '-plus')}.md"
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# `{name}`\n")
        for part in ("$$", "**Properties.**", "**Cost.**", "**When", "## Evidence"):
            assert part in text, f"{page.name} lacks {part}"
        assert preset.summary


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", PRESETS)
def test_a_cell_of_the_table_is_true(name, law):
    rule = made(name)
    assert set(table()[name]) == set(LAWS)
    kept = [LAWS[law](rule, rows, losses) for rows, losses in cohorts()]
    assert all(kept) is table()[name][law]
