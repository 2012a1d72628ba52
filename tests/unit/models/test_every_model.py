from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from fedmgda.clients._objective import batch_loss
from fedmgda.models import FlatModel, initial_vector, layout_of
from fedmgda.values import named_arrays
from unit.models._paper import CASES, Case


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def test_the_number_of_parameters_is_that_of_the_paper(case: Case) -> None:
    model = FlatModel(case.build())
    assert (model.num_params, model.num_buffers) == (case.num_params, 0)


def test_the_output_has_a_finite_score_for_each_class_and_example(case: Case) -> None:
    with torch.no_grad():
        output = case.build().eval()(case.features(3))
    assert output.shape == (3, case.num_outputs)
    assert output.isfinite().all()


def test_scores_are_logits_rather_than_probabilities(case: Case) -> None:
    module = case.build().eval()
    features = case.features(3)
    with torch.no_grad():
        before = module(features)
        list(module.parameters())[-1].add_(5.0)
        torch.testing.assert_close(module(features), before + 5.0)


def test_an_example_is_scored_by_itself(case: Case) -> None:
    module, features = case.build().eval(), case.features(4)
    with torch.no_grad():
        alone = torch.cat([module(features[i : i + 1]) for i in range(4)])
        torch.testing.assert_close(module(features), alone)


def test_the_flat_gradient_is_that_of_a_plain_module(case: Case) -> None:
    model, plain = FlatModel(case.build()), case.build()
    plain.load_state_dict(model.module.state_dict())
    features, targets = case.features(4), case.targets(4)
    for module in (model.module, plain):
        torch.manual_seed(1)  # the same dropout for both
        batch_loss(module.train()(features), targets).backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in plain.parameters()])
    assert expected.any()
    torch.testing.assert_close(model.grad, expected, rtol=1e-4, atol=1e-7)


def test_every_layer_learns(case: Case) -> None:
    model = FlatModel(case.build())
    batch_loss(model.module.train()(case.features(8)), case.targets(8)).backward()
    for name, parameter in model.module.named_parameters():
        assert parameter.grad.any(), name


def test_the_initial_model_is_a_function_of_the_seed(case: Case) -> None:
    first = initial_vector(case.build, 3)
    np.testing.assert_array_equal(first, initial_vector(case.build, 3))
    assert not np.array_equal(first, initial_vector(case.build, 4))
    assert np.isfinite(first).all()


def test_the_model_on_disk_is_the_model(case: Case) -> None:
    vector = initial_vector(case.build, 3)
    arrays = named_arrays(layout_of(case.build), vector)
    np.testing.assert_array_equal(np.concatenate([a.ravel() for a in arrays.values()]), vector)


def test_the_factory_reaches_another_process(case: Case) -> None:
    build = pickle.loads(pickle.dumps(case.build))  # noqa: S301 - made on this line
    assert FlatModel(build()).num_params == case.num_params
