"""Fits that begin at several places, since the evidence has several optima."""

from dataclasses import replace

import numpy as np
import pytest

from parsimon.gp import GPClassifier, GPRegressor, KernelSearch
from parsimon.gp._grammar import awaken, base_kernels
from parsimon.kernels import Constant, Linear, SquaredExponential
from parsimon.structures import find_structures

SE = SquaredExponential


def product_rows(seed, n=200):
    """Return rows whose target is the product of two columns that say nothing alone."""
    rng = np.random.default_rng([1, seed])
    X = rng.normal(size=(n, 6))
    return X, 1.5 * X[:, 0] * X[:, 1] + rng.normal(size=n)


@pytest.fixture(scope="module")
def product():
    X, y = product_rows(2)
    structures = find_structures(X, y, "regression")
    return (
        X,
        y,
        KernelSearch(grow="likely", depth=2, task="regression", random_state=0).fit(
            X, y, structures
        ),
    )


def test_a_product_of_columns_that_say_nothing_alone_is_no_constant(product):
    X, y, search = product
    alone = [one for one in search.first_layer_ if one.columns in ((0,), (1,))]
    assert all(one.noise_variance > 0.9 for one in alone)
    held = GPRegressor((SE(0) * SE(1)).start(X), random_state=0).fit(X, y)
    assert search.best_candidate_.columns == (0, 1)
    best = search.best_candidate_.log_evidence - len(y) * np.log(np.std(y))
    assert best == pytest.approx(held.log_evidence_, abs=0.01)
    assert search.best_candidate_.noise_variance < 0.5
    # What the search itself grew is no constant either, and no structure is there twice.
    grown = [str(one.kernel) for one in search.history_]
    assert len(grown) == len(set(grown))


def test_what_was_found_on_other_rows_mends_a_fit_that_failed(product):
    _, _, search = product
    good = search.best_candidate_
    kernel = good.kernel.with_theta(np.log([1.0, 1e-4, 10.0]))
    flat = replace(good, kernel=kernel, noise_variance=1.0, log_evidence=-284.0)
    assert not search.begin_again([flat])
    search.history_ = search.history_.replaced(good, flat)
    search.best_candidate_ = flat
    other = replace(good, kernel=good.kernel.with_theta(good.kernel.theta + 0.1))
    assert search.begin_again([replace(good, kernel=SE(3)), other])
    assert search.best_candidate_.log_evidence == pytest.approx(good.log_evidence, abs=0.01)
    assert search.best_candidate_ in tuple(search.history_)
    assert flat not in tuple(search.history_)
    assert search.best_estimator_.noise_variance_ < 1.5


def test_terms_without_variance_begin_anew():
    X = np.random.default_rng(0).normal(size=(30, 3))
    base = base_kernels(["se", "lin"], X)
    flat = SE(0, 9.0, 1e-4) * SE(1, 5.0, 1.0, fixed=("variance",))
    kernel = SE(2, 0.7, 2.0) + flat + Constant(1e-4)
    alive, term, constant = awaken(kernel, base, X, 0.01).terms
    assert alive == SE(2, 0.7, 2.0)
    assert constant == Constant(1e-4)
    assert term.terms[0] == base[0]
    assert term.terms[1] == SE(1, base[1].lengthscale, 1.0, fixed=("variance",))
    assert awaken(alive, base, X, 0.01) is alive
    line = awaken(Linear(1, 1e-6), base, X, 0.01)
    assert line.diagonal(X).mean() == pytest.approx(1.0, rel=0.01)


def test_many_widths_are_fitted_from_the_better_of_two_starts():
    """One column of five matters, within a third of its deviation."""
    rng = np.random.default_rng([79, 0])
    X = rng.normal(size=(120, 5))
    y = (np.sin(4 * X[:, 0]) + 0.5 * rng.normal(size=120) > 0).astype(int)
    kernel = Constant() + SE(range(5), (1.0,) * 5)
    given = GPClassifier(kernel, n_restarts=0).fit(X, y)
    assert GPClassifier(random_state=0).fit(X, y).log_evidence_ > given.log_evidence_ - 0.5
