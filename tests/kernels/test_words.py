"""What a kernel is called."""

import pytest
from hypothesis import given

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import (
    Constant,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Product,
    SquaredExponential,
    kind,
    plain,
    spoken,
)
from parsimon.kernels.words import name_theta
from tests.kernels.examples import LEAVES, combinations_of

SE = SquaredExponential
NAMES = ["glucose", "BMI", "age", "pedigree"]
worked = SE(0) * (SE(1) + SE(2))


def test_plain():
    assert plain(worked) == "SE_1 × (SE_2 + SE_3)" == str(worked)
    assert plain(SE(0) + SE(2) * SE(3)) == "SE_1 + SE_3 × SE_4"
    assert plain(SE((0, 2)) + Constant() * SE()) == "SE_1,3 + C × SE"
    assert plain(Matern(0, nu=0.5) + Matern(0, nu=2.5)) == "MAT12_1 + MAT52_1"
    assert plain(SE((0, 2)) * Periodic(1) + Linear(), NAMES) == (
        "SE(glucose, age) × PER(BMI) + LIN"
    )


def test_the_worked_example_is_spoken():
    assert spoken(worked, NAMES) == (
        "an interaction of glucose and BMI, plus an interaction of glucose and age"
    )


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (SE(0), "glucose alone"),
        (SE(0) + SE(2) * SE(3), "glucose alone, plus an interaction of age and pedigree"),
        (SE(0) * SE(1) * SE(2), "an interaction of glucose, BMI and age"),
        (SE(0) + SE(1) + SE(2), "glucose alone, plus BMI alone, plus age alone"),
        (SE(0) + SE(0), "glucose alone (2 terms)"),
        (SE((0, 1)), "an interaction of glucose and BMI"),
        (Linear(1), "BMI (linear) alone"),
        (SE(0) * Periodic(0), "glucose (periodic and smooth) alone"),
        (SE(0) * Linear(1), "an interaction of glucose and BMI (linear)"),
        (Constant(), "a constant"),
        (Constant() + SE(0), "a constant, plus glucose alone"),
        (Constant() * SE(0), "glucose alone"),
        (SE(), "all variables together"),
        (Laplacian(), "all variables (rough) together"),
        (SE() * Linear(0), "an interaction of all variables and glucose (linear)"),
    ],
    ids=str,
)
def test_spoken(kernel, words):
    assert spoken(kernel, NAMES) == words


def test_spoken_without_names():
    assert spoken(SE(0) * SE(9)) == "an interaction of variable 1 and variable 10"


def test_kinds():
    assert [kind(leaf) for leaf in (SE(0), Periodic(0), Linear(0), Constant())] == [
        "smooth",
        "periodic",
        "linear",
        "constant",
    ]
    assert kind(SE(0) + SE(1)) == "additive"
    assert kind(worked) == "interaction"


def test_hyperparameters_have_names():
    assert name_theta(SE(0) + Periodic(2), NAMES) == (
        "lengthscale of glucose",
        "variance of glucose",
        "period of age",
        "periodic lengthscale of age",
        "periodic variance of age",
    )
    assert worked.theta_names == (
        "lengthscale of x1",
        "variance of x1 × (x2 + x3)",
        "lengthscale of x2",
        "lengthscale of x3",
        "variance of x3",
    )
    assert SE(lengthscale=(1.0, 2.0)).theta_names == (
        "lengthscale of x1",
        "lengthscale of x2",
        "variance of all variables",
    )
    assert Product((SE(0), SE(1))).theta_names[1::2] == ("variance of x1", "variance of x2")
    assert Constant().theta_names == ("variance of the constant",)


@given(combinations_of(LEAVES))
def test_no_two_hyperparameters_have_one_name(kernel):
    names = kernel.theta_names
    assert len(set(names)) == len(names) == kernel.n_theta
    with_columns = name_theta(kernel, NAMES)
    assert len(set(with_columns)) == kernel.n_theta


def test_too_few_names():
    for write in (plain, spoken, name_theta):
        with pytest.raises(InvalidInputError, match=r"uses column 3 .* only 2 names"):
            write(SE(3), ["a", "b"])
