"""Raw units: handled, or one warning that says what to do."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import ScalingWarning
from parsimon.gp import GPClassifier, GPRegressor, SparseGPClassifier
from parsimon.rvm import RVC, RVR, ParetoRVC
from parsimon.svm import EvolutionarySVC, EvolutionarySVR, ParetoSVC, TransductiveSVC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
RAW = X * [1.0, 1e4, 1e-2]
LABELS = (X[:, 0] + 0.2 * RNG.normal(size=120) > 0).astype(int)
NUMBERS = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=120)
TRAIN, TEST = slice(0, 80), slice(80, 120)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (GPClassifier(n_restarts=0, random_state=0), LABELS),
        (SparseGPClassifier(n_inducing=15, max_iter=15, random_state=0), LABELS),
        (RVC(), LABELS),
        (GPRegressor(n_restarts=0, random_state=0), NUMBERS),
        (RVR(), NUMBERS),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_these_handle_units_themselves(model, y):
    plain = clone(model).fit(X[TRAIN], y[TRAIN]).score(X[TEST], y[TEST])
    assert model.fit(RAW[TRAIN], y[TRAIN]).score(RAW[TEST], y[TEST]) > plain - 0.05
    assert plain > 0.6


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (GPClassifier("rbf", n_restarts=0), LABELS),
        (EvolutionarySVC(random_state=0), LABELS),
        (EvolutionarySVR(random_state=0), NUMBERS),
        (ParetoSVC(n_points=8, max_iter=1, random_state=0), LABELS),
        (ParetoRVC(cv=2, max_iter=5, random_state=0), LABELS),
        (TransductiveSVC(max_iter=2, random_state=0), np.where(np.arange(120) % 2, -1, LABELS)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_these_warn_and_are_silent_after_a_scaler(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ScalingWarning)
        make_pipeline(StandardScaler(), model).fit(RAW[TRAIN], y[TRAIN])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ScalingWarning)
        model.fit(RAW[TRAIN], y[TRAIN])
    assert any("StandardScaler" in str(one.message) for one in said)


@pytest.mark.parametrize("factor", [1e-4, 1e-2, 1.0, 1e4, 1e8])
def test_a_target_in_any_units_is_fitted_when_it_is_normalised(factor):
    model = EvolutionarySVR(normalise_y=True, random_state=0).fit(X, NUMBERS)
    other = EvolutionarySVR(normalise_y=True, random_state=0).fit(X, 7 + factor * NUMBERS)
    np.testing.assert_allclose(
        other.predict(X), 7 + factor * model.predict(X), rtol=1e-3, atol=0.05 * factor
    )
    expected = other._expansion.between(X) @ other._coefficients + other.intercept_[0]
    np.testing.assert_allclose(other.predict(X), expected)


@pytest.mark.parametrize(("factor", "what"), [(1e-3, "epsilon=0.1"), (1e5, "C is too small")])
def test_a_target_far_from_epsilon_and_C_is_told(factor, what):
    with pytest.warns(ScalingWarning, match=f"{what}.*normalise_y=True"):
        EvolutionarySVR(random_state=0).fit(X, factor * NUMBERS)


def test_a_search_warns_once_though_it_solves_its_machine_again():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=80), 1e4 * rng.normal(size=80)]
    y = (X[:, 1] / 1e4 + 0.2 * rng.normal(size=80) > 0).astype(int)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ParetoSVC(random_state=0).fit(X, y).predict(X)
    assert [one.category for one in seen] == [ScalingWarning]
