"""scikit-learn's kernels there and back, and ours inside its estimators."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as scikit
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import (
    Constant,
    Epanechnikov,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    SquaredExponential,
    from_sklearn,
    structure,
    to_sklearn,
)
from parsimon.kernels._sklearn_kernel import KernelAdapter
from parsimon.kernels.adapters import as_kernel
from tests.kernels.examples import DEFINITE, X, Y, identify

SE = SquaredExponential
NATIVE = [
    SE(lengthscale=1.7, variance=2.5),
    SE(lengthscale=(1.0, 2.0, 3.0, 4.0), fixed="variance"),
    Matern(None, 1.7, 0.6, nu=2.5),
    RationalQuadratic(None, 1.7, 0.6, 0.8, fixed="mixture"),
    Constant(2.0),
    SE(None, 1.7, fixed="lengthscale") * Matern() + Constant(0.3, fixed="variance"),
]


@pytest.mark.parametrize("kernel", NATIVE, ids=identify)
def test_expressions_on_all_columns_become_scikit_learns_own(kernel):
    theirs = to_sklearn(kernel)
    assert not isinstance(theirs, KernelAdapter)
    np.testing.assert_allclose(theirs(X, Y), kernel.gram(X, Y), rtol=1e-10)
    assert theirs.n_dims == kernel.n_theta
    np.testing.assert_allclose(np.sort(theirs.theta), np.sort(kernel.theta), atol=1e-12)
    back = from_sklearn(theirs)
    np.testing.assert_allclose(back.gram(X, Y), kernel.gram(X, Y), rtol=1e-10)
    assert structure(back) == structure(kernel)
    assert back.n_theta == kernel.n_theta


@pytest.mark.parametrize("kernel", [*DEFINITE, SE(0) + SE(2) * SE(3)], ids=identify)
def test_every_definite_kernel_works_as_scikit_learns(kernel):
    theirs = to_sklearn(kernel)
    np.testing.assert_allclose(theirs(X), kernel.gram(X), rtol=1e-10)
    np.testing.assert_allclose(theirs(X, Y), kernel.gram(X, Y), rtol=1e-10)
    np.testing.assert_allclose(theirs.diag(X), kernel.diagonal(X), rtol=1e-10)
    gram, gradient = theirs(X, eval_gradient=True)
    assert gradient.shape == (9, 9, theirs.n_dims) == (9, 9, kernel.n_theta)
    np.testing.assert_allclose(gram, kernel.gram(X), rtol=1e-10)
    moved = theirs.clone_with_theta(theirs.theta + 0.1)
    np.testing.assert_allclose(moved.theta, theirs.theta + 0.1, atol=1e-12)
    assert theirs.bounds.shape == (kernel.n_theta, 2)
    back = from_sklearn(theirs)
    np.testing.assert_allclose(back.gram(X, Y), kernel.gram(X, Y), rtol=1e-10)


def test_the_adapter():
    kernel = SE(0) + SE(1) * SE(2)
    theirs = to_sklearn(kernel)
    assert repr(theirs) == "KernelAdapter(SE_1 + SE_2 × SE_3)"
    np.testing.assert_allclose(theirs.bounds, np.log([[1e-5, 1e5]] * 5))
    assert [own.name for own in theirs.hyperparameters] == list(kernel.theta_names)
    _, gradient = theirs(X, eval_gradient=True)
    np.testing.assert_array_equal(np.moveaxis(gradient, -1, 0), kernel.gradients(X)[1])
    assert clone(theirs) == theirs
    assert pickle.loads(pickle.dumps(theirs)) == theirs
    assert theirs != to_sklearn(SE(0))
    assert not theirs.is_stationary()
    with pytest.raises(ValueError, match="only be evaluated when Y is None"):
        theirs(X, Y, eval_gradient=True)
    assert (theirs + scikit.RBF())(X) == pytest.approx(kernel.gram(X) + scikit.RBF()(X))


def test_bounds_from_data():
    kernel = SE(0) + Periodic(1)
    theirs = to_sklearn(kernel, X, gap_floor=0.1)
    np.testing.assert_array_equal(theirs.bounds, kernel.bounds(X, gap_floor=0.1))


def test_gaussian_processes_of_scikit_learn_fit_it():
    data, y = make_moons(80, noise=0.25, random_state=0)
    ours = GaussianProcessClassifier(to_sklearn(SE()), random_state=0).fit(data, y)
    theirs = GaussianProcessClassifier(1.0 * scikit.RBF(1.0), random_state=0).fit(data, y)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(
        theirs.log_marginal_likelihood_value_, abs=1e-6
    )
    chosen = GaussianProcessClassifier(to_sklearn(SE(0) * SE(1), data), random_state=0)
    chosen.fit(data, y)
    started = chosen.log_marginal_likelihood(chosen.kernel.theta)
    assert chosen.log_marginal_likelihood_value_ > started + 1
    assert chosen.score(data, y) > 0.85
    noise = scikit.WhiteKernel(0.01, "fixed")
    line = GaussianProcessRegressor(to_sklearn(Linear(0)) + noise).fit(data, 3 * data[:, 0])
    np.testing.assert_allclose(line.predict(data), 3 * data[:, 0], atol=0.01)


def test_a_kernel_is_a_callable_for_support_vector_machines():
    data, y = make_moons(80, noise=0.25, random_state=0)
    ours = SVC(kernel=as_kernel("rbf", gamma=2.0)).fit(data, y)
    theirs = SVC(gamma=2.0).fit(data, y)
    np.testing.assert_allclose(
        ours.decision_function(data), theirs.decision_function(data), atol=1e-6
    )
    candidates = [SE(0), SE(0) * SE(1), Epanechnikov(width=4.0)]
    search = GridSearchCV(SVC(), {"kernel": candidates}, cv=3).fit(data, y)
    assert search.best_params_["kernel"] != SE(0)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (scikit.RBF(2.0), SE(1, 2.0, fixed="variance")),
        (3.0 * scikit.RBF(2.0), SE(1, 2.0, 3.0)),
        (scikit.Matern(2.0, nu=0.5), Matern(1, 2.0, nu=0.5, fixed="variance")),
        (scikit.Matern(2.0, nu=np.inf), SE(1, 2.0, fixed="variance")),
        (scikit.ConstantKernel(2.0, "fixed"), Constant(2.0, fixed="variance")),
        (
            scikit.RationalQuadratic(2.0, alpha=0.5, alpha_bounds="fixed"),
            RationalQuadratic(1, 2.0, mixture=0.5, fixed=("mixture", "variance")),
        ),
        (scikit.ExpSineSquared(2.0, 3.0), Periodic(1, 3.0, 2.0, fixed="variance")),
        (scikit.DotProduct(0.0, "fixed"), Linear(1, fixed="variance")),
        (scikit.DotProduct(2.0), Constant(4.0) + Linear(1, fixed="variance")),
    ],
    ids=str,
)
def test_from_scikit_learn_on_a_chosen_column(theirs, ours):
    translated = from_sklearn(theirs, columns=1)
    assert translated == ours
    exact = theirs(X[:, [1]], Y[:, [1]])
    np.testing.assert_allclose(translated.gram(X, Y), exact, rtol=1e-9)


def test_from_scikit_learn_sums_and_products():
    theirs = 2.0 * scikit.RBF(3.0) + scikit.Matern(1.5) * scikit.DotProduct(0.5)
    ours = from_sklearn(theirs)
    np.testing.assert_allclose(ours.gram(X, Y), theirs(X, Y), rtol=1e-10)


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (scikit.RBF() + scikit.WhiteKernel(), "WhiteKernel is noise"),
        (scikit.RBF() ** 2, "Exponentiation has no counterpart"),
        (scikit.Matern(nu=2.0), "Matern with nu=2.0 has no counterpart"),
        (scikit.ExpSineSquared(), "Name the one column"),
    ],
    ids=str,
)
def test_what_cannot_be_translated(theirs, message):
    with pytest.raises(InvalidInputError, match=message):
        from_sklearn(theirs)


def test_indefinite_kernels_are_refused():
    with pytest.raises(
        InvalidInputError, match=r"not positive semi-definite.*SVC\(kernel=kernel\)"
    ):
        to_sklearn(Sigmoid(0))


def test_gamma_from_data():
    d = X.shape[1]
    scale = as_kernel("poly", gamma="scale", X=X)
    assert scale == Polynomial(scale=1 / (d * X.var()), offset=0.0, degree=3)
    assert as_kernel("poly", gamma="auto", X=X).scale == 1 / d
    assert as_kernel("poly", gamma="scale", X=np.ones((3, 2))).scale == 1.0
    assert as_kernel(SE(0), gamma="scale") == SE(0)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("gauss", {}, "one of rbf, linear, poly, sigmoid, laplacian; got 'gauss'"),
        ("rbf", {"gamma": 0.0}, "gamma must be positive"),
        ("rbf", {"gamma": "large"}, 'a number, "scale" or "auto"'),
        ("rbf", {"gamma": "scale"}, "computed from data"),
    ],
)
def test_names_that_cannot_be(spec, options, message):
    with pytest.raises(InvalidInputError, match=message):
        as_kernel(spec, **options)


def test_importing_kernels_loads_neither_scikit_learn_nor_matplotlib():
    heavy = "{'sklearn', 'matplotlib', 'pandas'}"
    code = f"import parsimon.kernels, sys; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
