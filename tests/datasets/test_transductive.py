"""Few labels: which rows carry one, where the clusters lie, what the gaps say."""

import numpy as np
import pytest
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from parsimon.datasets import make_four_clusters, make_three_clusters
from parsimon.exceptions import InvalidInputError


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
