from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import DataError, SpecError
from fedmgda.experiments import Spec, merged, parse, read_toml, resolve, to_toml, with_overrides
from fedmgda.rules import PRESETS


def parsed(**table):
    return resolve(parse(Spec, table))


def test_every_key_has_a_default():
    assert parse(Spec, {}) == Spec()
    assert parsed().rule.name == "fedmgda+"


@pytest.mark.parametrize("rule", PRESETS)
@pytest.mark.parametrize("compat", ["paper", "released-code"])
def test_a_resolved_spec_survives_toml_and_resolves_to_itself(rule, compat, tmp_path):
    spec = parsed(rule={"name": rule}, compat=compat, attack={"name": "scale-loss", "clients": [3]})
    path = tmp_path / "spec.toml"
    path.write_text(to_toml(spec))
    assert parse(Spec, read_toml(path)) == spec
    assert resolve(spec) == spec


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"rule": {"epsilom": 1.0}}, "no key 'rule.epsilom'; did you mean 'rule.epsilon'?"),
        ({"ruel": {}}, "There is no key 'ruel'; did you mean 'rule'?"),
        ({"rule": {"zzz": 1}}, "There is no key 'rule.zzz'; the names are name, epsilon, "),
        ({"rule": {"epsilon": 1.5}}, r"rule.epsilon must lie in [0, 1], got 1.5."),
        ({"rule": {"epsilon": "big"}}, "a finite number or a table with first, power, got 'big'."),
        ({"rule": {"epsilon": True}}, "a finite number or a table with first, power, got True."),
        ({"rule": {"epsilon": float("nan")}}, "or a table with first, power, got nan."),
        ({"rule": {"name": "fedmgda++"}}, "did you mean 'fedmgda+'?"),
        ({"rule": {"name": 3}}, "rule.name must be 'fedavg', "),
        ({"rule": "fedavg"}, "rule must be a table of keys, got 'fedavg'."),
        ({"rounds": 0}, "rounds must lie in [1, 1e+07], got 0."),
        ({"rounds": 2**63 - 1}, "rounds must lie in [1, 1e+07], got 9223372036854775807."),
        ({"clients": {"local_epochs": 10**9}}, "clients.local_epochs must lie in [1, 100000]"),
        ({"data": {"num_clients": 10**9}}, "data.num_clients must lie in [1, 1e+06]"),
        ({"rounds": 1.5}, "rounds must be a whole number, got 1.5."),
        ({"seed": -1}, "seed must be at least 0, got -1."),
        ({"data": {"num_clients": 0}}, "data.num_clients must lie in [1, 1e+06], got 0."),
        ({"clients": {"batch_size": "all"}}, "clients.batch_size must be a whole number or 'full'"),
        ({"clients": {"momentum": 1.0}}, "clients.momentum must lie in [0, 1), got 1.0."),
        ({"clients": {"participation": 0.0}}, "clients.participation must lie in (0, 1], got 0.0."),
        ({"clients": {"client_lr": 0.0}}, "clients.client_lr must be above 0, got 0.0."),
        ({"clients": {"per_round": 5, "participation": 0.5}}, "say the same thing twice"),
        ({"clients": {"per_round": 21}}, "per_round = 21 is more than the number of clients"),
        (
            {"clients": {"per_round": 4}, "server": {"protect": {"allow": 4}}},
            "server.protect.allow = 4 protects nobody, as 4 take part in a round; allow fewer",
        ),
        ({"model": {"hidden": [1.5]}}, "model.hidden must be a list, each a whole number"),
        ({"rule": {"name": "fedavg", "epsilon": 0.5}}, "rule.epsilon does not apply to 'fedavg'"),
        ({"rule": {"name": "fedavg", "q": 0.5}}, "rule.q does not apply to 'fedavg'"),
        ({"attack": {"name": "scale-loss", "clients": [20]}}, "ids go from 0 to 19"),
        ({"attack": {"name": "scale-loss", "bias": 1.0}}, "attack.bias does not apply"),
        ({"attack": {"name": "bias-loss", "clients": list(range(11))}}, "than the 10 of a round"),
        ({"server": {"schedule": "harmonic"}}, "needs server.curvature"),
        ({"data": {"name": "a.b:c", "options": 3}}, "data.options must be a table of texts, "),
        ({"data": {"name": "a.b:c", "options": {"x": {"y": 1}}}}, "truth values and lists of them"),
        ({"data": {"name": "a.b:c", "options": {"x": [float("inf")]}}}, "data.options must be"),
        ({"data": {"options": {"x": 1}}}, "data.options does not apply to 'digits'"),
        ({"clients": {"client_lr": 10**400}}, "first, power, got 1000"),
        ({"clients": {"batch_size": 10**400}}, "clients.batch_size must be a whole number"),
        ({"engine": {"client_timeout": 1e308}}, "engine.client_timeout must lie in (0, 1e+07]"),
        ({"attack": {"name": "scale-loss", "clients": []}}, "attack.clients is empty"),
        ({"clients": {"only": [20]}}, "clients.only names client 20; ids go from 0 to 19."),
        ({"clients": {"only": []}}, "clients.only must name each client once, and at least one"),
        ({"clients": {"only": [1, 1]}}, "must name each client once, and at least one, got (1, 1)"),
        ({"clients": {"only": [0], "per_round": 1}}, "per_round does not go with clients.only"),
        ({"clients": {"only": [0], "participation": 0.1}}, "participation does not go with"),
        (
            {"clients": {"only": [0]}, "attack": {"name": "scale-loss"}},
            "attack.always_on does not go with clients.only; set it to false.",
        ),
        ({"clients": {"reported_loss": "after"}}, "must be 'before' or 'during', got 'after'"),
        ({"engine": {"device": "gpu"}}, "engine.device must be 'cpu' or 'cuda', got 'gpu'"),
        ({"attack": {"factor": 3.0}}, "attack.factor does not apply to 'none'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_sentence(table, message):
    with pytest.raises(SpecError) as caught:
        parsed(**table)
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert text[-1] in ".?"


def test_the_released_code_is_a_switch():
    paper, released = parsed(), parsed(compat="released-code")
    assert (paper.clients.momentum, released.clients.momentum) == (0.0, 0.5)
    assert (paper.clients.prox_convention, released.clients.prox_convention) == ("half", "full")
    assert (paper.data.local_split, released.data.local_split) == ("shuffled", "tail")
    assert parsed(compat="released-code", clients={"momentum": 0.1}).clients.momentum == 0.1


def test_the_proximal_methods_bring_their_mu():
    assert parsed(rule={"name": "mgda-prox"}).clients.mu == 0.1
    assert parsed(rule={"name": "fedprox"}, clients={"mu": 0.5}).clients.mu == 0.5
    assert parsed(rule={"name": "fedavg"}).clients.mu == 0.0


def test_participation_becomes_a_number_of_clients():
    assert parsed(clients={"participation": 0.31}).clients.per_round == 7
    assert parsed().clients.per_round == 10


@pytest.mark.parametrize(
    ("rule", "compat", "improved", "expected"),
    [
        ("fedavg", "paper", False, "during"),
        ("fedmgda+", "released-code", False, "during"),
        ("fedavg", "paper", True, "before"),
        ("q-fedavg", "paper", False, "before"),
        ("q-fedavg", "released-code", False, "before"),
        ("afl", "paper", False, "before"),
        ("afl", "released-code", True, "during"),
    ],
)
def test_clients_report_the_loss_that_something_reads(rule, compat, improved, expected):
    spec = parsed(rule={"name": rule}, compat=compat, evaluation={"improved": improved})
    assert spec.clients.reported_loss == expected
    assert resolve(spec) == spec


def test_a_given_report_of_the_loss_stays():
    for report in ("before", "during"):
        assert parsed(clients={"reported_loss": report}).clients.reported_loss == report


def test_chosen_clients_replace_participation():
    spec = parsed(clients={"only": [3, 1]})
    assert (spec.clients.per_round, spec.clients.participation) == (None, None)
    assert resolve(spec) == spec


def test_overrides_are_toml_or_bare_words():
    table = with_overrides(
        {"rounds": 5}, ["rule.name=fedavg", "rounds=7", "model.hidden=[8, 4]", "server.lr=1e-2"]
    )
    assert table == {
        "rounds": 7,
        "rule": {"name": "fedavg"},
        "model": {"hidden": [8, 4]},
        "server": {"lr": 0.01},
    }


def test_an_override_sets_one_key_only():
    assert with_overrides({}, ["rounds=3\nseed=5"]) == {"rounds": "3\nseed=5"}


@pytest.mark.parametrize("override", ["rule.name", "=3", "  "])
def test_a_malformed_override_is_refused(override):
    with pytest.raises(SpecError, match=r"must have the form section.key=value"):
        with_overrides({}, [override])


def test_another_rule_leaves_the_options_of_the_old_one_behind():
    base = {"rule": {"name": "fedmgda+", "epsilon": 0.1}, "data": {"name": "digits"}}
    assert with_overrides(base, ["rule.name=fedavg"])["rule"] == {"name": "fedavg"}
    assert with_overrides(base, ["rule.epsilon=1"])["rule"] == {"name": "fedmgda+", "epsilon": 1}
    assert merged(base, {"data": {"num_clients": 3}})["data"] == {
        "name": "digits",
        "num_clients": 3,
    }


def test_files_that_are_not_specs(tmp_path):
    with pytest.raises(DataError, match=r"cannot be read: No such file"):
        read_toml(tmp_path / "missing.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("rounds = = 3")
    with pytest.raises(SpecError, match="is not valid TOML"):
        read_toml(broken)
    broken.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not a text in UTF-8"):
        read_toml(broken)
    for text in ("a = " + "9" * 5000, "a = " + "[" * 3000):
        broken.write_text(text)
        with pytest.raises(SpecError, match="is not valid TOML"):
            read_toml(broken)
    broken.write_bytes(b"\xef\xbb\xbfrounds = 3")
    assert read_toml(broken) == {"rounds": 3}
    with pytest.raises(DataError, match="is not a file"):
        read_toml(tmp_path)
    broken.write_bytes(b"#" * (2 << 20))
    with pytest.raises(SpecError, match="too many for a spec"):
        read_toml(broken)


values = st.one_of(st.integers(), st.floats(), st.booleans(), st.text(), st.lists(st.integers()))
tables = st.recursive(values, lambda inner: st.dictionaries(st.text(), inner), max_leaves=5)
names = st.sampled_from(["rounds", "seed", "rule", "data", "clients", "attack", "nonsense"])


@given(st.dictionaries(names, tables))
def test_no_table_makes_anything_but_a_spec_or_a_sentence(table):
    with suppress(SpecError):
        assert isinstance(parsed(**table), Spec)


def test_only_the_network_with_dropout_can_be_asked_to_go_without():
    images = {"data": {"name": "fashion-mnist"}}
    assert resolve(parse(Spec, images | {"model": {"dropout": False}})).model.dropout is False
    assert resolve(parse(Spec, images | {"model": {"dropout": True}})) == resolve(
        parse(Spec, images)
    )
    with pytest.raises(SpecError, match=r"model\.dropout does not apply to 'mlp'"):
        resolve(parse(Spec, {"model": {"dropout": False}}))


def test_options_survive_toml_with_names_that_need_quotes(tmp_path):
    options = {"size": 3, "share": 0.5, "on": True, "a b": 'say "hi"', "list": [1, "x", [False]]}
    spec = parsed(data={"name": "my.module:make", "options": options})
    path = tmp_path / "spec.toml"
    path.write_text(to_toml(spec))
    assert 'options = { size = 3, share = 0.5, on = true, "a b" = "say \\"hi\\""' in to_toml(spec)
    assert parse(Spec, read_toml(path)) == spec == resolve(spec)
    assert spec.data.options == options


def test_a_spec_without_options_is_written_as_it_always_was():
    assert "options" not in to_toml(parsed(data={"name": "my.module:make"}))
    empty = parsed(data={"name": "my.module:make", "options": {}})
    assert "options = {}" in to_toml(empty)


def test_an_option_is_overridden_alone():
    table = {"data": {"name": "my.module:make", "options": {"size": 3, "share": 0.5}}}
    table = with_overrides(table, ["data.options.size=4"])
    assert table["data"]["options"] == {"size": 4, "share": 0.5}
