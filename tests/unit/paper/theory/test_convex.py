from fedmgda.paper.theory import _convex


def verdicts(checks):
    return [check.holds for check in checks]


def test_the_rate_of_theorem_2_holds_after_the_start_and_not_at_it():
    assert verdicts(_convex.rate(1, num_rounds=20)) == [True, False]


def test_the_rate_of_theorem_2_fails_where_users_grow_less_than_c():
    assert verdicts(_convex.rate(0, growth=60.0, num_rounds=5)) == [False, False]


def test_the_recursion_of_theorem_2_holds_corrected_and_not_as_printed():
    assert verdicts(_convex.recursion(1, num_rounds=20)) == [True, False]


def test_the_sum_in_the_proof_is_tight_at_its_first_term():
    (check,) = _convex.sum_in_proof(num_terms=100)
    assert check.holds
    assert check.measured == 1.0


def test_only_a_whole_step_lands_on_the_projection():
    assert verdicts(_convex.lands_on_the_projection(1)) == [True]
    assert verdicts(_convex.lands_on_the_projection(1, step=0.9)) == [False]
    assert verdicts(_convex.lands_on_the_projection(1, step=1.1)) == [False]
