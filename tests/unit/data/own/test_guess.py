"""Which column is the client and which the target: what is guessed, and how surely."""

import numpy as np
import pytest

from fedmgda.data import guess_client, guess_target, inspect_columns
from fedmgda.data.own._columns import RawTable


def table(**columns):
    length = len(next(iter(columns.values())))
    texts = {name: list(map(str, column)) for name, column in columns.items()}
    return RawTable(name="made.csv", columns=texts, rows=np.arange(2, length + 2))


ROWS = 60
THIRDS = [("north", "south", "west")[i % 3] for i in range(ROWS)]
NUMBERS = np.random.default_rng(0).normal(size=(6, ROWS)).round(3)
BINARY = [("yes", "no")[i % 2] for i in range(ROWS)]


def guesses(**columns):
    raw = table(**columns)
    facts = inspect_columns(raw)
    client = guess_client(raw, facts)
    return client, guess_target(raw, facts, {client.name or ""})


@pytest.mark.parametrize(
    "name", ["Neighborhood", "hospital", "addr_state", "plot_id", "schoolNR", "clinic_name", "Site"]
)
def test_a_column_named_like_a_client_is_taken_and_sure(name):
    client, _ = guesses(**{"x": NUMBERS[0], name: THIRDS, "y": BINARY})
    assert (client.name, client.sure) == (name, True)


@pytest.mark.parametrize("name", ["statement", "capacity", "estate_price", "paid"])
def test_a_name_that_only_contains_the_letters_is_none(name):
    client, _ = guesses(**{name: NUMBERS[0], "x": NUMBERS[1], "y": NUMBERS[2]})
    assert client.name is None


def test_whole_numbers_with_such_a_name_are_clients_and_others_are_not():
    client, _ = guesses(school=[i % 4 for i in range(ROWS)], x=NUMBERS[0])
    assert client.name == "school"
    client, _ = guesses(school=NUMBERS[1], x=NUMBERS[0])
    assert client.name is None


def test_groups_that_are_too_small_are_no_clients():
    client, _ = guesses(user=[i // 3 for i in range(ROWS)], branch=THIRDS, x=NUMBERS[0])
    assert client.name == "branch"


def test_a_client_may_miss_in_a_few_rows_but_not_in_most():
    client, _ = guesses(hospital=["", *THIRDS[1:]], x=NUMBERS[0])
    assert (client.name, client.sure) == ("hospital", True)
    client, _ = guesses(hospital=[""] * 31 + THIRDS[31:], x=NUMBERS[0])
    assert client.name is None


def test_categories_without_such_a_name_are_unsure_and_leave_the_target_alone():
    client, target = guesses(kind=THIRDS, colour=BINARY, x=NUMBERS[0], choice=THIRDS)
    assert (client.name, client.sure, client.others) == ("kind", False, ("colour",))
    assert (target.name, target.sure) == ("choice", True)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("MS_SubClass", "Sale_Price", "Latitude"), "Sale_Price"),
        (("verification_status", "Class", "price"), "Class"),
        (("patient_class", "result", "age"), "result"),
        (("life_expectancy", "gdp", "region"), "life_expectancy"),
    ],
)
def test_the_target_is_found_by_its_name_wherever_it_stands(names, wanted):
    _, target = guesses(**{name: NUMBERS[i] for i, name in enumerate(names)})
    assert (target.name, target.sure) == (wanted, True)


def test_without_a_name_the_last_column_is_guessed_but_no_time_or_place():
    _, target = guesses(a=NUMBERS[0], b=NUMBERS[1], month=[i % 12 for i in range(ROWS)])
    assert (target.name, target.sure) == ("b", False)
    assert target.others == ("a", "month")


def test_ids_dates_and_columns_that_mostly_miss_are_no_targets():
    days = [f"2024-01-{1 + i % 28:02}" for i in range(ROWS)]
    _, target = guesses(
        a=NUMBERS[0], price=[""] * 31 + [*NUMBERS[1][31:]], label=days,
        target=range(100, 100 + ROWS), outcome=["", *["late"] * (ROWS - 1)],
    )  # fmt: skip
    assert target.name == "a"
    assert guess_target(table(x=[]), (), ()).name is None


def test_a_target_may_miss_in_a_few_rows():
    _, target = guesses(a=NUMBERS[0], shop=THIRDS, late=["", *BINARY[1:]])
    assert (target.name, target.sure, target.others) == ("late", False, ("a",))
    _, target = guesses(a=NUMBERS[0], price=["", *NUMBERS[1][1:]], b=NUMBERS[2])
    assert (target.name, target.sure) == ("price", True)


def many_rows():
    """Pupils of 40 schools that are named nothing of the kind: a code, amounts, and two sexes."""
    rng = np.random.default_rng(5)
    primary = np.repeat(np.arange(1, 41), rng.integers(8, 40, 40))
    size = len(primary)
    return {
        "verbal": rng.normal(50, 12, size).round().astype(int).clip(0),
        "visits": rng.poisson(0.7, size),
        "rank": rng.integers(1, 11, size),
        "years": rng.integers(18, 90, size),
        "sex": np.where(rng.random(size) < 0.5, "F", "M"),
        "primary": primary,
    }


@pytest.mark.parametrize("shuffled", [False, True])
def test_codes_come_before_two_sexes_and_are_unsure_and_never_the_target(shuffled):
    rows = many_rows()
    if shuffled:
        order = np.random.default_rng(6).permutation(len(rows["sex"]))
        rows = {name: column[order] for name, column in rows.items()}
    client, target = guesses(**rows)
    assert (client.name, client.sure, client.others) == ("primary", False, ("sex",))
    assert target.name == "sex"
    _, target = guesses(**{name: rows[name] for name in ("verbal", "primary", "sex")})
    assert "primary" not in (target.name, *target.others)


@pytest.mark.parametrize("name", ["week", "score", "age"])
def test_a_column_that_is_called_an_amount_is_no_code(name):
    client, target = guesses(**{name: many_rows()["primary"]})
    assert (client.name, target.name) == (None, name)
