"""What speaks for and against in a row: exact shares of the latent function, which add up."""

import numpy as np
import pandas as pd
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier, GPRegressor
from parsimon.kernels import Constant, SquaredExponential


def sum_with_product():
    return (
        Constant(variance=0.5)
        + SquaredExponential(0, lengthscale=1.0)
        + SquaredExponential(0, lengthscale=2.0)
        + SquaredExponential(1, lengthscale=1.0) * SquaredExponential(2, lengthscale=1.0)
    )


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["dose", "age", "bmi"])
    # Equal rows count as often as they occur.
    X = pd.concat([X, X.iloc[[3, 3, 5]]], ignore_index=True)
    return X, np.sin(X["dose"]) + X["age"] * X["bmi"] + 0.3 * rng.normal(size=43)


@pytest.mark.parametrize("number", [False, True])
def test_contributions_and_the_level_add_up_to_the_latent_mean(table, number):
    X, y = table
    kernel = sum_with_product()
    if number:
        model = GPRegressor(kernel, optimise=False).fit(X, 50 + 9 * y)
        whole = model.predict(X)
    else:
        model = GPClassifier(kernel, optimise=False).fit(X, y > 0)
        whole = model.latent(X)
    found = model.contributions(X)
    assert found.names == ("dose", "age × bmi")
    assert found.columns == ((0,), (1, 2))
    np.testing.assert_allclose(found.level + found.values.sum(axis=1), whole, rtol=1e-8, atol=1e-8)
    # Beside the average row: over the rows of the fit each part is zero on average.
    np.testing.assert_allclose(found.values.mean(axis=0), 0.0, atol=1e-8)
    assert found.level == pytest.approx(whole.mean())


def test_columns_without_names_have_numbers(table):
    X, y = table
    model = GPRegressor(sum_with_product(), optimise=False).fit(X.to_numpy(), y)
    assert model.contributions(X.to_numpy()[:2]).names == ("x1", "x2 × x3")


def test_three_classes_have_no_single_sum(table):
    X, y = table
    model = GPClassifier(sum_with_product(), optimise=False).fit(X, np.digitize(y, [-0.5, 0.5]))
    with pytest.raises(InvalidInputError, match="two classes or of a number"):
        model.contributions(X)
