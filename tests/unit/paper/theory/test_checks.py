import pytest

from fedmgda.paper.theory import theory_checks


@pytest.fixture(scope="module")
def all_checks():
    return theory_checks()


def test_every_claim_holds_as_corrected_and_none_as_misprinted(all_checks):
    wrong = [check.claim for check in all_checks if check.holds == check.as_printed]
    assert wrong == []


def test_the_theorems_are_all_there_and_no_claim_twice(all_checks):
    places = " ".join(check.where for check in all_checks)
    for name in ("Lemma 1", "Theorem 1a", "Theorem 1b", "Theorem 2", "P1", "P2", "P3", "P5", "P10"):
        assert name in places
    assert len({check.claim for check in all_checks}) == len(all_checks)
    assert all(check.claim.endswith(".") for check in all_checks)
