"""Widths by evidence: gradients against central differences, choices against grids of fits, planted
relevant inputs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import sparse_classification, sparse_regression
from parsimon.kernels import (
    Constant,
    Laplacian,
    Linear,
    Matern,
    MultiResolution,
    Periodic,
    Polynomial,
    RationalQuadratic,
    SquaredExponential,
)
from parsimon.rvm import _widths
from parsimon.rvm._width_evidence import (
    ActiveColumns,
    EvidenceProblems,
    KernelFamily,
    ResolutionFamily,
    evidence_slope,
    kernel_box,
)
from parsimon.rvm._widths import best_gamma, input_widths


def gamma_of(found):
    """Return what scikit-learn calls gamma."""
    return 0.5 / found.kernel.lengthscale**2


def planted(n, d, *, task, seed=0, noise=0.2):
    """Two inputs matter, the others do not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    latent = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0
    if task == "regression":
        return X, latent + noise * rng.normal(size=n)
    return X, (rng.random(n) < expit(4.0 * latent)).astype(np.float64)


def central_differences(function, x, step=1e-5):
    shifts = step * np.eye(len(x))
    return np.array([(function(x + e) - function(x - e)) / (2 * step) for e in shifts])


rng = np.random.default_rng(1)
centres = rng.normal(size=(9, 3))
families = {
    "isotropic": KernelFamily(SquaredExponential(lengthscale=1.3), centres, True),
    "a width each": KernelFamily(
        SquaredExponential(lengthscale=(0.8, 1.5, 2.0), fixed=("variance",)), centres, True
    ),
    "laplacian": KernelFamily(Laplacian(lengthscale=(1.0, 2.0, 3.0)), centres, False),
    "matern": KernelFamily(Matern(lengthscale=1.2), centres, True),
    "polynomial": KernelFamily(Polynomial(scale=0.4, degree=2), centres, False),
    "sum": KernelFamily(SquaredExponential(0) + Periodic(1, period=2.0), centres, True),
    "resolutions": ResolutionFamily(MultiResolution(2.0, columns=(0, 2)), centres, True),
    "two resolutions": ResolutionFamily(MultiResolution(1.5, n_levels=2), centres, False),
}
chosen = np.array([0, 2, 3, 7])


@pytest.mark.parametrize("name", families)
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_are_central_differences(name, task, weighted):
    family = families[name]
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 3))
    targets = (
        rng.normal(size=(2, 25)) if task == "regression" else rng.integers(0, 2, (2, 25)) * 1.0
    )
    weights = rng.integers(1, 4, size=25) * 1.0 if weighted else None
    problems = EvidenceProblems(task, X, targets, weights, {})
    # Columns with a precision of their own, and two that share one.
    groups = (np.arange(4), np.array([0, 1, 1, 2]))
    parts = [
        ActiveColumns(
            chosen,
            group,
            rng.normal(size=group.max() + 1),
            np.log([0.3]) if task == "regression" else np.empty(0),
        )
        for group in groups
    ]
    n_theta, ends = len(family.theta), [len(parts[0].log_alpha) + len(parts[0].log_noise)]

    def at(x):
        pieces = np.split(x[n_theta:], ends)
        moved = [part.at(piece) for part, piece in zip(parts, pieces, strict=True)]
        return evidence_slope(family.at(x[:n_theta]), moved, problems)

    values = [np.concatenate([part.log_alpha, part.log_noise]) for part in parts]
    x = np.concatenate([family.theta, *values])
    expected = central_differences(lambda x: at(x)[0], x)
    np.testing.assert_allclose(at(x)[1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", families)
def test_chosen_columns_are_those_of_the_whole_design(name):
    family = families[name]
    X = np.random.default_rng(3).normal(size=(6, 3))
    whole = family.design(X)
    assert whole.shape == (6, family.n_columns)
    np.testing.assert_allclose(family.design(X, chosen), whole[:, chosen], rtol=1e-12)
    kernel = family.kernel
    first = int(family.bias)
    np.testing.assert_array_equal(whole[:, :first], 1.0)
    given = kernel.basis(X, centres) if hasattr(kernel, "basis") else kernel.gram(X, centres)
    np.testing.assert_allclose(whole[:, first:], given, rtol=1e-12)
    np.testing.assert_allclose(family.at(family.theta).design(X), whole, rtol=1e-12)


def test_only_what_shapes_the_kernel_may_move(rng):
    X = rng.normal(size=(40, 3))
    product = SquaredExponential(0) * RationalQuadratic(1)
    box = kernel_box(product, X)
    free = box.bounds[:, 0] < box.bounds[:, 1]
    names = [name.split(" of ")[0] for name in product.theta_names]
    assert [name != "variance" for name in names] == free.tolist()
    assert [name == "lengthscale" for name in names] == box.widths.tolist()
    # In a sum the ratio of the variances matters.
    total = kernel_box(SquaredExponential(0) + Linear(1), X)
    assert (total.bounds[:, 0] < total.bounds[:, 1]).all()
    assert kernel_box(Linear(), X).is_fixed
    # Without an offset the scale of a polynomial is a factor, too.
    assert kernel_box(Polynomial(offset=0.0, degree=3), X).is_fixed
    assert not kernel_box(Polynomial(offset=1.0, degree=3), X).is_fixed
    assert kernel_box(Constant(), X).is_fixed


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_width_of_a_grid_is_much_better(task):
    X, y = planted(60, 2, task=task, noise=0.5)
    price = 0.5 * np.log(60)
    found = best_gamma("rbf", X, y, task=task, random_state=0)
    fit = sparse_regression if task == "regression" else sparse_classification
    grid = []
    for factor in np.geomspace(0.02, 5.0, 7):
        kernel = SquaredExponential(lengthscale=(2 * factor * gamma_of(found)) ** -0.5)
        design = np.hstack([np.ones((60, 1)), kernel.gram(X)])
        result = fit(design, y, tol=0.1 * price)
        grid.append(result.log_evidence - price * len(result.active))
    # A fit finds a local maximum over columns: neighbours on a grid differ by two or three.
    assert found.history[-1] > max(grid) - 5.0
    assert found.history[-1] > min(grid) + 8.0
    assert (np.diff(found.history) > 0).all()
    assert found.converged


def test_the_width_follows_the_scale_of_the_data():
    X, y = planted(80, 1 + 1, task="regression")
    # By a power of two, which rounds nothing: a fit may end in another maximum after any rounding.
    one, far = (best_gamma("rbf", c * X, y, task="regression", random_state=0) for c in (1.0, 8.0))
    assert gamma_of(one) == pytest.approx(64.0 * gamma_of(far), rel=1e-6)
    assert one.log_evidence == pytest.approx(far.log_evidence, abs=1e-6)


def test_bare_evidence_prefers_narrower_functions_and_predicts_worse(monkeypatch):
    X, y = planted(150, 5, task="regression", noise=0.3)
    X_new, y_new = planted(2000, 5, task="regression", noise=0.3, seed=9)

    def error(found):
        columns = np.hstack([np.ones((2000, 1)), found.kernel.gram(X_new, X)])
        fit = found.fits[0]
        return np.sqrt(np.mean((columns[:, fit.active] @ fit.mean - y_new) ** 2))

    priced = best_gamma("rbf", X, y, task="regression", random_state=0)
    monkeypatch.setattr(_widths, "column_price", lambda n_rows: 0.0)  # noqa: ARG005
    bare = best_gamma("rbf", X, y, task="regression", random_state=0)
    assert bare.log_evidence > priced.log_evidence
    assert gamma_of(bare) > gamma_of(priced)
    assert len(bare.fits[0].active) > len(priced.fits[0].active)
    assert error(bare) > error(priced)


@pytest.mark.parametrize(
    ("name", "options", "gamma_of"),
    [
        ("rbf", {}, lambda kernel: 0.5 / kernel.lengthscale**2),
        ("laplacian", {}, lambda kernel: 1.0 / kernel.lengthscale),
        ("poly", {"degree": 3, "coef0": 0.0}, lambda kernel: kernel.scale),
        ("sigmoid", {"coef0": 0.0}, lambda kernel: kernel.scale),
    ],
)
def test_gamma_is_what_scikit_learn_calls_gamma(name, options, gamma_of):
    from sklearn.metrics.pairwise import pairwise_kernels

    X, y = planted(50, 2, task="regression")
    found = best_gamma(name, X, y, task="regression")
    np.testing.assert_allclose(
        found.kernel.gram(X),
        pairwise_kernels(X, metric=name, gamma=gamma_of(found.kernel), **options),
        rtol=1e-9,
        atol=1e-12,
    )


def test_every_free_hyperparameter_of_a_kernel_is_chosen():
    x = np.linspace(0.0, 12.0, 90)[:, None]
    y = np.sin(2 * np.pi * x[:, 0] / 3.0) + 0.05 * np.random.default_rng(0).normal(size=90)
    given = Periodic(0, period=2.8)
    found = best_gamma(given, x, y, task="regression")
    assert found.kernel.period == pytest.approx(3.0, rel=0.02)
    assert found.kernel.variance == 1.0
    held = best_gamma(replace(given, fixed=("period",)), x, y, task="regression")
    assert held.kernel.period == 2.8


def test_the_width_of_a_dictionary_is_chosen_and_the_rest_kept():
    X, y = planted(60, 2, task="regression")
    found = best_gamma(MultiResolution(50.0, columns=0, n_levels=2), X, y, task="regression")
    assert found.kernel.columns == (0,)
    assert found.kernel.n_levels == 2
    assert 0.3 < found.kernel.width < 12.0
    poor = MultiResolution(50.0, columns=0, n_levels=2).basis(X, X)
    assert found.log_evidence > sparse_regression(poor, y).log_evidence + 10.0


@pytest.mark.parametrize("kernel", ["linear", Linear()])
def test_a_kernel_without_width_comes_back_as_it_is(kernel):
    X, y = planted(30, 2, task="regression")
    found = best_gamma(kernel, X, y, task="regression")
    assert found.kernel == Linear()
    assert found.converged


@pytest.mark.parametrize("kernel", ["precomputed", "features", lambda X, Z: X @ Z.T])
@pytest.mark.parametrize("choose", [best_gamma, input_widths])
def test_what_has_no_known_width_is_refused(kernel, choose):
    X, y = planted(20, 2, task="regression")
    with pytest.raises(InvalidInputError, match="has none that is known"):
        choose(kernel, X, y, task="regression")


def test_wrong_options_are_refused():
    X, y = planted(20, 2, task="regression")
    with pytest.raises(InvalidInputError, match='task must be "regression" or "classification"'):
        best_gamma("rbf", X, y, task="ranking")
    with pytest.raises(InvalidInputError, match="Every row has weight zero"):
        best_gamma("rbf", X, y, task="regression", row_weights=np.zeros(20))


def test_several_classes_share_a_width():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 2))
    codes = np.digitize(np.linalg.norm(X, axis=1), [0.8, 1.5])
    labels = (codes[:, None] == np.arange(3)).astype(np.float64)
    found = best_gamma("rbf", X, labels, task="classification")
    assert len(found.fits) == 3
    assert found.log_evidence == pytest.approx(sum(fit.log_evidence for fit in found.fits))
    design = np.hstack([np.ones((36, 1)), found.kernel.gram(X)])
    for fit, label in zip(found.fits, labels.T, strict=True):
        assert fit.log_evidence > sparse_classification(design, label).log_evidence - 3.0


def test_rows_beyond_the_most_are_drawn_in_each_class(monkeypatch):
    X, _ = planted(400, 2, task="classification")
    y = (np.arange(400) < 20).astype(np.float64)
    monkeypatch.setattr(_widths, "MOST_ROWS", 100)
    found = best_gamma("rbf", X, y, task="classification", random_state=3)
    assert len(found.rows) == 100
    assert y[found.rows].sum() == 5
    again = best_gamma("rbf", X, y, task="classification", random_state=3)
    np.testing.assert_array_equal(again.rows, found.rows)
    assert again.kernel == found.kernel
    other = best_gamma("rbf", X, y, task="classification", random_state=4)
    assert not np.array_equal(other.rows, found.rows)
    assert len(best_gamma("rbf", X[:60], y[:60], task="classification").rows) == 60


def test_rows_without_weight_change_nothing():
    X, y = planted(60, 2, task="regression")
    weights = np.r_[np.ones(50), np.zeros(10)]
    found = best_gamma("rbf", X, y, task="regression", row_weights=weights, random_state=0)
    without = best_gamma("rbf", X[:50], y[:50], task="regression", random_state=0)
    assert gamma_of(found) == pytest.approx(gamma_of(without), rel=1e-6)
    assert found.rows.tolist() == list(range(50))


@pytest.mark.parametrize("given", [7, "array"])
def test_centres_may_be_given(given):
    X, y = planted(60, 2, task="regression")
    points = X[:12] + 0.1 if given == "array" else given
    found = best_gamma("rbf", X, y, task="regression", centres=points, bias=False)
    assert found.fits[0].active.max() < (12 if given == "array" else 7)


def test_without_bias_every_column_is_a_function():
    X, y = planted(40, 2, task="regression")
    found = best_gamma("rbf", X, y, task="regression", bias=False)
    fit = found.fits[0]
    columns = found.kernel.gram(X, X[fit.active])
    precision = columns.T @ columns / fit.noise_variance + np.diag(fit.alpha)
    np.testing.assert_allclose(np.linalg.inv(precision), fit.covariance, rtol=1e-5)


@pytest.mark.parametrize("prior", ["ard", "smooth"])
def test_options_reach_the_fits(prior):
    X, y = planted(60, 2, task="regression")
    options = {"prior": prior, "noise_variance": 0.3}
    found = best_gamma("rbf", X, y, task="regression", options=options)
    fit = found.fits[0]
    assert fit.noise_variance == pytest.approx(0.3)
    assert (fit.objective == fit.log_evidence) == (prior == "ard")
    assert (np.diff(found.history) > 0).all()


def test_limits_of_work_are_kept(monkeypatch):
    X, y = planted(80, 3, task="regression")
    monkeypatch.setattr(_widths, "MAX_ROUNDS", 1)
    monkeypatch.setattr(_widths, "LEAST_GAIN", 0.0)
    short = best_gamma("rbf", X, y, task="regression")
    assert len(short.history) <= 3
    assert not short.converged or len(short.history) == 1
    hasty = best_gamma("rbf", X, y, task="regression", time_limit=1e-6)
    assert not hasty.converged
    hasty = input_widths("rbf", X, y, task="regression", time_limit=1e-6)
    assert hasty.input_relevance.shape == (3,)
    monkeypatch.setattr(_widths, "LEAST_GAIN", 1e9)
    rough = best_gamma("rbf", X, y, task="regression")
    assert len(rough.history) <= 3
    assert rough.converged


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(
    "X",
    [
        np.array([[0.0, 1.0], [1.0, 2.0]]),
        np.zeros((6, 2)),
        np.repeat([[0.0, 5.0], [1.0, 5.0]], 5, axis=0),
        np.random.default_rng(0).normal(size=(8, 30)),
        np.column_stack([np.arange(9.0), np.arange(9.0)]) * 1e-9,
        np.arange(9.0)[:, None] * 1e9,
    ],
    ids=["two rows", "all equal", "repeated rows", "more columns than rows", "tiny", "huge"],
)
@pytest.mark.parametrize("choose", [best_gamma, input_widths])
def test_odd_tables_do_no_harm(X, task, choose):
    y = (np.arange(len(X)) % 2).astype(np.float64)
    found = choose("rbf", X, y, task=task)
    assert np.isfinite(found.log_evidence)
    assert np.isfinite(found.kernel.gram(X)).all()


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_scales_without_squares_are_refused(scale):
    with pytest.raises(InvalidInputError, match="too large or too small"):
        best_gamma("rbf", np.arange(9.0)[:, None] * scale, np.arange(9.0), task="regression")


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_targets_without_structure_leave_a_usable_kernel(task):
    X = np.random.default_rng(0).normal(size=(20, 2))
    found = best_gamma(
        "rbf", X, np.ones(20) if task == "classification" else np.zeros(20), task=task
    )
    assert np.isfinite(gamma_of(found))
