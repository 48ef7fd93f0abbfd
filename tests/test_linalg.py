import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.linalg import LowRankPrecision, jittered_cholesky, pivoted_cholesky


def smooth_gram(n_rows, lengthscale, seed=0, columns=2):
    X = np.random.default_rng(seed).normal(size=(n_rows, columns))
    return np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2) / lengthscale**2)


class Entries:
    """Hands out a matrix's entries and counts them."""

    def __init__(self, matrix):
        self.matrix = matrix
        self.n_entries = 0
        self.n_calls = 0

    def __call__(self, rows, columns):
        block = self.matrix[rows][:, columns]
        self.n_entries += block.size
        self.n_calls += 1
        return block


def test_positive_definite_matrices_need_no_jitter():
    matrix = smooth_gram(20, 0.3) + np.eye(20)
    lower, jitter = jittered_cholesky(matrix)
    assert jitter == 0
    np.testing.assert_allclose(lower @ lower.T, matrix, atol=1e-12)
    np.testing.assert_array_equal(lower, np.tril(lower))


def test_jitter_is_said_and_is_what_was_added():
    matrix = 5 * smooth_gram(60, 3.0)
    lower, jitter = jittered_cholesky(matrix)
    assert 0 < jitter < 5e-10
    np.testing.assert_allclose(lower @ lower.T, matrix + jitter * np.eye(60), atol=1e-13)


def test_matrices_that_jitter_cannot_mend_are_refused():
    with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite: a jitter of 1\.0e-06"):
        jittered_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinity"):
        jittered_cholesky(np.array([[np.nan, 0.0], [0.0, 1.0]]))


def test_the_greatest_jitter_can_be_raised():
    matrix = np.array([[1.0, 1.01], [1.01, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        jittered_cholesky(matrix)
    assert jittered_cholesky(matrix, max_jitter=0.1).jitter == pytest.approx(0.1)


@given(
    st.integers(1, 90),
    st.floats(0.1, 10),
    st.sampled_from([1e-3, 1e-6, 1e-9]),
    st.integers(0, 5),
    st.floats(0.01, 100),
)
def test_pivoted_factor_leaves_out_no_more_than_the_tolerance(n, lengthscale, tol, seed, variance):
    gram = variance * smooth_gram(n, lengthscale, seed)
    factor, pivots, residual, converged = pivoted_cholesky(
        Entries(gram), np.diagonal(gram), tol=tol
    )
    assert converged
    missing = gram - factor @ factor.T
    np.testing.assert_allclose(np.diagonal(missing), residual, atol=1e-11 * variance)
    assert residual.min() >= 0
    assert np.mean(np.diagonal(missing)) <= tol + 1e-12 * variance
    assert len(set(pivots.tolist())) == len(pivots) == factor.shape[1]
    np.testing.assert_allclose(np.triu(factor[pivots], 1), 0, atol=1e-6 * np.sqrt(variance))
    # What is left out of a positive semi-definite matrix is positive semi-definite.
    assert np.linalg.eigvalsh(missing).min() > -1e-11 * variance * n


def test_few_entries_are_looked_at_in_few_calls():
    entries = Entries(smooth_gram(1000, 1.5))
    low = pivoted_cholesky(entries, np.ones(1000))
    rank = len(low.pivots)
    assert rank < 120
    assert entries.n_calls < rank / 2
    assert entries.n_entries < 2.5 * 1000 * rank


@pytest.mark.parametrize("lengthscale", [0.5, 1.0, 3.0])
def test_rank_is_near_what_eigenvalues_allow(lengthscale):
    gram = smooth_gram(400, lengthscale)
    low = pivoted_cholesky(Entries(gram), np.ones(400), tol=1e-6)
    values = np.linalg.eigvalsh(gram)[::-1]
    least = int(np.argmax(gram.trace() - np.cumsum(values) <= 400e-6)) + 1
    assert least <= len(low.pivots) <= 1.5 * least


def test_rank_is_limited_and_the_failure_is_said():
    gram = smooth_gram(200, 0.1)
    low = pivoted_cholesky(Entries(gram), np.ones(200), max_rank=70)
    assert low.factor.shape == (200, 70)
    assert not low.converged
    np.testing.assert_allclose((gram - low.factor @ low.factor.T)[low.pivots], 0, atol=1e-12)


def test_a_known_factor_is_extended():
    gram = smooth_gram(300, 1.0)
    first = pivoted_cholesky(Entries(gram), np.ones(300), tol=1e-3)
    entries = Entries(gram)
    more = pivoted_cholesky(entries, np.ones(300), tol=1e-7, known=(first.factor, first.pivots))
    rank = len(first.pivots)
    np.testing.assert_array_equal(more.pivots[:rank], first.pivots)
    np.testing.assert_array_equal(more.factor[:, :rank], first.factor)
    np.testing.assert_allclose(more.factor @ more.factor.T, gram, atol=1e-4)
    assert more.converged
    assert not first.residual.mean() <= 1e-7
    enough = pivoted_cholesky(
        Entries(gram), np.ones(300), tol=1e-7, known=(more.factor, more.pivots)
    )
    assert len(enough.pivots) == len(more.pivots)


def test_duplicated_rows_add_no_rank():
    gram = smooth_gram(40, 0.3)
    twice = np.kron(np.ones((2, 2)), gram)
    once = pivoted_cholesky(Entries(gram), np.ones(40), tol=1e-10)
    both = pivoted_cholesky(Entries(twice), np.ones(80), tol=1e-10)
    assert len(both.pivots) <= len(once.pivots) <= 40
    assert both.converged


def test_a_matrix_of_zeros_has_rank_zero():
    low = pivoted_cholesky(Entries(np.zeros((5, 5))), np.zeros(5))
    assert low.factor.shape == (5, 0)
    assert low.converged


@given(st.integers(1, 12), st.integers(0, 4), st.integers(0, 50))
def test_woodbury_is_the_dense_inverse(n_rows, rank, seed):
    rng = np.random.default_rng(seed)
    factor = np.asfortranarray(rng.normal(size=(n_rows, rank)))
    precision = rng.gamma(1.0, size=n_rows)
    right = rng.normal(size=(n_rows, 3))
    low = LowRankPrecision(factor, precision)
    dense = np.diag(1 / precision) + factor @ factor.T
    np.testing.assert_allclose(low.solve(right), np.linalg.solve(dense, right), atol=1e-8)
    np.testing.assert_allclose(low.solve(right[:, 0]), low.solve(right)[:, 0], atol=1e-12)
    whole = np.eye(n_rows) + precision[:, None] * factor @ factor.T
    assert low.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1], abs=1e-9)
    posterior = np.linalg.inv(np.eye(rank) + factor.T @ (precision[:, None] * factor))
    np.testing.assert_allclose(
        low.whitened @ low.whitened.T, factor @ posterior @ factor.T, atol=1e-9
    )


def test_rows_without_precision_are_left_out():
    factor = np.asfortranarray([[1.0], [2.0], [3.0]])
    some = LowRankPrecision(factor, np.array([1.0, 0.0, 2.0]))
    rest = LowRankPrecision(np.asfortranarray(factor[[0, 2]]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(some.solve(np.ones(3))[[0, 2]], rest.solve(np.ones(2)))
    assert some.solve(np.ones(3))[1] == 0
    assert some.log_determinant == pytest.approx(rest.log_determinant)


def test_systems_that_are_not_finite_are_refused():
    factor = np.full((3, 1), np.nan, order="F")
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        _ = LowRankPrecision(factor, np.ones(3)).root


def test_a_factor_without_columns_is_no_error_of_the_library(capfd):
    low = LowRankPrecision(np.empty((3, 0), order="F"), np.ones(3))
    assert low.log_determinant == 0
    np.testing.assert_array_equal(low.solve(np.arange(3.0)), np.arange(3.0))
    assert capfd.readouterr().out == ""
