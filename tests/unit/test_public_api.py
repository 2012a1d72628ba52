import ast
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import pytest

import fedmgda

PUBLIC = """
AFL Aggregate Annealed Attack Audit ClientPool ClientResult Clients Cohort ConeSolution Constant
Constraint DataError DenseUpdates Evaluation EvaluationRow Failure Fairness FedAvg FedMGDA
FederatedData Federation FederationStalledError FedmgdaError FileUpdates Finding Harmonic History
LocalTraining LockedError MedianNorm MinNormSolution MissingDependencyError PaperDecay QFedAvg
RoundRecord RoundRow Rule Run ServerState SpecError StoreError Summary Training UniformSampler
Updates Weighing ZeroUpdateError __version__ aggregate dirichlet_partition fairness federate
gramian iid_partition improved_participants initial_state label_quantity_partition make_rule
min_norm min_norm_constrained natural_partition nearest_in_cone open_run pareto_residual
quantity_skew_partition run_round shard_partition simulate train under_attack verify
"""


def test_the_public_names_are_these():
    assert sorted(fedmgda.__all__) == PUBLIC.split()


def test_importing_the_package_loads_nothing_else():
    command = "import sys, fedmgda; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert not {"numpy", "torch", "numba", "typer", "matplotlib"} & set(ast.literal_eval(loaded))


def test_the_version_is_that_of_the_package():
    assert fedmgda.__version__ == version("fedmgda")


@pytest.mark.parametrize("name", fedmgda.__all__)
def test_every_public_name_is_there(name):
    assert getattr(fedmgda, name) is not None
    assert name in dir(fedmgda)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'fedsgd'"):
        fedmgda.fedsgd  # noqa: B018


def packages():
    left_out = () if find_spec("flwr") else ("flower",)
    found = pkgutil.iter_modules(fedmgda.__path__)
    return [name for _, name, is_package in found if is_package and name not in left_out]


@pytest.mark.parametrize("name", packages())
def test_what_a_package_exports_exists(name):
    package = importlib.import_module(f"fedmgda.{name}")
    assert package.__doc__
    if name == "flower" and importlib.util.find_spec("flwr") is None:
        with pytest.raises(
            fedmgda.MissingDependencyError, match=r"pip install 'fedmgda\[flower\]'"
        ):
            package.FedMGDAPlus  # noqa: B018
        return
    for exported in package.__all__:
        assert hasattr(package, exported)
