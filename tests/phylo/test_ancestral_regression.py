import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import (
    PGLS,
    PhyRVM,
    ancestral_predictions,
    ancestral_states,
    brownian_traits,
    covariance,
    yule_tree,
)
from parsimon.rvm import RVR


@pytest.fixture(scope="module")
def tree():
    return yule_tree(30, random_state=2)


@pytest.fixture(scope="module")
def features(tree):
    return brownian_traits(tree, 3, root=[5.0, -3.0, 1.0], random_state=3)


@pytest.fixture(scope="module")
def target(tree, features):
    noise = brownian_traits(tree, 1, pagel_lambda=0.6, random_state=4)["trait1"]
    return 2 * features["trait1"] - features["trait3"] + 0.5 * noise


def test_a_full_tree_in_the_regression_gives_the_reconstruction_of_the_target(
    tree, features, target
):
    model = PGLS(tree, pagel_lambda=1.0).fit(features, target)
    found = ancestral_predictions(tree, model, features)
    np.testing.assert_allclose(found.mean, ancestral_states(tree, target).mean, atol=1e-9)


def test_the_line_at_the_root_and_its_uncertainty_follow_from_dense_algebra(tree, features, target):
    model = PGLS(tree, pagel_lambda=0.5).fit(features, target)
    found = ancestral_predictions(tree, model, features, prediction="marginal", level=0.9, name="y")
    inverse = np.linalg.inv(covariance(tree))
    weight = inverse.sum()
    mean = inverse.sum(axis=0) @ features.to_numpy() / weight
    left = features.to_numpy() - mean
    rates = left.T @ inverse @ left / 29
    assert found.mean[0, 0] == pytest.approx(model.intercept_ + mean @ model.coef_)
    # The root has no variance of its own around the regression line.
    own = np.append(1.0, mean) @ model._fit.inverse_gram @ np.append(1.0, mean)
    variance = model._fit.variance * own + model.coef_ @ rates @ model.coef_ / weight
    assert found.sd[0, 0] ** 2 == pytest.approx(variance)
    assert found.upper[0, 0] - found.mean[0, 0] == pytest.approx(
        t.ppf(0.95, 29) * np.sqrt(variance)
    )
    assert (found.traits, found.level, found.parameters) == (("y",), 0.9, (0.5,))


@pytest.mark.parametrize("model_class", [PGLS, PhyRVM])
def test_tips_with_data_are_what_was_seen(tree, features, target, model_class):
    model = model_class(tree).fit(features, target)
    found = ancestral_predictions(tree, model, features)
    seen = tree.tips[tree.match(features)]
    np.testing.assert_allclose(found.mean[seen, 0], target, atol=1e-7)
    np.testing.assert_allclose(found.sd[seen], 0.0, atol=1e-6)
    assert (found.sd[found.nodes] > 0).all()


def test_a_pipeline_scales_the_reconstructed_features(tree, features, target):
    pipeline = make_pipeline(StandardScaler(), PGLS(tree, pagel_lambda=0.5))
    pipeline.set_output(transform="pandas").fit(features, target)
    plain = PGLS(tree, pagel_lambda=0.5).fit(features, target)
    for kind in ("conditional", "marginal"):
        scaled = ancestral_predictions(tree, pipeline, features, prediction=kind)
        direct = ancestral_predictions(tree, plain, features, prediction=kind)
        np.testing.assert_allclose(scaled.mean, direct.mean)
        np.testing.assert_allclose(scaled.sd, direct.sd, atol=1e-6)


def test_tips_may_stand_in_a_column(tree, features, target):
    with_column = features.reset_index(names="species").rename_axis(None)
    model = PGLS(tree, tips="species").fit(with_column, target)
    by_index = PGLS(tree).fit(features, target)
    np.testing.assert_allclose(
        ancestral_predictions(tree, model, with_column).mean,
        ancestral_predictions(tree, by_index, features).mean,
    )


def test_any_regressor_predicts_at_the_reconstructed_features(tree, features, target):
    ancestors = pd.DataFrame(ancestral_states(tree, features).mean, columns=features.columns)
    line = LinearRegression().fit(features, target)
    found = ancestral_predictions(tree, line, features)
    np.testing.assert_allclose(found.mean[:, 0], line.predict(ancestors))
    np.testing.assert_allclose(found.sd[tree.tips], 0.0, atol=1e-6)
    machine = RVR().fit(features, target)
    mean, sd = machine.predict(ancestors, return_std=True)
    found = ancestral_predictions(tree, machine, features)
    np.testing.assert_allclose(found.mean[:, 0], mean)
    assert (found.sd[:, 0] >= sd - 1e-12).all()
    assert found.sd[0, 0] > sd[0]


def test_compositions_stay_compositions(tree):
    parts = np.exp(brownian_traits(tree, 4, random_state=5))
    fractions = parts.div(parts.sum(axis=1), axis=0)
    states = ancestral_states(tree, fractions)
    np.testing.assert_allclose(states.mean.sum(axis=1), 1.0)
    assert (states.mean >= 0).all()


def test_another_tree_than_that_of_the_fit_is_refused(tree, features, target):
    model = PGLS(tree).fit(features, target)
    with pytest.raises(InvalidInputError, match="fitted with another tree, of 30 tips"):
        ancestral_predictions(tree.prune([tree.tip_names[0]]), model, features[1:])


def test_one_tip_is_too_few(tree, features, target):
    model = LinearRegression().fit(features, target)
    with pytest.raises(InvalidInputError, match="at least two tips"):
        ancestral_predictions(tree, model, features[:1])
