import numpy as np
import pytest

from parsimon.gp import GPClassifier
from parsimon.gp._memory import FailedFit
from parsimon.kernels import Linear, Periodic, SquaredExponential, structure
from parsimon.statistician.families.gp import _parts
from parsimon.statistician.families.gp._parts import (
    interaction_findings,
    separate,
    variable_findings,
)
from tests.statistician.questions import result_of, table, variables_of

SE = SquaredExponential


@pytest.fixture(scope="module")
def exclusive():
    """Four clusters, two opposite ones of each class."""
    rng = np.random.default_rng(0)
    corners = rng.choice([-1.0, 1.0], size=(64, 2))
    X = table(corners + 0.3 * rng.normal(size=(64, 2))).set_axis(["left", "right"], axis=1)
    return result_of(X, corners[:, 0] != corners[:, 1], depth=2)


def test_exclusive_or_is_an_interaction_of_variables_that_say_nothing_alone(exclusive):
    assert structure(exclusive.search.best_kernel_) == structure(SE(0) * SE(1))
    [one] = interaction_findings(exclusive)
    assert one.variables == ("left", "right")
    assert one.additive.symbols == "SE_1 + SE_2"
    assert one.log_bayes_factor > 5
    assert one.gain > 0.2
    assert all(
        single.band != "strong" for single in variable_findings(exclusive, variables_of(exclusive))
    )


def test_the_gain_and_the_factor_are_differences_to_the_sum(exclusive):
    [one] = interaction_findings(exclusive)
    best = exclusive.search.best_candidate_
    additive = exclusive.search.judge(SE(0) + SE(1))
    assert one.gain == additive.error - best.error == one.additive.error - best.error
    assert one.log_bayes_factor == best.log_evidence - additive.log_evidence
    fitted = GPClassifier(additive.kernel, random_state=0).fit(
        exclusive.question.X, exclusive.question.y
    )
    assert additive.log_evidence == pytest.approx(fitted.log_evidence_, abs=0.05)


def test_of_many_products_the_strongest_are_told_and_no_sum_is_fitted(monkeypatch):
    rng = np.random.default_rng(3)
    X = table(rng.uniform(-1, 1, size=(50, 4))).set_axis(list("abcd"), axis=1)
    y = 5 * X["a"] * X["b"] + X["c"] * X["d"] + 0.1 * rng.normal(size=50)
    subject = result_of(X, y, depth=1)
    kernel = (SE(0) * SE(1) + SE(2) * SE(3)).start(X.to_numpy())
    subject.search.best_candidate_ = subject.search.judge(kernel)
    monkeypatch.setattr(_parts, "_MOST_PARTS", 1)
    [one] = interaction_findings(subject)
    assert one.variables == ("a", "b")
    assert np.isnan(one.gain)


def test_a_product_that_is_not_needed_has_a_factor_below_zero():
    rng = np.random.default_rng(2)
    X = table(rng.uniform(-1, 1, size=(60, 2))).set_axis(["a", "b"], axis=1)
    subject = result_of(X, 3 * X["a"] + np.sin(3 * X["b"]) + 0.1 * rng.normal(size=60), depth=1)
    subject.search.best_candidate_ = subject.search.judge((SE(0) * SE(1)).start(X.to_numpy()))
    [one] = interaction_findings(subject)
    assert one.log_bayes_factor < -3


def test_other_parts_stay_and_factors_that_are_there_are_not_added_again():
    rng = np.random.default_rng(2)
    X = table(rng.uniform(-1, 1, size=(40, 3))).set_axis(list("abc"), axis=1)
    y = X["a"] + X["b"] * X["c"] + 0.1 * rng.normal(size=40)
    subject = result_of(X, y, depth=1)
    search = subject.search
    search.best_candidate_ = search.judge((SE(0) + SE(1) + SE(1) * SE(2)).start(X.to_numpy()))
    [one] = interaction_findings(subject)
    assert one.variables == ("b", "c")
    assert one.additive.symbols == "SE_1 + SE_2 + SE_3"
    search.best_candidate_ = search.judge((SE(0) * (SE(1) + SE(2))).start(X.to_numpy()))
    assert [(one.variables, one.additive.symbols) for one in interaction_findings(subject)] == [
        (("a", "b"), "SE_1 + SE_1 × SE_3 + SE_2"),
        (("a", "c"), "SE_1 + SE_1 × SE_2 + SE_3"),
    ]


def test_a_product_of_one_variable_is_no_interaction():
    x = np.linspace(0, 6, 50)
    y = np.sin(np.pi * x) * np.exp(-((x - 3) ** 2) / 4)
    subject = result_of(
        table({"day": x}), y + 0.1 * np.random.default_rng(0).normal(size=50), depth=1
    )
    subject.search.best_candidate_ = subject.search.judge(SE(0) * Periodic(0, period=2.0))
    subject.search.structure_found_ = True
    assert interaction_findings(subject) == ()


def test_without_structure_there_is_nothing_to_compare():
    rng = np.random.default_rng(0)
    X = table(rng.normal(size=(40, 2))).set_axis(["a", "b"], axis=1)
    subject = result_of(X, rng.integers(0, 2, 40), depth=1)
    assert interaction_findings(subject) == ()


def test_a_sum_that_cannot_be_fitted_is_left_out(exclusive, monkeypatch):
    subject = result_of(exclusive.question.X, exclusive.question.y, depth=1, cv=2)
    subject.search._evaluate._known.clear()
    subject.search.best_candidate_ = subject.search.judge(SE(0) * SE(1))
    subject.search.structure_found_ = True
    monkeypatch.setattr("parsimon.gp._beam.measure_folds", lambda *_: FailedFit("It broke."))
    assert interaction_findings(subject) == ()


def test_separated_factors_share_the_variance_of_the_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * [1.0, 10.0, 1.0] + [0.0, 50.0, 0.0]
    product = SE(0, variance=12.0) * Linear(1, centre=50.0) * SE(2) * Periodic(2)
    parts = separate(product, X)
    assert [str(part) for part in parts] == ["SE_1", "LIN_2", "SE_3 × PER_3"]
    level = product.diagonal(X).mean()
    for part in parts:
        assert part.diagonal(X).mean() == pytest.approx(level / 3)
    # Each part has a free variance of its own, as a term of a sum must.
    assert [part.n_theta for part in parts] == [2, 1, 4]
