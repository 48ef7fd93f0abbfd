"""Generators made of Gaussians: moments, Bayes figures, and the sources' own numbers."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.metrics import roc_auc_score
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from parsimon.datasets import (
    load,
    make_banana,
    make_clutter,
    make_crescent,
    make_four_clusters,
    make_ripley,
    make_three_clusters,
    mixtures,
)
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


def dual(X, y):
    """Return the optimal dual objective of the linear machine with C = 1."""
    machine = SVC(C=1.0, kernel="linear", tol=1e-8).fit(X, y)
    return np.abs(machine.dual_coef_).sum() - 0.5 * float(np.sum(machine.coef_**2))


def test_the_four_points_have_the_margins_of_the_source():
    X, truth = make_four_clusters(all_labels=True)
    assert dual(X, truth) == pytest.approx(0.03125, abs=1e-6)
    left = (X[:, 0] > 0).astype(int)
    assert dual(X, left) == pytest.approx(2.0, abs=1e-6)
    for labels in ([0, 1, 0, 0], [0, 1, 1, 1]):
        assert dual(X, labels) == pytest.approx(1.5, abs=0.02)


def test_only_lower_left_and_upper_right_are_labelled():
    X, y = make_four_clusters()
    assert X[y == 0].tolist() == [[0.0, 0.0]]
    assert X[y == 1].tolist() == [[1.0, 8.0]]
    assert (y == -1).sum() == 2


def test_the_truth_of_four_clusters_is_low_or_high():
    X, truth = make_four_clusters(400, spread=0.1, all_labels=True, random_state=0)
    np.testing.assert_array_equal(truth, X[:, 1] > 4)
    X_few, y = make_four_clusters(400, spread=0.1, random_state=0)
    np.testing.assert_array_equal(X_few, X)
    assert y[:2].tolist() == truth[:2].tolist() == [0, 1]
    assert set(y[2:].tolist()) == {-1}


def test_four_clusters_spread_around_their_corners():
    X, _ = make_four_clusters(40_000, spread=0.1, random_state=0)
    corner = np.round(X / [1, 8])
    assert np.unique(corner, axis=0, return_counts=True)[1].tolist() == [10_000] * 4
    np.testing.assert_allclose((X - corner * [1, 8]).std(axis=0), 0.1, rtol=0.02)


def test_the_known_labels_alone_settle_four_clusters_unless_columns_are_scaled():
    # The source says that an inductive machine calls both other points negative. It does so
    # only after scaling, when they lie on its boundary.
    X, y = make_four_clusters()
    _, truth = make_four_clusters(all_labels=True)
    known = y >= 0
    machine = SVC(C=100.0, kernel="linear").fit(X[known], y[known])
    assert machine.predict(X).tolist() == truth.tolist()
    scaled = X / [1, 8]
    machine.fit(scaled[known], y[known])
    np.testing.assert_allclose(machine.decision_function(scaled[~known]), 0, atol=1e-6)


def test_three_clusters_have_four_labels_in_the_outer_two():
    X, y = make_three_clusters(random_state=0)
    assert (y >= 0).sum() == 4
    assert (y == -1).sum() == 146
    assert (X[y == 1, 1] > 1.5).all()
    assert (X[y == 0, 1] < -1.5).all()
    assert (y == 1).sum() == (y == 0).sum() == 2


def test_three_clusters_are_equal_and_the_middle_is_nearer_to_the_top():
    X, truth = make_three_clusters(30_000, spread=0.1, all_labels=True, random_state=0)
    top, bottom = X[:, 1] > 2, X[:, 1] < -1
    for rows, centre, label in ((top, 3.0, 1), (~top & ~bottom, 0.8, 1), (bottom, -3.0, 0)):
        assert rows.sum() == 10_000
        np.testing.assert_allclose(X[rows].mean(axis=0), [0, centre], atol=0.005)
        np.testing.assert_allclose(X[rows].std(axis=0), 0.1, rtol=0.03)
        assert set(truth[rows].tolist()) == {label}


def test_a_boundary_halfway_between_the_labels_cuts_the_middle_cluster():
    X, truth = make_three_clusters(30_000, all_labels=True, random_state=0)
    assert X[:, 0].std() == pytest.approx(0.4, rel=0.02)
    # P(N(0.8, 0.4^2) < 0) = 2.3 % of the middle cluster, which is half of class 1.
    assert np.mean(X[truth == 1, 1] < 0) == pytest.approx(0.0228 / 2, abs=0.003)


def test_spreading_labels_through_the_gaps_finds_the_truth():
    X, y = make_three_clusters(random_state=0)
    _, truth = make_three_clusters(all_labels=True, random_state=0)
    spread = LabelSpreading(kernel="rbf", gamma=2.0, max_iter=1000).fit(X, y)
    assert np.mean(spread.transduction_ == truth) > 0.95


@pytest.mark.parametrize("n_labelled", [2, 7, 20])
def test_the_number_of_labels_can_be_chosen(n_labelled):
    X, y = make_three_clusters(60, n_labelled=n_labelled, random_state=0)
    assert (y[:n_labelled] >= 0).all()
    assert (y[n_labelled:] == -1).all()
    assert (y == 1).sum() - (y == 0).sum() in (0, 1)
    assert (np.abs(X[:n_labelled, 1]) > 1.5).all()


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        (lambda: make_four_clusters(3), "n must be an integer of at least 4, got 3"),
        (lambda: make_four_clusters(spread=-1), "spread must be 0 or more, got -1"),
        (lambda: make_three_clusters(9, n_labelled=7), "n_labelled is 7, but .* only 6 of the 9"),
        (lambda: make_three_clusters(n_labelled=1), "n_labelled must be .* at least 2, got 1"),
    ],
)
def test_impossible_requests_are_refused(make, pattern):
    with pytest.raises(InvalidInputError, match=pattern):
        make()
