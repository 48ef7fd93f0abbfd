"""Dictionaries of basis functions: designs, subsets, centres, widths, errors."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from parsimon._data import merged_rows
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Epanechnikov, Multiquadric, MultiResolution, Sigmoid
from parsimon.kernels import SquaredExponential as SE
from parsimon.rvm import RVC
from parsimon.rvm import _dictionary as columns_module
from parsimon.rvm._dictionary import choose_centres, make_basis, named_kernel
from parsimon.rvm._setup import make_dictionary

X = np.random.default_rng(5).normal(size=(12, 3))
NEW = np.random.default_rng(6).normal(size=(7, 3))
X.flags.writeable = NEW.flags.writeable = False


class Waves:
    """A dictionary of its own: sines of the first column, whatever the centres."""

    def basis(self, X, centres):
        return np.sin(X[:, :1] * np.arange(1, 5) + centres[0, 0])


KERNELS = {
    "se": SE(lengthscale=0.7),
    "se on one column": SE(1),
    "epanechnikov": Epanechnikov(width=4.0),
    "multiquadric": Multiquadric(),
    "sigmoid": Sigmoid(scale=0.3),
    "rbf": "rbf",
    "poly": "poly",
    "laplacian": "laplacian",
    "callable": lambda A, B: np.exp(-cdist(A, B, "cityblock")),
    "resolutions": MultiResolution(1.5),
    "resolutions of columns": MultiResolution(1.5, columns=(0, 2), n_levels=2),
    "features": "features",
    "waves": Waves(),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("rbf", lambda gamma: rbf_kernel(NEW, X, gamma=gamma)),
        ("laplacian", lambda gamma: laplacian_kernel(NEW, X, gamma=gamma)),
        ("poly", lambda gamma: polynomial_kernel(NEW, X, gamma=gamma, coef0=0.0)),
        ("sigmoid", lambda gamma: sigmoid_kernel(NEW, X, gamma=gamma, coef0=0.0)),
        ("linear", lambda _: linear_kernel(NEW, X)),
    ],
)
@pytest.mark.parametrize(
    ("gamma", "value"), [(0.3, 0.3), ("auto", 1 / 3), ("scale", 1 / (3 * X.var()))]
)
def test_names_mean_what_they_mean_in_svc(name, theirs, gamma, value):
    basis = make_basis(name, X, gamma=gamma, bias=False)
    np.testing.assert_allclose(basis.design(NEW), theirs(value), rtol=1e-10)


def test_scale_counts_repeated_rows_as_often_as_they_are_there():
    weights = np.arange(12) % 4
    repeated = named_kernel("rbf", np.repeat(X, weights, axis=0))
    weighted = named_kernel("rbf", X, row_weights=weights.astype(float))
    assert weighted.lengthscale == pytest.approx(repeated.lengthscale, rel=1e-12)
    assert weighted.lengthscale != pytest.approx(named_kernel("rbf", X).lengthscale, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
def test_the_default_kernel_does_not_feel_the_unit_of_the_table(scale):
    plain = make_basis("rbf", X).design(X)
    np.testing.assert_allclose(make_basis("rbf", X * scale).design(X * scale), plain, rtol=1e-6)
    chosen = [choose_centres(4, Z, random_state=0)[1] for Z in (X, X * scale)]
    np.testing.assert_array_equal(*chosen)


def test_equal_numbers_have_no_scale_as_in_svc():
    constant = np.full((4, 2), 7.1)
    one = named_kernel("rbf", constant, gamma=1.0).lengthscale
    assert named_kernel("rbf", constant).lengthscale == pytest.approx(one)
    np.testing.assert_allclose(make_basis("rbf", constant).design(constant), 1.0)


def test_the_dictionary_of_resolutions_is_the_one_of_the_kernels_package():
    dictionary = MultiResolution(1.5, columns=(0, 2))
    design = make_basis(dictionary, X).design(NEW)
    np.testing.assert_allclose(design[:, 1:], dictionary.basis(NEW, X), rtol=1e-10)
    np.testing.assert_array_equal(design[:, 0], 1.0)
    assert make_basis(dictionary, X).places.tolist() == 3 * list(range(12))


def test_a_dictionary_that_asks_for_a_bias_gets_one():
    with_bias = make_basis(MultiResolution(bias=True), X, bias=False)
    assert with_bias.has_bias
    assert with_bias.n_columns == 37


def test_features_and_similarities_are_taken_as_they_are():
    np.testing.assert_array_equal(make_basis("features", X).design(NEW)[:, 1:], NEW)
    similar = make_basis("precomputed", np.eye(3)[[0, 2]], places=np.array([0, 2]), bias=False)
    np.testing.assert_array_equal(similar.design(NEW), NEW[:, [0, 2]])
    assert similar.labels == ("row 0", "row 2")


@each_kernel
@settings(max_examples=15)
@given(data=st.data())
def test_a_subset_gives_the_same_columns_as_the_whole(kernel, data):
    basis = make_basis(kernel, X)
    functions = st.integers(1, basis.n_columns - 1)
    chosen = data.draw(st.lists(functions, unique=True, max_size=6))
    chosen = [0, *chosen] if data.draw(st.booleans()) else chosen
    part = basis.columns(chosen)
    np.testing.assert_allclose(part.design(NEW), basis.design(NEW)[:, chosen], rtol=1e-12)
    assert part.labels == tuple(basis.labels[i] for i in chosen)
    assert part.has_bias == (0 in chosen)


@each_kernel
def test_pieces_make_no_difference(kernel, monkeypatch):
    whole = make_basis(kernel, X).design(X)
    monkeypatch.setattr(columns_module, "_PIECE", 20)
    np.testing.assert_allclose(make_basis(kernel, X).design(X), whole, rtol=1e-12, atol=1e-15)
    assert whole.flags.c_contiguous


def test_labels_say_which_row_and_width():
    basis = make_basis(MultiResolution(2.0), X[:2], places=np.array([8, 9]))
    assert basis.columns([0, 2, 3]).labels == ("bias", "row 9, width 2", "row 8, width 1")
    assert make_basis("features", X, bias=False).labels == ("feature 0", "feature 1", "feature 2")
    assert make_basis(Waves(), X, bias=False).labels[3] == "function 3"


def test_a_design_needs_hardly_more_memory_than_its_own():
    rows = np.random.default_rng(0).normal(size=(40_000, 4))
    basis = make_basis("rbf", rows, centres=rows[:500])
    tracemalloc.start()
    design = basis.design(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < design.nbytes + 1e8
    assert design.nbytes > 1.5e8


def test_centres_are_given_points_or_spread_rows_or_all_rows():
    assert choose_centres(None, X)[0] is X
    assert choose_centres(12, X)[0] is X
    points, numbers = choose_centres([[0.0, 0.0, 0.0]], X)
    assert points.tolist() == [[0.0, 0.0, 0.0]]
    assert numbers.tolist() == [0]
    points, numbers = choose_centres(5, X, places=np.arange(100, 112), random_state=1)
    np.testing.assert_array_equal(points, X[numbers - 100])
    assert len(np.unique(numbers)) == 5
    again = choose_centres(5, X, places=np.arange(100, 112), random_state=1)[1]
    other = choose_centres(5, X, places=np.arange(100, 112), random_state=2)[1]
    np.testing.assert_array_equal(numbers, again)
    assert numbers.tolist() != other.tolist()


def test_spread_rows_cover_every_group():
    groups = np.repeat([[0.0], [100.0], [200.0], [300.0]], 50, axis=0)
    groups = groups + np.random.default_rng(0).normal(size=groups.shape)
    near = np.round(choose_centres(4, groups, random_state=0)[0].ravel() / 100)
    assert sorted(near) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        ("cubic", {}, "kernel must be one of rbf.*got 'cubic'"),
        (3.0, {}, "kernel must be a kernel, a dictionary, a callable.*got float"),
        ("rbf", {"gamma": -1.0}, "gamma must be positive.*got -1"),
        ("rbf", {"gamma": "large"}, "gamma must be positive.*got 'large'"),
        ("rbf", {"centres": 0}, "centres must be at least 1, got 0"),
        ("rbf", {"centres": np.zeros((2, 5))}, "centres has 5 columns and X has 3"),
        ("rbf", {"centres": [[np.nan, 0, 0]]}, "centres must be finite"),
        ("features", {"centres": 4}, "takes the columns of X as they are and has no centres"),
    ],
)
def test_what_cannot_be_used_is_refused(kernel, options, message):
    with pytest.raises(InvalidInputError, match=message):
        make_basis(kernel, X, **options)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda _, __: np.ones(3), r"returned shape \(3,\) for 12 rows and 12 centres"),
        (lambda _, __: np.full((12, 12), np.nan), "values that are not finite"),
    ],
)
def test_a_callable_must_return_a_finite_matrix(kernel, message):
    with pytest.raises(InvalidInputError, match=message):
        make_basis(kernel, X).design(X)


def test_a_dictionary_must_return_one_row_for_each():
    class Wrong:
        def basis(self, X, centres):
            return np.ones((len(X) + 1, 2))

    with pytest.raises(InvalidInputError, match=r"Wrong.basis returned shape \(2, 2\) for 1 rows"):
        make_basis(Wrong(), X)


def test_overflow_is_an_error_that_says_what_to_do():
    with (
        np.errstate(all="ignore"),
        pytest.raises(InvalidInputError, match="not finite on these rows"),
    ):
        make_basis("linear", X * 1e200).design(X * 1e200)
    with pytest.raises(InvalidInputError, match="too far from one for the kernel 'poly'"):
        make_basis("poly", X * 1e200)


@given(seed=st.integers(0, 1000))
def test_rows_are_merged_as_numpy_would_merge_them(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 2, size=(15, 3)).astype(float)
    weights = rng.integers(0, 3, size=15).astype(float)
    weights[0] = 1.0
    rows = merged_rows(table[:, :2], table[:, 2], weights)
    repeated = np.repeat(table, weights.astype(int), axis=0)
    distinct, counts = np.unique(repeated, axis=0, return_counts=True)
    np.testing.assert_array_equal(np.column_stack([rows.X, rows.y]), distinct)
    np.testing.assert_array_equal(rows.weights, counts)
    np.testing.assert_array_equal(table[rows.places], distinct)
    np.testing.assert_array_equal(rows.X[rows.is_new], np.unique(repeated[:, :2], axis=0))


def test_rows_that_differ_in_the_target_alone_share_a_function():
    table = np.array([[0.0], [1.0], [0.0], [2.0]])
    rows = merged_rows(table, np.array([1.0, 0.0, 0.0, 1.0]), np.ones(4))
    made = make_dictionary(RVC(), rows, rows.y, task="classification", deadline=None, options={})
    assert made.design.shape == (4, 4)
    assert made.basis.places.tolist() == [2, 1, 3]


def test_the_bias_can_only_lead():
    with pytest.raises(InvalidInputError, match="can only be the first column"):
        make_basis("rbf", X).columns([1, 0])
