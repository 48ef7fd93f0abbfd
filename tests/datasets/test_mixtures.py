"""Generators made of Gaussians: moments, Bayes figures, and the sources' own numbers."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from parsimon.datasets import load, make_banana, make_clutter, make_crescent, make_ripley, mixtures
from parsimon.exceptions import InvalidInputError

MANY = 200_000


def test_ripley_classes_have_the_moments_of_their_centres():
    X, y = make_ripley(MANY, random_state=0)
    assert (y == 0).sum() == (y == 1).sum()
    for label, mean, half_distance in ((0, (-0.2, 0.3), 0.5), (1, (0.05, 0.7), 0.35)):
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), mean, atol=0.006)
        expected = np.diag([0.03 + half_distance**2, 0.03])
        np.testing.assert_allclose(np.cov(rows.T), expected, atol=0.002)


def test_ripley_has_two_gaussians_in_each_class():
    X, y = make_ripley(MANY, random_state=0)
    # Between the centres lies a dip that one Gaussian would not have.
    for label, left, right in ((0, -0.7, 0.3), (1, -0.3, 0.4)):
        first, gaussians = X[y == label, 0], norm([left, right], np.sqrt(0.03))
        for place in (left, (left + right) / 2, right):
            share = np.mean(gaussians.cdf(place + 0.1) - gaussians.cdf(place - 0.1))
            error = np.sqrt(share * (1 - share) / len(first))
            assert np.mean(np.abs(first - place) < 0.1) == pytest.approx(share, abs=4 * error)


def test_ripley_best_area_is_the_published_one():
    X, y = make_ripley(MANY, random_state=1)
    zero = sum(multivariate_normal(c, 0.03).pdf(X) for c in ((-0.7, 0.3), (0.3, 0.3)))
    one = sum(multivariate_normal(c, 0.03).pdf(X) for c in ((-0.3, 0.7), (0.4, 0.7)))
    # The population value is 0.9719 (quadrature); its standard deviation at 25000 rows is 0.0008.
    assert roc_auc_score(y, one / zero) == pytest.approx(0.9719, abs=0.001)


@pytest.mark.parametrize(
    ("arrangement", "tilts"), [("right_angle", (0.0, 0.0)), ("parallel", (4.0, -4.0))]
)
def test_crescent_classes_have_the_moments_of_their_gaussians(arrangement, tilts):
    X, y = make_crescent(MANY, arrangement=arrangement, random_state=0)
    for label, mean in ((0, (-2.0, -4.0)), (1, (2.0, 4.0))):
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), mean, atol=0.04)
        # Within a Gaussian 5 on the diagonal and 4 beside it, up or down; centres 4 apart in x1.
        expected = [[9.0, tilts[label]], [tilts[label], 5.0]]
        np.testing.assert_allclose(np.cov(rows.T), expected, atol=0.12)


def test_crescent_is_a_roof_over_a_valley():
    X, y = make_crescent(MANY, random_state=0)
    for label, middle, direction in ((1, 2.0, -1), (0, -2.0, 1)):
        rows = X[y == label]
        bend = np.corrcoef(np.abs(rows[:, 0] - middle), rows[:, 1])[0, 1]
        assert bend * direction > 0.4


def test_crescent_gaussians_are_3_long_and_1_wide():
    X, y = make_crescent(MANY, arrangement="parallel", random_state=0)
    # Along x1 + x2 class 1 has centres 8 and 4 and variance 2 around them; along x1 - x2 it has
    # centres 0 and -4 and variance 18.
    across, along = X[y == 1].sum(axis=1), X[y == 1] @ [1.0, -1.0]
    assert across.var() == pytest.approx(2 + 4, rel=0.02)
    assert along.var() == pytest.approx(18 + 4, rel=0.02)


def test_crescent_refuses_another_arrangement():
    with pytest.raises(InvalidInputError, match="'right_angle' or 'parallel', got 'bent'"):
        make_crescent(arrangement="bent")


def test_banana_has_the_moments_of_its_parts():
    X, y = make_banana(MANY, random_state=0)
    assert y.mean() == pytest.approx(0.448, abs=0.004)
    for label in (0, 1):
        weight, centres, covariances = banana_class(label)
        assert weight.sum() == pytest.approx(1.0)
        mean = weight @ centres
        apart = centres - mean
        expected = np.einsum("k,kij->ij", weight, covariances) + (weight * apart.T) @ apart
        np.testing.assert_allclose(X[y == label].mean(axis=0), mean, atol=0.015)
        np.testing.assert_allclose(np.cov(X[y == label].T), expected, atol=0.015)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=0.02)


def test_banana_best_error_is_the_documented_one():
    X, y = make_banana(MANY, random_state=0)
    densities = [
        share * sum(w * multivariate_normal(c, v).pdf(X) for w, c, v in zip(*parts, strict=True))
        for share, parts in ((0.552, banana_class(0)), (0.448, banana_class(1)))
    ]
    assert np.mean((densities[1] > densities[0]) != y) == pytest.approx(0.101, abs=0.002)


def banana_class(label):
    rows = mixtures._BANANA_PARTS[label == mixtures._BANANA_CLASS]
    covariances = [[[v1, c], [c, v2]] for v1, v2, c in rows[:, 3:]]
    return rows[:, 0], rows[:, 1:3], np.array(covariances)


def test_a_machine_trained_on_our_banana_knows_the_benchmark(data_folder, monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", str(data_folder))
    real = load("raetsch_banana")
    X, y = real.data.to_numpy(), (real.target == 1).to_numpy()
    assert make_banana(MANY, random_state=0)[1].mean() == pytest.approx(y.mean(), abs=0.004)
    ours, theirs = [], []
    for seed, (train, test) in enumerate(real.splits[:5]):
        # The parameters with which the benchmark reports 11.5 % error.
        machine = SVC(C=316.2, gamma=1.0)
        theirs.append(np.mean(machine.fit(X[train], y[train]).predict(X[test]) != y[test]))
        ours.append(np.mean(machine.fit(*make_banana(400, random_state=seed)).predict(X) != y))
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.015)


@pytest.mark.parametrize(
    ("weight", "variance", "theta"), [(0.2, 10, 2), (0.7, 10, 2), (0.5, 4, -1)]
)
def test_clutter_mixture_has_the_moments_of_equation_3_1(weight, variance, theta):
    X, y = make_clutter(MANY, weight=weight, clutter_variance=variance, theta=theta, random_state=0)
    assert X.shape == (MANY, 1)
    assert y.mean() == pytest.approx(weight, abs=0.005)
    signal, clutter = X[y == 0], X[y == 1]
    assert signal.mean() == pytest.approx(theta, abs=0.02)
    assert signal.var() == pytest.approx(1, rel=0.03)
    assert clutter.mean() == pytest.approx(0, abs=0.06)
    assert clutter.var() == pytest.approx(variance, rel=0.03)


def test_clutter_defaults_are_those_of_the_source():
    X, y = make_clutter(MANY, random_state=0)
    assert X[y == 0].mean() == pytest.approx(2, abs=0.02)
    assert X[y == 1].var() == pytest.approx(10, rel=0.03)


@pytest.mark.parametrize("weight", [0.1, 0.2, 0.8])
def test_clutter_weighted_sum_is_one_gaussian(weight):
    X, y = make_clutter(MANY, kind="weighted_sum", weight=weight, random_state=0)
    assert set(y.tolist()) == {-1}
    # 2 (1 - w) is the row of means that Fearn (2021), table 3.3, prints: 1.8, ..., 1.5.
    deviation = np.hypot(1 - weight, 10 * weight)
    assert X.mean() == pytest.approx(2 * (1 - weight), abs=5 * deviation / np.sqrt(MANY))
    assert X.std() == pytest.approx(deviation, rel=0.01)
    assert abs(np.mean((X - X.mean()) ** 4) / X.var() ** 2 - 3) < 0.1


def test_clutter_weighted_sum_takes_a_variance_too():
    X, _ = make_clutter(MANY, kind="weighted_sum", weight=0.5, clutter_variance=3.0, random_state=0)
    assert X.var() == pytest.approx(0.25 * 1 + 0.25 * 3, rel=0.02)


def test_clutter_in_several_columns_shares_the_component():
    X, y = make_clutter(MANY, weight=0.5, n_features=3, random_state=0)
    assert X.shape == (MANY, 3)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), 2, atol=0.03)
    np.testing.assert_allclose(np.cov(X[y == 1].T), 10 * np.eye(3), atol=0.25)


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"weight": 1.5}, "weight must be between 0 and 1, got 1.5"),
        ({"weight": float("nan")}, "weight must be between 0 and 1, got nan"),
        ({"kind": "sum"}, "kind must be 'mixture' or 'weighted_sum', got 'sum'"),
        ({"clutter_variance": 0.0}, "clutter_variance must be above 0, got 0.0"),
        ({"n_features": 0}, "n_features must be an integer of at least 1, got 0"),
    ],
)
def test_clutter_refuses_options_outside_their_range(options, pattern):
    with pytest.raises(InvalidInputError, match=pattern):
        make_clutter(10, **options)
