"""Algorithm 5 of Clark (2011): its weights, and a front without dominated models."""

import numpy as np
from benchmarks.reproduce._clark_front import logistic_weights, search_front
from sklearn.linear_model import LogisticRegression


def test_weights_are_those_of_penalised_logistic_regression():
    rng = np.random.default_rng(0)
    design, t = rng.normal(size=(50, 3)), (rng.random(50) < 0.5).astype(float)
    alpha = np.full(3, 0.5)
    model = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(design, t)
    np.testing.assert_allclose(logistic_weights(design, t, alpha), model.coef_[0], atol=1e-4)


def test_no_model_of_the_front_is_dominated_and_those_that_predict_are_on_it():
    rng = np.random.default_rng(0)
    t = np.repeat([0.0, 1.0], 24)
    X = rng.normal(size=(48, 60))
    X[:, 4] += 2.5 * t
    found = search_front(X, t, np.random.default_rng(0))
    pairs = [(one, other) for one in found for other in found if one is not other]
    assert not any(a.area >= b.area and a.size <= b.size for a, b in pairs)
    assert max(each.area for each in found) > 0.9
    assert any(4 in each.columns for each in found)
