import importlib
import pkgutil

import pytest

import fedmgda


def test_the_public_names_are_these():
    assert fedmgda.__all__ == [
        "AFL", "Aggregate", "Cohort", "FedAvg", "FedMGDA", "FederatedData", "Federation",
        "FedmgdaError", "MinNormSolution", "QFedAvg", "ServerState", "__version__", "fairness",
        "gramian", "make_rule", "min_norm", "min_norm_constrained", "run_round", "simulate",
    ]  # fmt: skip


@pytest.mark.parametrize("name", fedmgda.__all__)
def test_every_public_name_is_there(name):
    assert getattr(fedmgda, name) is not None
    assert name in dir(fedmgda)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'fedsgd'"):
        fedmgda.fedsgd  # noqa: B018


def packages():
    return [name for _, name, is_package in pkgutil.iter_modules(fedmgda.__path__) if is_package]


@pytest.mark.parametrize("name", packages())
def test_what_a_package_exports_exists(name):
    package = importlib.import_module(f"fedmgda.{name}")
    assert package.__doc__
    for exported in package.__all__:
        assert hasattr(package, exported)
