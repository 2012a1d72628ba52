"""What a spec says of a rule, an attack or a model reaches it, or is refused."""

import tomllib
from dataclasses import fields
from types import SimpleNamespace

import pytest

from fedmgda._errors import SpecError
from fedmgda.attacks import ATTACKS, ScaleLoss, attack_options
from fedmgda.experiments import Spec, parse, resolve, to_toml
from fedmgda.experiments._build import build_attack, build_rule
from fedmgda.experiments._spec import AttackSpec, ModelSpec, RuleSpec
from fedmgda.models import MODELS
from fedmgda.rules import AFL, PRESETS, Constraint, FedAvg
from fedmgda.values import Annealed

NAMES = ("north", "south", "7")
INTERNAL = {"client_lr", "batch_size"}  # q-FedAvg takes them from the clients' table


def spec_of(**tables):
    return resolve(parse(Spec, {"data": {"name": "quadratics", "num_clients": 3}} | tables))


def rule_of(names=NAMES, **table):
    return build_rule(spec_of(rule=table), SimpleNamespace(num_clients=3, client_names=names))


def test_the_spec_has_a_key_for_every_option_of_every_rule_and_no_other():
    options = {name for preset in PRESETS.values() for name in preset.options} - INTERNAL
    assert {f.name for f in fields(RuleSpec)} == options | {"name", "options"}


def test_the_spec_has_a_key_for_every_option_of_every_attack_and_model():
    of_attacks = {name for kind in ATTACKS.values() for name in attack_options(kind)}
    others = {"name", "clients", "always_on", "options"}
    assert {f.name for f in fields(AttackSpec)} == of_attacks | others
    of_models = {name for record in MODELS.values() for name in record.options}
    assert {f.name for f in fields(ModelSpec)} == of_models | {"name", "options", "init"}


@pytest.mark.parametrize("name", PRESETS)
def test_a_resolved_rule_holds_the_defaults_of_its_record(name):
    rule = spec_of(rule={"name": name}).rule
    for option, default in PRESETS[name].options.items():
        if option not in INTERNAL and default != ():
            assert getattr(rule, option) == default


def test_a_center_by_name_goes_to_the_clients_of_those_names():
    rule = rule_of(name="fedavg", center={"south": 3, "7": 1.5, "north": 0.5})
    assert rule.center == (0.5, 3.0, 1.5)
    assert rule_of(name="fedavg", center=[1, 2, 3]).center == (1.0, 2.0, 3.0)


def test_where_clients_have_no_names_they_go_by_number():
    rule = rule_of(None, name="fedmgda+", center={"2": 3, "0": 1, "1": 2})
    assert rule.center == (1.0, 2.0, 3.0)
    constraints = [{"clients": [2], "at_most": 0.5}]
    assert rule_of(None, name="fedmgda+", constraints=constraints).constraints == (
        Constraint(coefficients=((2, 1.0),), at_most=0.5),
    )


@pytest.mark.parametrize("client", ["north", "-1", "3", "99999999999999999999"])
def test_a_client_that_there_is_not_stands_for_nobody(client):
    for options in (
        {"center": {"0": 1.0, "1": 1.0, "2": 1.0, client: 1.0}},
        {"constraints": [{"clients": [client], "at_most": 0.1}]},
    ):
        with pytest.raises(SpecError, match=r"names a client .* that there is not"):
            rule_of(None, name="fedmgda+", **options)


def test_a_client_is_named_once():
    with pytest.raises(SpecError, match=r"rule.center names a client twice"):
        rule_of(name="fedmgda+", center={"north": 1, "0": 2, "south": 1, "7": 1})


@pytest.mark.parametrize(
    ("center", "sentence"),
    [
        ([1.0, 2.0], "rule.center has 2 numbers for 3 clients; give one for each"),
        ({"north": 1.0, "south": 1.0}, "rule.center has no number for client '7'"),
        ({"north": 1.0, "suth": 1.0, "7": 1.0}, "a client 'suth' that there is not; did you mean"),
        ({"north": "x", "south": 1.0, "7": 1.0}, "rule.center.north must be a finite number"),
        ({"north": -1.0, "south": 1.0, "7": 1.0}, "rule.center must be positive numbers"),
        ([1.0, 0.0, 1.0], "Each of rule.center must be above 0, got 0"),
        ("unform", "did you mean 'uniform'?"),
    ],
)
def test_a_center_that_cannot_be_meant_is_refused(center, sentence):
    with pytest.raises(SpecError, match=sentence.replace("?", r"\?")):
        rule_of(name="fedmgda+", center=center)


def test_constraints_go_by_name_or_number_with_coefficients_or_without():
    rule = rule_of(
        name="fedmgda+",
        constraints=[
            {"clients": ["north", "7"], "at_most": 0.5},
            {"clients": [1], "at_least": 0.1},
            {"clients": {"north": 1.0, "south": -2.0}, "at_most": 0.0},
        ],
    )
    assert rule.constraints == (
        Constraint(coefficients=((0, 1.0), (2, 1.0)), at_most=0.5),
        Constraint(coefficients=((1, -1.0),), at_most=-0.1),
        Constraint(coefficients=((0, 1.0), (1, -2.0)), at_most=0.0),
    )


@pytest.mark.parametrize(
    ("constraint", "sentence"),
    [
        ({"clients": ["north"]}, "needs at_most or at_least, and not both"),
        ({"clients": ["north"], "at_most": 1, "at_least": 0}, "and not both"),
        ({"at_most": 1}, "rule.constraints needs the key 'clients'"),
        ({"clients": ["nobody"], "at_most": 1}, "names a client 'nobody' that there is not"),
        ({"clients": {"north": True}, "at_most": 1}, "must be a finite number, got True"),
        ("north", "Each of rule.constraints must be a table of keys, got 'north'"),
        ({"clients": [], "at_most": 1}, "constraints must name clients"),
    ],
)
def test_a_constraint_that_cannot_be_meant_is_refused(constraint, sentence):
    with pytest.raises(SpecError, match=sentence):
        rule_of(name="fedmgda+", constraints=[constraint])


def test_epsilon_falls_with_the_rounds():
    rule = rule_of(name="fedmgda+", epsilon={"first": 0.5, "power": 1.0})
    assert rule.epsilon == Annealed(first=0.5, power=1.0)


@pytest.mark.parametrize(
    ("epsilon", "sentence"),
    [
        ({"first": 1.5}, r"rule.epsilon.first must lie in \[0, 1\], got 1.5"),
        ({"power": 1.0}, "rule.epsilon needs the key 'first'"),
        ({"first": 1.0, "power": -1.0}, "rule.epsilon.power must be zero or positive, and finite"),
        ({"first": 1.0, "pwer": 1.0}, "There is no key 'rule.epsilon.pwer'; did you mean"),
    ],
)
def test_a_fall_that_cannot_be_meant_is_refused(epsilon, sentence):
    with pytest.raises(SpecError, match=sentence):
        rule_of(name="fedmgda+", epsilon=epsilon)


def test_new_tables_survive_the_way_to_toml_and_back():
    spec = spec_of(
        rule={
            "name": "fedmgda+", "epsilon": {"first": 0.5, "power": 1.0},
            "center": {"a \"quoted\" name": 1.0, "b": 2.0, "c": 3.0},
            "constraints": [{"clients": {"b": -1.0}, "at_most": -0.1}],
        }
    )  # fmt: skip
    assert resolve(parse(Spec, tomllib.loads(to_toml(spec)))) == spec


@pytest.mark.parametrize("section", ["rule", "attack"])
def test_what_is_a_users_own_is_not_imported_before_it_runs(section):
    name = "nowhere.to.be.found:thing"
    spec = spec_of(**{section: {"name": name, "options": {"a": 1}}})
    assert getattr(spec, section).name == name
    assert getattr(spec, section).options == {"a": 1}


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"rule": {"name": "m:f", "epsilon": 0.5}}, "rule.epsilon does not apply to 'm:f'; give a"),
        ({"rule": {"name": "fedavg", "options": {}}}, "rule.options does not apply to 'fedavg'"),
        ({"rule": {"name": "fedavg", "q": 1.0}}, "rule.q does not apply to 'fedavg'"),
        ({"attack": {"name": "m:f", "factor": 2.0}}, "attack.factor does not apply to 'm:f'"),
        ({"attack": {"name": "scale-loss", "options": {}}}, "attack.options does not apply"),
        ({"attack": {"name": "none", "options": {}}}, "attack.options does not apply to 'none'"),
        ({"model": {"name": "mlp", "options": {}}}, "model.options does not apply to 'mlp'"),
        ({"model": {"name": "m:f", "hidden": [3]}}, "model.hidden does not apply to 'm:f'"),
        ({"model": {"name": "cifar-cnn", "hidden": [3]}}, "leave it out or use 'mlp'"),
        ({"rule": {"name": "fedavgg"}}, "did you mean 'fedavg'"),
    ],
)
def test_what_would_be_ignored_is_refused(tables, sentence):
    with pytest.raises(SpecError, match=sentence):
        spec_of(**tables)


def test_a_rule_of_ones_own_gets_its_options_and_must_be_a_rule():
    rule = build_rule(spec_of(rule={"name": "fedmgda.rules:AFL", "options": {"gamma_w": 2.0}}))
    assert rule == AFL(gamma_w=2.0)
    for name, options, sentence in (
        (
            "fedmgda.rules:AFL",
            {"gamma": 1},
            "rule.options.gamma is no argument of",
        ),
        ("fedmgda.rules:AFL", {"gamma_w": -1}, "raised ValueError: gamma_w must be positive"),
        ("math:sqrt", {"x": 1}, "rule.options.x is no argument of 'math:sqrt'"),
        ("builtins:dict", {"x": 1}, "must give a fedmgda.Rule, got an object of type dict"),
    ):
        with pytest.raises(SpecError, match=sentence):
            build_rule(spec_of(rule={"name": name, "options": options}))
    assert build_rule(spec_of(rule={"name": "fedmgda.rules:FedAvg"})) == FedAvg()


def test_an_attack_of_ones_own_gets_its_clients_and_options():
    table = {"name": "fedmgda.attacks:ScaleLoss", "clients": [1], "options": {"factor": 3.0}}
    assert build_attack(spec_of(attack=table).attack) == ScaleLoss(clients=(1,), factor=3.0)
    with pytest.raises(SpecError, match=r"must give a fedmgda.Attack, got an object of type dict"):
        build_attack(spec_of(attack={"name": "builtins:dict"}).attack)
