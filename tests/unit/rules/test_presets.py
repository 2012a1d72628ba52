import pytest

from fedmgda.rules import AFL, PRESETS, FedAvg, FedMGDA, QFedAvg, make_rule


def test_the_first_eight_names_are_those_of_the_paper():
    assert list(PRESETS)[:8] == [
        "fedavg", "fedavg-n", "fedprox", "fedmgda", "fedmgda+", "mgda-prox", "q-fedavg", "afl",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("fedavg", FedAvg()),
        ("fedavg-n", FedAvg(normalize=True)),
        ("fedprox", FedAvg()),
        ("fedmgda", FedMGDA(normalize=False)),
        ("fedmgda+", FedMGDA(normalize=True)),
        ("mgda-prox", FedMGDA(normalize=True)),
        ("afl", AFL()),
    ],
)
def test_a_name_is_a_combination(name, rule):
    assert make_rule(name) == rule


def test_only_the_proximal_methods_have_a_proximal_term():
    assert {name for name, preset in PRESETS.items() if preset.mu > 0} == {"fedprox", "mgda-prox"}


def test_options_reach_the_rule():
    assert make_rule("fedmgda+", epsilon=0.1) == FedMGDA(epsilon=0.1)
    assert make_rule("q-fedavg", q=2.0, lipschitz=1.0) == QFedAvg(q=2.0, lipschitz=1.0)


def test_what_makes_a_method_cannot_be_changed():
    with pytest.raises(ValueError, match="normalize does not apply to 'fedavg-n'"):
        make_rule("fedavg-n", normalize=False)


def test_an_unknown_name_is_refused_with_the_names():
    with pytest.raises(ValueError, match="There is no rule 'fedsgd'; the names are fedavg, "):
        make_rule("fedsgd")
