import itertools
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.exceptions import ConvergenceWarning

from parsimon import _compiled
from parsimon.bpm import ClutterMean, exact_clutter
from parsimon.datasets import make_clutter
from parsimon.exceptions import InvalidInputError
from tests.contract import contract


@contract(
    ClutterMean(),
    ClutterMean(inference="adf"),
    ClutterMean(gamma=-0.5, restrict="negative"),
    ClutterMean(weight=0.1, order="random", random_state=0),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def rows(n=12, weight=0.4, d=1, seed=0):
    X, _ = make_clutter(n, weight=weight, n_features=d, random_state=seed)
    X.flags.writeable = False
    return X


def by_hand(X, weight, a=10.0, s=1.0, b=100.0, prior=0.0):
    """Return log weights, means and variances of the 2^n Gaussians of the posterior, one by one."""
    n, d = X.shape
    logs, means, variances = [], [], []
    for number in range(2**n):
        signal = np.array([number >> i & 1 for i in range(n)], dtype=bool)
        with np.errstate(divide="ignore"):
            log = signal.sum() * np.log(1 - weight) + (~signal).sum() * np.log(weight)
        log += multivariate_normal.logpdf(X[~signal], np.zeros(d), a * np.eye(d)).sum()
        rest = X[signal] - prior
        if signal.any():
            k = int(signal.sum())
            covariance = b + s * np.eye(k)
            log += sum(np.atleast_1d(multivariate_normal.logpdf(rest.T, np.zeros(k), covariance)))
        variance = 1 / (1 / b + signal.sum() / s)
        logs.append(log)
        variances.append(variance)
        means.append(prior + variance * rest.sum(axis=0) / s)
    return np.array(logs), np.array(means), np.array(variances)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_exact_posterior_is_that_of_all_assignments(d):
    X = rows(8, d=d)
    logs, means, variances = by_hand(X, 0.4, s=0.7, prior=0.5)
    exact = exact_clutter(X, 0.4, signal_variance=0.7, prior_mean=0.5)
    shares = np.exp(logs - logsumexp(logs))
    mean = shares @ means
    assert exact.log_evidence == pytest.approx(logsumexp(logs), abs=1e-10)
    np.testing.assert_allclose(exact.mean, mean, atol=1e-10)
    spread = np.einsum("i,ij,ik->jk", shares, means - mean, means - mean)
    expected = spread + np.eye(d) * (shares @ variances)
    np.testing.assert_allclose(exact.covariance, expected, atol=1e-10)


def test_the_density_of_the_exact_posterior_integrates_to_one_with_its_mean():
    exact = exact_clutter(rows(10), 0.4)

    def density(theta):
        return float(np.exp(exact.log_density([[theta]])[0]))

    points = [-10, 0, 1, 2, 3, 10]
    whole = quad(density, -60, 60, points=points, limit=500)[0]
    mean = quad(lambda theta: theta * density(theta), -60, 60, points=points, limit=500)[0]
    assert whole == pytest.approx(1.0, abs=1e-7)
    assert mean == pytest.approx(exact.mean[0], abs=1e-6)


def test_more_rows_of_several_columns_than_can_be_enumerated_are_refused():
    with pytest.raises(InvalidInputError, match=r"at most 20 rows"):
        exact_clutter(rows(21, d=2))
    with pytest.raises(InvalidInputError, match="points of quadrature"):
        exact_clutter(1e9 * rows(21))


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("x", [0.5, 4.0])
def test_one_row_has_exact_moments_and_evidence(d, x):
    X = np.full((1, d), x)
    model = ClutterMean(0.3, signal_variance=2.0, prior_variance=5.0, prior_mean=0.2).fit(X)
    exact = exact_clutter(X, 0.3, signal_variance=2.0, prior_variance=5.0, prior_mean=0.2)
    np.testing.assert_allclose(model.mean_, exact.mean, atol=1e-10)
    assert model.variance_ == pytest.approx(np.trace(exact.covariance) / d, abs=1e-10)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence, abs=1e-10)


@pytest.mark.parametrize(
    ("n", "weight", "d", "allowed"), [(18, 0.2, 1, 0.01), (18, 0.3, 2, 0.03), (200, 0.5, 1, 0.002)]
)
def test_moments_and_evidence_are_near_the_exact_ones(n, weight, d, allowed):
    for seed in range(5):
        X = rows(n, weight, d, seed)
        model, exact = ClutterMean(weight).fit(X), exact_clutter(X, weight)
        deviation = np.sqrt(np.trace(exact.covariance) / d)
        assert model.converged_
        np.testing.assert_allclose(model.mean_, exact.mean, atol=allowed * deviation)
        assert model.variance_ == pytest.approx(deviation**2, rel=2 * allowed)
        assert model.log_evidence_ == pytest.approx(exact.log_evidence, abs=allowed)


def test_without_clutter_the_posterior_is_conjugate_whatever_the_method():
    X = rows(10, 0.0, 2)
    precision = 1 / 100 + 10
    evidence = sum(
        multivariate_normal.logpdf(column, np.zeros(10), np.eye(10) + 100.0) for column in X.T
    )
    for inference in ("adf", "ep"):
        model = ClutterMean(0.0, inference=inference).fit(X)
        np.testing.assert_allclose(model.mean_, X.sum(axis=0) / precision, rtol=1e-12)
        assert model.variance_ == pytest.approx(1 / precision, rel=1e-12)
        assert model.log_evidence_ == pytest.approx(evidence, rel=1e-12)


def test_if_all_is_clutter_the_prior_stays():
    model = ClutterMean(1.0, prior_mean=3.0).fit(rows())
    assert (model.mean_[0], model.variance_) == (pytest.approx(3.0), pytest.approx(100.0))
    assert model.signal_probability_.max() == 0.0


@pytest.mark.parametrize("d", [1, 2])
def test_the_moments_are_the_gradients_of_the_evidence_by_the_prior(d):
    """At a fixed point factors may be held: only the prior moves the evidence."""
    X, b, step = rows(25, 0.4, d), 50.0, 1e-5

    def evidence(mean, variance):
        options = {"prior_mean": mean, "prior_variance": variance, "tol": 1e-11}
        return ClutterMean(0.4, **options).fit(X).log_evidence_

    model = ClutterMean(0.4, prior_mean=0.3, prior_variance=b, tol=1e-11).fit(X)
    start = np.full(d, 0.3)
    slopes = [
        (evidence(start + step * unit, b) - evidence(start - step * unit, b)) / (2 * step)
        for unit in np.eye(d)
    ]
    np.testing.assert_allclose(model.mean_, start + b * np.array(slopes), atol=1e-5)
    slope = (evidence(start, b + 1e-3) - evidence(start, b - 1e-3)) / 2e-3
    squares = d * model.variance_ + np.sum((model.mean_ - start) ** 2)
    assert slope == pytest.approx(0.5 * (squares / b**2 - d / b), abs=1e-8)


def test_the_update_of_one_row_is_that_of_gradients_of_its_log_normaliser():
    """The moments of one visit, by central differences of log Z in mean and variance."""
    X, m, v, step = np.array([[2.5, -1.0]]), np.array([0.4, 0.1]), 3.0, 1e-5

    def log_z(mean, variance):
        return ClutterMean(0.3, prior_mean=mean, prior_variance=variance).fit(X).log_evidence_

    by_mean = np.array(
        [(log_z(m + step * e, v) - log_z(m - step * e, v)) / (2 * step) for e in np.eye(2)]
    )
    by_variance = (log_z(m, v + step) - log_z(m, v - step)) / (2 * step)
    model = ClutterMean(0.3, prior_mean=m, prior_variance=v, inference="adf").fit(X)
    np.testing.assert_allclose(model.mean_, m + v * by_mean, atol=1e-8)
    expected = v - v**2 * (by_mean @ by_mean - 2 * by_variance) / 2
    assert model.variance_ == pytest.approx(expected, abs=1e-7)


def test_fixed_points_do_not_depend_on_the_order_and_one_pass_does():
    X = rows(40, 0.5)
    orders = [np.random.default_rng(seed).permutation(40) for seed in range(5)]
    found = [ClutterMean(0.5, order=order, tol=1e-9).fit(X) for order in orders]
    passes = [ClutterMean(0.5, order=order, inference="adf").fit(X) for order in orders]
    assert np.ptp([model.mean_[0] for model in found]) < 1e-7
    assert np.ptp([model.log_evidence_ for model in found]) < 1e-7
    assert np.ptp([model.mean_[0] for model in passes]) > 1e-3


def test_an_order_of_rows_is_that_of_a_table_in_this_order():
    X, order = rows(15), np.random.default_rng(1).permutation(15)
    ours = ClutterMean(inference="adf", order=order).fit(X)
    theirs = ClutterMean(inference="adf").fit(X[order])
    assert ours.mean_ == theirs.mean_
    np.testing.assert_array_equal(ours.site_precisions_[order], theirs.site_precisions_)
    drawn = ClutterMean(order="random", random_state=3).fit(X)
    assert sorted(drawn.order_) == list(range(15))
    assert list(drawn.order_) != list(range(15))
    again = ClutterMean(order="random", random_state=3).fit(X)
    np.testing.assert_array_equal(drawn.order_, again.order_)


@pytest.mark.parametrize("d", [1, 2])
def test_the_first_pass_is_the_same_for_every_gamma_and_is_assumed_density_filtering(d):
    X = rows(20, 0.5, d)
    adf = ClutterMean(inference="adf").fit(X)
    for gamma in (-1.0, 0.0, 0.7):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one = ClutterMean(gamma=gamma, max_iter=1).fit(X)
        np.testing.assert_array_equal(one.mean_, adf.mean_)
        assert one.variance_ == adf.variance_


def test_the_evidence_of_one_pass_is_the_product_of_its_normalisers():
    model = ClutterMean(inference="adf").fit(rows(30))
    assert model.log_evidence_ == pytest.approx(model.loo_log_density_.sum(), rel=1e-12)


def test_the_density_of_each_row_given_the_others_is_near_that_of_a_fit_without_it():
    X = rows(30, 0.3)
    model = ClutterMean(0.3).fit(X)
    apart = [
        ClutterMean(0.3).fit(np.delete(X, row, axis=0)).score(X[row : row + 1]) for row in range(30)
    ]
    np.testing.assert_allclose(model.loo_log_density_, apart, atol=5e-3)


def test_near_minus_one_gamma_ep_tends_to_expectation_propagation_pass_by_pass():
    X, apart = rows(20, 0.5), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        canonical = ClutterMean(max_iter=4).fit(X)
        for gamma in (-0.9, -0.99, -0.999):
            apart.append(ClutterMean(gamma=gamma, max_iter=4).fit(X).mean_ - canonical.mean_)
    for before, after in itertools.pairwise(apart):
        assert after[0] == pytest.approx(before[0] / 10, rel=0.2)


@pytest.mark.parametrize("gamma", [-0.5, 0.0, 0.3])
def test_the_mean_of_the_prior_drops_out_of_every_gamma_but_minus_one(gamma):
    """A visit adds (1 + gamma) times the gradient, so that gradients must sum to zero."""
    X, options = rows(20, 0.2), {"weight": 0.2, "prior_variance": 1.0, "max_iter": 1000}
    here, there = (
        ClutterMean(gamma=gamma, prior_mean=mean, tol=1e-9, **options).fit(X).mean_[0]
        for mean in (0.0, 5.0)
    )
    assert here == pytest.approx(there, abs=1e-6)
    canonical = [ClutterMean(prior_mean=mean, **options).fit(X).mean_[0] for mean in (0.0, 5.0)]
    assert canonical[1] > canonical[0] + 0.3


def test_canonical_factors_multiply_to_the_posterior_and_those_of_another_gamma_do_not():
    X = rows(20, 0.2)
    for gamma, holds in ((-1.0, True), (-0.5, False)):
        model = ClutterMean(0.2, gamma=gamma, max_iter=2000, prior_mean=1.0).fit(X)
        product = model.site_shifts_.sum(axis=0) + 1.0 / 100.0
        is_product = np.allclose(product * model.variance_, model.mean_, atol=1e-6)
        assert is_product == holds
        assert 1 / model.variance_ == pytest.approx(0.01 + model.site_precisions_.sum(), rel=1e-9)


def test_one_factor_of_the_figure_is_canonical_or_reused():
    """Figure 3.1 of the source: one row near 2.267 without clutter, from three priors."""
    for variance, reused in ((1.0, 1.13), (10.0, 2.06), (100.0, 2.24)):
        model = ClutterMean(0.0, prior_variance=variance).fit([[2.267]])
        assert model.site_shifts_[0, 0] / model.site_precisions_[0] == pytest.approx(2.267)
        assert model.mean_[0] == pytest.approx(reused, abs=0.005)


def test_newton_settles_what_passes_do_not_and_the_result_is_a_fixed_point():
    X = rows(20, 0.7, seed=0)
    with pytest.warns(ConvergenceWarning, match=r"still change by"):
        plain = ClutterMean(0.7, damping=0.0).fit(X)
    model = ClutterMean(0.7).fit(X)
    assert not plain.converged_
    assert plain.n_newton_steps_ == 0
    assert model.converged_
    assert model.n_newton_steps_ > 0
    assert model.change_ <= 1e-6
    shuffled = ClutterMean(0.7, order=np.arange(20)[::-1]).fit(X)
    assert shuffled.mean_[0] == pytest.approx(model.mean_[0], abs=1e-4)


def test_restricted_factors_are_not_negative_and_the_posterior_is_narrower():
    X = rows(20, 0.7, seed=1)
    free, restricted = ClutterMean(0.7).fit(X), ClutterMean(0.7, restrict="negative").fit(X)
    assert free.site_precisions_.min() < 0 < restricted.site_precisions_.min()
    assert restricted.variance_ < free.variance_


def test_each_column_may_have_its_own_gamma():
    X = rows(20, 0.2, 2)
    model = ClutterMean(0.2, gamma=[-1.0, -0.5], max_iter=1000).fit(X)
    canonical = ClutterMean(0.2).fit(X)
    assert abs(model.mean_[1] - canonical.mean_[1]) > 10 * abs(model.mean_[0] - canonical.mean_[0])


def test_new_rows_are_scored_by_the_predictive_density():
    X, new = rows(30, 0.3), rows(5, 0.3, seed=9)
    model = ClutterMean(0.3).fit(X)
    spread = np.sqrt(1 + model.variance_)
    signal = 0.7 * norm.pdf(new[:, 0], model.mean_[0], spread)
    whole = signal + 0.3 * norm.pdf(new[:, 0], 0.0, np.sqrt(10.0))
    np.testing.assert_allclose(model.score_samples(new), np.log(whole))
    np.testing.assert_allclose(model.signal_probability(new), signal / whole)
    assert model.score(new) == pytest.approx(np.log(whole).mean())


def test_clutter_far_away_neither_overflows_nor_counts():
    X = np.vstack([rows(20, 0.0), [[1e5], [-1e6]]])
    model = ClutterMean(0.1).fit(X)
    assert model.mean_[0] == pytest.approx(ClutterMean(0.1).fit(X[:20]).mean_[0], abs=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": 1.5}, "weight must be between 0 and 1, got 1.5"),
        ({"clutter_variance": 0.0}, "clutter_variance must be a positive number"),
        ({"inference": "vb"}, 'inference must be "ep" or "adf"'),
        ({"gamma": [0.0, 1.0]}, "gamma must be a number or 1 of them, got 2"),
        ({"order": [0, 1, 1]}, "order must hold each of the 12 rows once"),
        ({"damping": 1.0}, "damping must be below 1"),
        ({"restrict": "positive"}, "restrict must be"),
        ({"prior_mean": [1.0, 2.0]}, "prior_mean must be a number or 1 of them"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(options, message):
    with pytest.raises(InvalidInputError, match=message):
        ClutterMean(**options).fit(rows())


def test_a_very_wide_prior_costs_no_digits():
    X = rows(10, 0.0, 2)
    model = ClutterMean(0.0, prior_variance=1e18).fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    assert model.variance_ == pytest.approx(0.1, rel=1e-12)


def test_plain_loops_do_what_machine_code_does(monkeypatch):
    X = rows(15, 0.5, 2)
    fast = ClutterMean(gamma=-0.5, restrict="negative", max_iter=300).fit(X)
    monkeypatch.setattr(_compiled, "numba_is_installed", lambda: False)
    plain = ClutterMean(gamma=-0.5, restrict="negative", max_iter=300).fit(X)
    np.testing.assert_allclose(plain.mean_, fast.mean_, rtol=1e-9)
    assert plain.log_evidence_ == pytest.approx(fast.log_evidence_, rel=1e-9)
