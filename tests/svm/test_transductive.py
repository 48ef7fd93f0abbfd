"""`TransductiveSVC`: the toy sets of the source, its options, and hard cases."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.svm import SVC

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import SquaredExponential
from parsimon.svm.transductive import TransductiveSVC
from tests.svm.transduction_problems import four_clusters, three_clusters


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(60, centers=[[-4.0, 0.0], [4.0, 0.5]], random_state=3)
    X.flags.writeable = False
    known = np.full(60, -1)
    known[:8] = y[:8]
    return X, known, y


def test_two_moons_need_seven_labels():
    errors = []
    for seed in range(3):
        X, truth = make_moons(200, noise=0.07, random_state=seed)
        y = np.full(200, -1)
        y[:7] = truth[:7]
        model = TransductiveSVC(gamma=5.0, stall=2, random_state=seed).fit(X, y)
        errors.append((model.transduction_ != truth).mean())
        plain = SVC(gamma=5.0).fit(X[:7], truth[:7])
        assert (plain.predict(X) != truth).mean() > 0.03
    assert np.median(errors) <= 0.01


def test_four_clusters_are_split_horizontally_and_the_printed_problem_splits_vertically():
    X, y, shown = four_clusters()
    options = {"C": 1.0, "kernel": "linear", "positive_ratio": None}
    model = TransductiveSVC(**options).fit(X, y)
    assert model.transduction_.tolist() == shown.tolist()
    assert model.objective_ == pytest.approx(0.03125)
    direction = (model.dual_coef_ @ model.support_vectors_)[0]
    np.testing.assert_allclose(direction, [0.0, 0.25], atol=1e-6)
    printed = TransductiveSVC(**options, method="joint").fit(X, y)
    assert printed.objective_ == pytest.approx(2.0)
    assert printed.transduction_.tolist() == [0, 1, 1, 0]
    plain = SVC(kernel="linear").fit(X[:2], y[:2])
    assert abs(plain.coef_[0, 0]) > 0.01


def test_three_clusters_are_cut_between_the_middle_and_the_bottom_one():
    X, y, heaps = three_clusters()
    model = TransductiveSVC(kernel="linear", stall=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.transduction_ == 1, heaps > 0)
    middle, bottom = (model.decision_function(X[heaps == heap]) for heap in (1, 0))
    assert middle.min() > 0.9
    assert bottom.max() < -0.9
    labelled = y >= 0
    plain = SVC(kernel="linear").fit(X[labelled], y[labelled]).decision_function(X[heaps == 1])
    assert plain.min() < 0.2


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_without_unlabelled_rows_it_is_the_plain_machine(blobs, kernel):
    X, _, y = blobs
    options = {"kernel": kernel, "C": 0.5, "gamma": 0.3, "degree": 2, "coef0": 1.0}
    model, plain = TransductiveSVC(**options).fit(X, y), SVC(**options).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.sort(plain.support_))
    order = np.argsort(plain.support_)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_[:, order], atol=1e-8)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-6
    )
    np.testing.assert_array_equal(model.transduction_, y)
    np.testing.assert_array_equal(model.n_support_, plain.n_support_)


def test_no_labels_at_all_are_sent_elsewhere(blobs):
    with pytest.raises(InvalidInputError, match="ParetoTransductiveSVC, which then finds two"):
        TransductiveSVC().fit(blobs[0], np.full(60, -1))


def test_one_labelled_class_is_refused(blobs):
    X, y, _ = blobs
    with pytest.raises(InvalidInputError, match="got one class: 1"):
        TransductiveSVC().fit(X, np.where(y == 0, -1, y))


def test_texts_and_numbers_give_the_same_machine(blobs):
    X, y, truth = blobs
    names = np.array(["no", "yes"], dtype=object)
    texts = np.where(y < 0, None, names[y])
    model = TransductiveSVC(stall=2, random_state=0).fit(X, texts)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.transduction_ == "yes", truth == 1)
    numbers = TransductiveSVC(stall=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), numbers.decision_function(X))


def test_duplicated_rows_and_a_singular_kernel(blobs):
    X, y, truth = blobs
    twice = TransductiveSVC(kernel="linear", stall=2, random_state=0).fit(
        np.concatenate([X, X]), np.concatenate([y, y])
    )
    np.testing.assert_array_equal(twice.transduction_, np.concatenate([truth, truth]))
    assert np.isfinite(twice.decision_function(X)).all()
    # Every row alike: nothing can be told apart, and nothing breaks.
    alike = TransductiveSVC(stall=2, random_state=0).fit(np.ones((30, 2)), y[:30])
    assert set(alike.transduction_) <= {0, 1}


def test_precomputed_kernels_kernel_values_and_callables_agree(blobs):
    X, y, _ = blobs
    named = TransductiveSVC(gamma=0.5, stall=2, random_state=0).fit(X, y)
    kernel = SquaredExponential(lengthscale=1.0)
    K = kernel.gram(X)
    given = TransductiveSVC(kernel=kernel, stall=2, random_state=0).fit(X, y)
    computed = TransductiveSVC(kernel="precomputed", stall=2, random_state=0).fit(K, y)
    called = TransductiveSVC(kernel=kernel.gram, stall=2, random_state=0).fit(X, y)
    for model, rows in ((given, X), (computed, K), (called, X)):
        np.testing.assert_allclose(
            model.decision_function(rows), named.decision_function(X), atol=1e-6
        )


def test_three_classes_go_one_against_the_rest_in_any_number_of_processes():
    X, truth = make_blobs(90, centers=[[-4, 0], [4, 0], [0, 6]], random_state=0)
    y = np.full(90, -1)
    y[:12] = truth[:12]
    options = {"C": 5.0, "stall": 1, "max_iter": 2, "random_state": 0}
    model = TransductiveSVC(**options).fit(X, y)
    assert model.decision_function(X).shape == (90, 3)
    assert model.objective_.shape == (3,)
    assert (model.transduction_ == truth).mean() > 0.97
    parallel = TransductiveSVC(**options, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(parallel.dual_coef_, model.dual_coef_)


def test_three_classes_without_unlabelled_rows_are_plain_machines():
    X, y = load_iris(return_X_y=True)
    model = TransductiveSVC().fit(X, y)
    for code in range(3):
        plain = SVC().fit(X, y == code)
        np.testing.assert_allclose(
            model.decision_function(X)[:, code], plain.decision_function(X), atol=1e-6
        )


def test_same_seed_same_bits(blobs):
    X, y, _ = blobs
    rng = np.random.default_rng(0)
    X = X + rng.normal(size=X.shape)
    first, second = (TransductiveSVC(gamma=2.0, stall=2, random_state=5).fit(X, y) for _ in "ab")
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    np.testing.assert_array_equal(first.transduction_, second.transduction_)


def test_the_class_ratio_is_kept(blobs):
    X, y, _ = blobs
    for ratio, count in ((0.25, 13), (0.75, 39)):
        model = TransductiveSVC(positive_ratio=ratio, stall=1, random_state=0).fit(X, y)
        assert (model.transduction_[8:] == 1).sum() == count
    model = TransductiveSVC(positive_ratio=(0.1, 0.2), stall=1, random_state=0).fit(X, y)
    assert 6 <= (model.transduction_[8:] == 1).sum() <= 10
    with pytest.raises(InvalidInputError, match="positive_ratio must be"):
        TransductiveSVC(positive_ratio="half").fit(X, y)


def test_costs(blobs):
    X, y, _ = blobs
    X = X + 3.0 * np.random.default_rng(1).normal(size=X.shape)
    # A wrong label wants a multiplier as large as it may have.
    y = np.where(np.arange(60) == 0, 1 - y[0], y)
    model = TransductiveSVC(C=3.0, C_unlabelled=0.2, stall=1, random_state=0).fit(X, y)
    sizes = np.zeros(60)
    sizes[model.support_] = np.abs(model.dual_coef_[0])
    assert sizes[8:].max() == pytest.approx(0.2)
    assert 0.2 < sizes[:8].max() <= 3.0
    heuristic = TransductiveSVC(C="heuristic", kernel="linear", stall=1, random_state=0).fit(X, y)
    trace = (X**2).sum()
    assert np.abs(heuristic.dual_coef_).max() == pytest.approx(60 / trace, rel=1e-6)
    for option, value in (("C", 0.0), ("C_unlabelled", -1.0), ("C", "much")):
        with pytest.raises(InvalidInputError, match=f"{option} must be a positive number"):
            TransductiveSVC(**{option: value}).fit(X, y)


def test_weights_of_rows_and_classes(blobs):
    X, y, _ = blobs
    weights = np.ones(60)
    weights[40:] = 0.0
    model = TransductiveSVC(gamma=0.5, stall=1, random_state=0).fit(X, y, sample_weight=weights)
    fewer = TransductiveSVC(gamma=0.5, stall=1, random_state=0).fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.dual_coef_, fewer.dual_coef_)
    assert len(model.transduction_) == 60
    np.testing.assert_array_equal(model.transduction_[40:], model.predict(X[40:]))
    rng = np.random.default_rng(1)
    X, truth = X + 3.0 * rng.normal(size=X.shape), blobs[2]
    for class_weight in ({1: 5.0}, "balanced"):
        ours = TransductiveSVC(class_weight=class_weight, gamma=0.5).fit(X, truth)
        plain = SVC(class_weight=class_weight, gamma=0.5).fit(X, truth)
        np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=1e-6)
    weights = rng.uniform(0.5, 2.0, 60)
    ours = TransductiveSVC(gamma=0.5).fit(X, truth, sample_weight=weights)
    assert np.abs(ours.dual_coef_[0]).max() > 1.0
    assert (np.abs(ours.dual_coef_[0]) <= weights[ours.support_] + 1e-12).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "best"}, "method must be"),
        ({"population_size": 1}, "population_size must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"stall": 0}, "stall must be"),
        ({"time_limit": -1.0}, "time_limit must be"),
        ({"method": "exhaustive"}, "at most 24 unlabelled rows"),
    ],
)
def test_odd_options_are_refused(blobs, options, match):
    with pytest.raises(InvalidInputError, match=match):
        TransductiveSVC(**options).fit(*blobs[:2])


def test_how_it_ended(blobs):
    X, y, _ = blobs

    def ended(**options):
        return TransductiveSVC(random_state=0, **options).fit(X, y).stopped_by_

    assert ended(stall=1) == "stall"
    assert ended(max_iter=1, stall=5) == "max_iter"
    assert ended(time_limit=1e-6) == "time_limit"
    assert ended(method="greedy") == "converged"
    assert ended(method="greedy", time_limit=1e-6) == "time_limit"
    assert ended(method="joint", max_iter=2, stall=9, population_size=4) == "max_iter"
    assert TransductiveSVC().fit(X[:12], y[:12]).stopped_by_ == "exact"
