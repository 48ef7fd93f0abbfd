"""Forms of gamma-EP of Fearn (2021): gammas that are chosen, multipliers, printed evidence."""

import warnings

import numpy as np
import pytest
from benchmarks.reproduce._fearn_clutter_forms import ClutterForms
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from tests.bpm.test_clutter import rows

from parsimon.bpm import ClutterMean, exact_clutter


def test_the_printed_evidence_is_what_is_printed():
    """Formula (3.45), evaluated from the attributes of a fit at which its parts agree."""
    X = rows(12, 0.1)
    options = {"restrict": "none", "damping": 0.0, "tol": 1e-10}
    printed = ClutterForms(0.1, evidence="printed", **options).fit(X)
    assert (printed.site_precisions_ > 0).all()
    v, m, v_i = printed.variance_, printed.mean_[0], 1 / printed.site_precisions_
    hole = 1 / (1 / v - 1 / v_i)
    hole_mean = hole * (m / v - printed.site_shifts_[:, 0])
    slope = printed.signal_probability_ * (X[:, 0] - hole_mean) / (hole + 1)
    s = np.exp(printed.loo_log_density_) / np.sqrt(2 * np.pi * v_i)
    s /= norm.pdf(m, hole_mean - v_i * slope, np.sqrt(v_i + hole))
    exponent = m**2 / v - np.sum(m**2 / v_i)
    expected = 0.5 * np.log(2 * np.pi * v) + exponent / 2
    expected += np.sum(np.log(s) - 0.5 * np.log(2 * np.pi * v_i))
    assert printed.log_evidence_ == pytest.approx(expected, abs=1e-6)
    exact = exact_clutter(X, 0.1).log_evidence
    assert abs(printed.log_evidence_ - exact) > 5
    assert ClutterMean(0.1, **options).fit(X).log_evidence_ == pytest.approx(exact, abs=0.01)


def test_multipliers_stay_at_one_if_clipped_and_grow_if_free():
    X = rows(20, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clipped = ClutterForms(0.2, gamma=0.3, multipliers="clipped").fit(X)
        plain = ClutterMean(0.2, gamma=0.3).fit(X)
        free = ClutterForms(0.2, gamma=0.3, multipliers="free", max_iter=5).fit(X)
    np.testing.assert_array_equal(clipped.multipliers_, 1.0)
    assert clipped.mean_ == plain.mean_
    assert free.multipliers_.min() > 1.0


def test_gamma_is_chosen_by_evidence_or_by_rows_left_out():
    X = rows(30, 0.2)
    grid = np.linspace(-1.0, 1.0, 41)
    for chosen, height in (
        ("evidence", lambda model: model.log_evidence_),
        ("loo", lambda model: model.loo_log_density_.sum()),
    ):
        best = ClutterForms(0.2, gamma=chosen, max_iter=300).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            tried = [ClutterMean(0.2, gamma=gamma, max_iter=300).fit(X) for gamma in grid]
        assert best.converged_
        assert height(best) >= height(ClutterMean(0.2).fit(X)) - 1e-9
        # Brent's method may end in a local maximum.
        assert height(best) >= np.median([height(one) for one in tried if one.converged_])


def test_each_column_may_have_its_own_chosen_gamma():
    X = rows(20, 0.2, 2)
    shared = ClutterForms(0.2, gamma="loo").fit(X)
    own = ClutterForms(0.2, gamma="loo", gamma_per_column=True).fit(X)
    assert np.ptp(shared.gamma_) == 0
    assert own.loo_log_density_.sum() >= shared.loo_log_density_.sum() - 1e-6
