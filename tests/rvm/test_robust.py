"""Cases in which other relevance vector machines fall over; each must predict sensibly.

Every warning is an error here, so that a division by zero or a singular matrix fails a test.
"""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris, make_classification

from parsimon.kernels import Epanechnikov, MultiResolution
from parsimon.rvm import RVC, RVR

ALGORITHMS = ["fast", "em", "variational"]
each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def width_for(algorithm):
    """Leave the width open for one algorithm: whatever was asked for, it is that which chooses."""
    return {"algorithm": algorithm, "gamma": None if algorithm == "fast" else "scale"}


@pytest.fixture(scope="module")
def blobs():
    """Two overlapping groups in two columns."""
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) + 2.5 * y[:, None]
    X.flags.writeable = False
    return X, y


def check_classifier(model, X, y, *, least):
    probability = model.predict_proba(X)
    assert np.isfinite(probability).all()
    assert ((probability >= 0) & (probability <= 1)).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(model.latent(X, return_std=True)).all()
    assert np.isfinite(model.log_evidence_)
    assert model.score(X, y) >= least


@each_algorithm
def test_duplicated_rows(blobs, algorithm):
    X, y = blobs
    repeated = np.tile(X, (4, 1)), np.tile(y, 4)
    model = RVC(**width_for(algorithm)).fit(*repeated)
    check_classifier(model, X, y, least=0.9)
    assert len(np.unique(model.relevance_vectors_, axis=0)) == len(model.relevance_)


def test_the_same_row_in_both_classes():
    X, y = np.zeros((12, 2)), np.array([0, 1, 0] + 9 * [1])
    model = RVC().fit(X, y)
    check_classifier(model, X, y, least=0.8)
    assert 0.6 < model.predict_proba(X)[0, 1] < 0.9


@each_algorithm
def test_identical_columns(blobs, algorithm):
    X, y = blobs
    model = RVC("features", algorithm=algorithm).fit(np.tile(X, 5), y)
    check_classifier(model, np.tile(X, 5), y, least=0.9)


@each_algorithm
def test_separable_classes(algorithm):
    X = np.concatenate([np.linspace(0, 1, 15), np.linspace(9, 10, 15)])[:, None]
    y = np.repeat(["low", "high"], 15)
    for kernel in ("rbf", "features"):
        model = RVC(kernel, **width_for(algorithm)).fit(X, y)
        check_classifier(model, X, y, least=1.0)


def test_one_relevance_vector():
    X = np.concatenate([np.zeros(20), np.linspace(8, 12, 20)])[:, None]
    y = np.repeat([0, 1], 20)
    model = RVC(gamma=0.1, bias=False).fit(X, y)
    check_classifier(model, X, y, least=0.5)
    alone = RVC(gamma=0.1, bias=False, centres=[[10.0]]).fit(X, y)
    assert alone.relevance_.tolist() == [0]
    assert alone.relevance_vectors_.shape == (1, 1)
    assert alone.coef_.shape == (1,)
    assert alone.predict([[10.0]]) == [1]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("multi_class", ["one_vs_rest", "multinomial"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_relevance_vector_at_all(bias, multi_class, n_classes):
    # A column that says nothing: every class is equally frequent at each of its values.
    X = np.repeat(np.arange(6.0), n_classes)[:, None]
    y = np.tile(np.arange(n_classes), 6)
    model = RVC(bias=bias, multi_class=multi_class).fit(X, y)
    assert model.predict(X).shape == (6 * n_classes,)
    assert np.isfinite(model.log_evidence_)
    if n_classes == 3 and multi_class == "one_vs_rest" and not bias:
        # One class against two is not even, and only functions can say so without a bias.
        np.testing.assert_allclose(model.predict_proba(X), 1 / 3, atol=0.1)
        return
    assert len(model.relevance_) == 0
    assert model.relevance_vectors_.shape == (0, 1)
    assert model.coef_.size == 0
    # The average of a softmax is by a fixed set of points, to about 0.001.
    tol = 1e-3 if n_classes == 3 and multi_class == "multinomial" else 1e-6
    np.testing.assert_allclose(model.predict_proba(X), 1 / n_classes, atol=tol)


def test_no_relevance_vector_leaves_the_share_of_the_classes():
    X, y = np.zeros((10, 1)), np.array([0, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    model = RVC("features").fit(X, y)
    assert len(model.relevance_) == 0
    assert 0.7 < model.predict_proba([[3.0]])[0, 1] < 0.95
    regressor = RVR("features").fit(X, y)
    assert regressor.predict([[3.0]])[0] == pytest.approx(0.9)


@each_algorithm
def test_two_rows(algorithm):
    model = RVC(algorithm=algorithm).fit([[0.0], [1.0]], ["a", "b"])
    assert np.isfinite(model.predict_proba([[0.0], [1.0], [9.0]])).all()
    regressor = RVR(algorithm=algorithm).fit([[0.0], [1.0]], [2.0, 4.0])
    mean, sd = regressor.predict([[0.0], [1.0], [9.0]], return_std=True)
    assert np.isfinite([mean, sd]).all()
    assert ((mean > 1.9) & (mean < 4.1)).all()


def test_one_row_of_regression():
    model = RVR().fit([[1.0]], [5.0])
    mean, sd = model.predict([[1.0], [2.0]], return_std=True)
    np.testing.assert_allclose(mean, 5.0)
    assert np.isfinite(sd).all()


def test_five_rows():
    X, y = np.array([[0.0, 1], [1, 0], [0, 0], [5, 5], [6, 5]]), [0, 0, 0, 1, 1]
    check_classifier(RVC().fit(X, y), X, y, least=1.0)


@each_algorithm
def test_more_columns_than_rows(algorithm, rng):
    X = rng.normal(size=(30, 400))
    y = (X[:, 7] > 0).astype(int)
    X[:, 7] *= 3
    model = RVC("features", algorithm=algorithm).fit(X, y)
    check_classifier(model, X, y, least=0.9)
    assert 7 in model.relevance_
    given = RVC(gamma="scale", algorithm=algorithm).fit(X, y)
    check_classifier(given, X, y, least=0.7)


def test_constant_features(blobs):
    X, y = blobs
    wider = np.column_stack([X, np.full(80, 3.0), np.zeros(80)])
    for kernel in ("rbf", "linear", "features", MultiResolution(2.0), Epanechnikov(width=9.0)):
        check_classifier(RVC(kernel).fit(wider, y), wider, y, least=0.9)
    constant = np.full((80, 3), 7.0)
    model = RVC().fit(constant, y)
    np.testing.assert_allclose(model.predict_proba(constant), 0.5, atol=1e-6)


@each_algorithm
def test_huge_and_tiny_scales(blobs, algorithm):
    X, y = blobs
    plain = RVC(**width_for(algorithm)).fit(X, y).predict_proba(X)
    # Where the width is left open, columns are first divided by their deviations.
    for scale in (1e-150, 1e150) if algorithm == "fast" else (1e-150, 1e-9, 1e9, 1e150):
        scaled = RVC(**width_for(algorithm)).fit(X * scale, y)
        check_classifier(scaled, X * scale, y, least=0.9)
        np.testing.assert_allclose(scaled.predict_proba(X * scale), plain, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_huge_and_tiny_features_and_targets(blobs, scale):
    X, y = blobs
    check_classifier(RVC("features").fit(X * scale, y), X * scale, y, least=0.9)
    target = X[:, 0] + 0.1 * np.sin(9 * X[:, 1])
    plain = RVR("features").fit(X, target)
    model = RVR("features").fit(X * scale, target * scale)
    np.testing.assert_allclose(model.predict(X * scale) / scale, plain.predict(X), rtol=1e-5)
    assert np.isfinite(model.predict(X * scale, return_std=True)).all()


def test_columns_of_very_different_scales(blobs):
    X, y = blobs
    uneven = np.column_stack([X[:, 0] * 1e-8, X[:, 1] * 1e8, X.sum(axis=1)])
    check_classifier(RVC("features").fit(uneven, y), uneven, y, least=0.9)


def test_a_single_outlier_does_not_take_over(blobs):
    X, y = blobs
    X, y = np.vstack([X, [[1e6, 1e6]]]), np.append(y, 1)
    check_classifier(RVC(gamma=0.5).fit(X, y), X, y, least=0.9)


@each_algorithm
def test_constant_and_exact_targets(algorithm):
    X = np.linspace(0, 5, 30)[:, None]
    constant = RVR(algorithm=algorithm).fit(X, np.full(30, 1e6))
    np.testing.assert_allclose(constant.predict([[2.5], [99.0]]), 1e6)
    assert len(constant.relevance_) == 0
    assert np.isfinite(constant.predict(X, return_std=True)).all()
    zero = RVR(algorithm=algorithm, bias=False).fit(X, np.zeros(30))
    np.testing.assert_array_equal(zero.predict(X), 0.0)
    exact = RVR("features", algorithm=algorithm).fit(X, 3.0 * X[:, 0] + 1.0)
    np.testing.assert_allclose(exact.predict([[7.0]]), 22.0, rtol=1e-3)


def test_a_singular_kernel_matrix_scikit_rvm_4():
    # A linear kernel on two columns has rank two, whatever the number of rows.
    X, y = make_classification(n_samples=100, n_features=2, n_redundant=0, random_state=4)
    for options in ({"kernel": "linear"}, {"kernel": "poly"}, {"gamma": 1e-9}):
        model = RVC(**options).fit(X, y)
        probability = model.predict_proba(X)
        assert np.isfinite(probability).all()
    check_classifier(RVC("linear").fit(X, y), X, y, least=0.85)
    regressor = RVR("linear").fit(X, X @ [1.0, -2.0])
    np.testing.assert_allclose(regressor.predict(X), X @ [1.0, -2.0], atol=0.01)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "multinomial"])
def test_probabilities_of_several_classes_scikit_rvm_11(multi_class):
    X, y = load_iris(return_X_y=True)
    model = RVC(multi_class=multi_class, gamma="scale").fit(X, y)
    assert model.predict_proba(X[:1]).shape == (1, 3)
    check_classifier(model, X, y, least=0.95)


def test_targets_without_signal_sklearn_rvm_24(rng):
    X, noise = rng.normal(size=(40, 3)), rng.normal(size=40)
    model = RVR(gamma=1e-6).fit(X, noise)
    assert len(model.relevance_) == 0
    np.testing.assert_allclose(model.predict(X), noise.mean())
    assert np.sqrt(model.noise_variance_) == pytest.approx(noise.std(), rel=0.05)


@pytest.mark.parametrize("labels", [[0, 1], [1, 2], [-1, 1], ["x", "y"], [False, True]])
def test_labels_of_any_kind_sklearn_rvm_4_and_25(blobs, labels):
    X, y = blobs
    model = RVC(gamma="scale").fit(X, np.array(labels)[y])
    assert set(model.predict(X)) == set(labels)
    usual = RVC(gamma="scale").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), usual.predict_proba(X))


def test_the_posterior_of_the_weights_is_right_sklearn_bayes_18(blobs):
    # Against the exact posterior of one weight, on a grid.
    X, y = blobs[0][:, :1] - 1.25, blobs[1]
    model = RVC("features", bias=False, far_variance=False).fit(X, y)
    w = np.linspace(0.0, 8.0, 4001)
    log_joint = -np.logaddexp(0, -np.outer(w, (2 * y - 1) * X[:, 0])).sum(axis=1)
    log_joint -= 0.5 * model.alpha_[0] * w**2
    assert model.coef_[0] == pytest.approx(w[np.argmax(log_joint)], abs=0.003)
    mass = np.exp(log_joint - log_joint.max())
    mass /= mass.sum()
    mean, sd = model.latent([[0.7]], return_std=True)
    exact_sd = 0.7 * np.sqrt(mass @ w**2 - (mass @ w) ** 2)
    # Laplace's approximation is at the mode, which lies below the mean of a skewed posterior.
    assert mean[0] == pytest.approx(0.7 * mass @ w, rel=0.1)
    assert sd[0] == pytest.approx(exact_sd, rel=0.15)
    assert model.predict_proba([[0.7]])[0, 1] == pytest.approx(mass @ expit(0.7 * w), abs=0.02)
