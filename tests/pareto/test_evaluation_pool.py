import time

import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto._evaluation_pool import EvaluationPool
from parsimon.pareto.run import OutOfTime

SEED = np.random.SeedSequence(5)


def evaluated(evaluate, population, **options):
    with EvaluationPool(evaluate, **options) as pool:
        pool.seed = SEED
        return pool(population, n_iter=3)


def rows(n, width=4):
    return np.random.default_rng(0).random((n, width))


@pytest.mark.parametrize(
    ("n", "chunk_size", "sizes"),
    [(10, 50, [10]), (50, 50, [50]), (51, 50, [25, 26]), (7, 3, [2, 2, 3]), (3, 1, [1, 1, 1])],
)
def test_a_population_is_cut_into_nearly_equal_pieces(n, chunk_size, sizes):
    seen = []

    def evaluate(x):
        seen.append(len(x))
        return x[:, :2]

    values, violation = evaluated(evaluate, rows(n), chunk_size=chunk_size)
    assert seen == sizes
    np.testing.assert_array_equal(values, rows(n)[:, :2])
    np.testing.assert_array_equal(violation, np.zeros(n))


def test_workers_get_the_same_pieces_and_give_the_same_bits():
    matrix = np.random.default_rng(1).normal(size=(4, 300))

    def evaluate(x):
        return np.column_stack(
            (np.tanh(x @ matrix) @ matrix.T @ np.ones(4), np.full(len(x), len(x)))
        )

    here = evaluated(evaluate, rows(33), chunk_size=8)
    there = evaluated(evaluate, rows(33), chunk_size=8, n_jobs=2)
    np.testing.assert_array_equal(here.values, there.values)
    assert set(here.values[:, 1]) == {6, 7}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_run_linear_algebra_on_one_thread(n_jobs):
    def evaluate(x):
        from threadpoolctl import threadpool_info

        most = max(library["num_threads"] for library in threadpool_info())
        return np.full(len(x), most)

    assert (evaluated(evaluate, rows(4), n_jobs=n_jobs, chunk_size=2).values == 1).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_row_has_its_own_seed_whatever_the_pieces(n_jobs):
    def evaluate(x, seeds):
        return np.array([np.random.default_rng(seed).random() for seed in seeds])

    few = evaluated(evaluate, rows(9), stochastic=True, chunk_size=2, n_jobs=n_jobs)
    many = evaluated(evaluate, rows(9), stochastic=True, chunk_size=9)
    np.testing.assert_array_equal(few.values, many.values)
    assert len(np.unique(few.values)) == 9
    with EvaluationPool(evaluate, stochastic=True) as pool:
        pool.seed = SEED
        assert not np.isin(pool(rows(9), n_iter=4).values, few.values).any()


def test_a_function_that_writes_to_its_rows_does_not_change_the_population():
    def evaluate(x):
        x[:] = 0
        return x[:, 0]

    population = rows(5)
    evaluated(evaluate, population, chunk_size=2)
    evaluated(evaluate, population, chunk_size=5)
    np.testing.assert_array_equal(population, rows(5))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_fail_are_infinitely_bad(bad):
    def evaluate(x):
        values = x[:, :2].copy()
        values[1, 1] = bad
        return values, np.where(np.arange(len(x)) == 2, bad if np.isnan(bad) else 0.5, 0.0)

    values, violation = evaluated(evaluate, rows(4))
    expected = [0, np.inf, np.inf if np.isnan(bad) else 0.5, 0]
    np.testing.assert_array_equal(violation, expected)
    assert (values[1] == np.inf).all()
    np.testing.assert_array_equal(values[[0, 3]], rows(4)[[0, 3], :2])


def test_violations_are_the_sum_of_what_is_broken():
    constraints = np.array([[-1.0, 2.0], [0.5, 0.25], [-3.0, -2.0]])
    _, violation = evaluated(lambda x: (x, constraints), rows(3))
    np.testing.assert_array_equal(violation, [2, 0.75, 0])
    _, violation = evaluated(lambda x: (x, constraints[:, 0]), rows(3))
    np.testing.assert_array_equal(violation, [0, 0.5, 0])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_deadline_is_kept_between_pieces(n_jobs, tmp_path):
    def evaluate(x):
        time.sleep(0.05)
        (tmp_path / str(x[0, 0])).touch()
        return x[:, 0]

    with EvaluationPool(evaluate, chunk_size=1, n_jobs=n_jobs) as pool:
        pool.seed = SEED
        with pytest.raises(OutOfTime):
            pool(rows(400), n_iter=1, deadline=time.monotonic() + 0.1)
        assert len(list(tmp_path.iterdir())) < 200
        assert pool(rows(1), n_iter=1).values.shape == (1, 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_says_which_rows_it_came_from(n_jobs):
    culprit = rows(6)[4, 0]

    def evaluate(x):
        if (x[:, 0] == culprit).any():
            raise RuntimeError("no convergence")
        return x[:, 0]

    with pytest.raises(RuntimeError, match="no convergence") as caught:
        evaluated(evaluate, rows(6), chunk_size=2, n_jobs=n_jobs)
    assert "While evaluating rows 4 to 5 of generation 3." in caught.value.__notes__


@pytest.mark.parametrize(
    ("evaluate", "message"),
    [
        (lambda x: x[:2], r"got 3 rows and must return values of shape \(3, n_objectives\)"),
        (lambda _: 1.0, "must return values of shape"),
        (lambda _: np.empty((3, 0)), "must return values of shape"),
        (lambda _: np.array(["a"] * 3), "must return values as numbers"),
        (lambda x: (x, np.zeros(2)), "must return violations of shape"),
        (lambda x: (x, ["a"] * 3), "must return violations as numbers"),
    ],
)
def test_answers_of_a_wrong_form_are_refused(evaluate, message):
    with pytest.raises(InvalidInputError, match=message):
        evaluated(evaluate, rows(3))


def test_every_piece_must_have_as_many_objectives():
    with pytest.raises(InvalidInputError, match="equally many objectives"):
        evaluated(lambda x: x[:, : len(x)], rows(3), chunk_size=2)
