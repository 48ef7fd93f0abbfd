"""The update of lambda as printed, which ignores the tree."""

import numpy as np
import pytest
from benchmarks.reproduce._fearn_analytic import AnalyticPhyRVM, analytic_lambda, sweeps

from parsimon.phylo import PhyRVM, TreeGaussian, brownian_traits, covariance, yule_tree
from parsimon.phylo._lambda_evidence import TreeRegression


@pytest.fixture(scope="module")
def tree():
    return yule_tree(60, random_state=5)


@pytest.fixture(scope="module")
def table(tree):
    frame = brownian_traits(tree, 4, random_state=6)
    noise = brownian_traits(tree, pagel_lambda=0.5, random_state=7)["trait1"]
    frame["y"] = 1.5 * frame["trait2"] - frame["trait3"] + noise
    return frame


FEATURES = [f"trait{j}" for j in range(1, 5)]


@pytest.mark.parametrize("form", ["5.48", "5.49"])
@pytest.mark.parametrize("sign", ["minus", "plus"])
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_one_step_multiplies_lambda_by_a_number_without_the_tree(tree, table, share, sign, form):
    # Exact evidence at fixed lambda: precisions and noise have converged there.
    model = PhyRVM(tree, prior="ard", pagel_lambda=share, tol=1e-9)
    model.fit(table[FEATURES], table["y"])
    found = model.posterior_
    design, targets, _ = model._problem.whiten(share)
    residual = targets - design[:, found.active] @ found.mean
    g, n = model.degrees_of_freedom_, 60
    step = analytic_lambda(
        share,
        beta=1 / model.noise_variance_,
        half_squares=0.5 * residual @ residual,
        penalty=found.alpha @ found.mean**2,
        excess=g - n,
        sign=sign,
        form=form,
    )
    R = np.sqrt(0.25 + 2 * g / (n - g))
    base = 0.5 if form == "5.48" else 1.0
    expected = base + R if sign == "minus" else base - R
    assert step / share == pytest.approx(expected, abs=1e-5)


def test_lambda_zero_and_a_full_model_stay():
    options = {"half_squares": 1.0, "penalty": 1.0, "sign": "minus", "form": "5.48"}
    assert analytic_lambda(0.0, beta=1.0, excess=-3.0, **options) == 0.0
    assert analytic_lambda(0.4, beta=1.0, excess=0.0, **options) == 0.4


@pytest.mark.parametrize("sign", ["minus", "plus"])
def test_sweeps_return_a_posterior_whose_evidence_is_exact(tree, table, sign):
    y = (table["y"] - table["y"].mean()).to_numpy()
    design = np.column_stack([np.ones(60), table[FEATURES]])
    problem = TreeRegression(TreeGaussian(tree, tips=tree.match(table)), design, y)
    share, found = sweeps(problem, 0.5, (0.0, 1.0), sign=sign, form="5.48")
    C = found.noise_variance * covariance(tree, pagel_lambda=share)
    C += (design[:, found.active] / found.alpha) @ design[:, found.active].T
    order = tree.match(table)
    inverse = np.argsort(order)
    np.testing.assert_array_equal(order, inverse)
    dense = -0.5 * (60 * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + y @ np.linalg.solve(C, y))
    assert found.log_evidence == pytest.approx(dense, abs=1e-6)
    assert found.converged


def test_signs_and_forms_pull_lambda_as_the_algebra_says(tree, table):
    exact = PhyRVM(tree, prior="ard").fit(table[FEATURES], table["y"])

    def printed(sign, form):
        return AnalyticPhyRVM(tree, sign=sign, form=form).fit(table[FEATURES], table["y"])

    for form in ("5.48", "5.49"):
        down, up = printed("plus", form), printed("minus", form)
        assert down.lambda_ < 0.01
        # It grows until the next step would leave the bounds.
        g = up.degrees_of_freedom_
        base = 0.5 if form == "5.48" else 1.0
        growth = base + np.sqrt(0.25 + 2 * g / (60 - g))
        assert up.lambda_ <= 1.0 < up.lambda_ * growth + 1e-3
        for model in (down, up):
            assert model.log_evidence_ <= exact.log_evidence_ + 0.1
            assert model.estimated_ == ("lambda",)
            assert np.isfinite(model.predict(table[FEATURES])).all()


def test_bounds_hold_the_printed_update(tree, table):
    model = AnalyticPhyRVM(tree, bounds=(0.1, 0.3))
    assert 0.1 <= model.fit(table[FEATURES], table["y"]).lambda_ <= 0.3
    model.set_params(sign="plus")
    assert model.fit(table[FEATURES], table["y"]).lambda_ == 0.1
