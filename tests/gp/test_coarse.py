"""Fits of many rows that begin with some of them end where fits of all rows end."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from parsimon.gp import _process_fit as fit_module
from parsimon.gp import fit_classifier
from parsimon.gp._process_fit import coarse_fit, is_worthwhile
from parsimon.kernels import SquaredExponential as SE


@pytest.fixture(scope="module")
def table():
    X, codes = make_classification(640, 6, n_informative=5, n_redundant=0, random_state=1)
    return X, 2.0 * codes - 1.0


def directly(*call, **options):
    """Fit to all rows from the first evaluation on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "is_worthwhile", lambda *_: False)
        return fit_classifier(*call, **options)


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_the_end_is_that_of_a_direct_fit_after_fewer_evaluations(table, inference):
    X, y = table
    quick = fit_classifier(SE(), X, y, inference=inference)
    slow = directly(SE(), X, y, inference=inference)
    assert quick.converged
    assert slow.converged
    assert quick.n_evaluations < slow.n_evaluations
    assert quick.log_evidence == pytest.approx(slow.log_evidence, abs=2e-6)
    assert np.max(np.abs(quick.posterior.evidence_gradient())) < 0.02
    again = fit_classifier(SE(), X, y, inference=inference)
    assert again.kernel == quick.kernel
    assert again.log_evidence == quick.log_evidence


def test_weights_and_rows_without_weight_are_kept(table):
    X, y = table
    weights = np.tile([1.0, 2.0, 0.0, 0.5], 160)
    options = {"weights": weights, "inference": "laplace", "form": "dense"}
    quick, slow = fit_classifier(SE(), X, y, **options), directly(SE(), X, y, **options)
    assert quick.log_evidence == pytest.approx(slow.log_evidence, abs=2e-6)


def test_a_bound_is_kept_and_reached(table):
    X, y = table
    bounds = np.log([[0.2, 0.9], [0.1, 50.0]])
    options = {"bounds": bounds, "inference": "laplace"}
    quick, slow = fit_classifier(SE(), X, y, **options), directly(SE(), X, y, **options)
    assert quick.kernel.theta[0] == pytest.approx(bounds[0, 1])
    assert quick.log_evidence == pytest.approx(slow.log_evidence, abs=2e-6)


def test_limits_hold_in_both_stages(table):
    X, y = table
    short = fit_classifier(SE(), X, y, inference="laplace", max_iterations=1)
    assert not short.converged
    late = fit_classifier(SE(), X, y, inference="laplace", time_limit=0.0)
    assert not late.converged
    assert late.message == "The time limit was reached."
    assert late.n_evaluations == 1


def test_restarts_are_drawn_once_and_never_worse(table):
    X, y = table
    far = SE(lengthscale=60.0, variance=0.01)
    options = {"inference": "laplace", "bounds": np.log([[0.05, 100.0], [1e-3, 400.0]])}
    alone = fit_classifier(far, X, y, **options)
    more = fit_classifier(far, X, y, n_restarts=1, random_state=0, **options)
    same = fit_classifier(far, X, y, n_restarts=1, random_state=0, **options)
    assert more.log_evidence >= alone.log_evidence - 1e-6
    assert more.kernel == same.kernel


def test_only_dear_matrices_go_through_some_rows_first(table):
    X, y = table
    assert is_worthwhile(SE(), X, y, "auto")
    assert is_worthwhile(SE(0), X, y, "dense")
    assert not is_worthwhile(SE(0), X, y, "auto")
    assert not is_worthwhile(SE(), X, y, "low_rank")
    assert not is_worthwhile(SE(), X[:500], y[:500], "auto")


def test_the_curvature_of_some_rows_is_about_that_of_all(table):
    X, y = table
    how = {"inference": "laplace", "weights": None, "form": "auto"}
    begin = coarse_fit(SE(), X, y, SE().theta[None], SE().bounds(X), how=how, search={})

    def slope(theta):
        kept = {"inference": "laplace", "optimise": False}
        return -fit_classifier(SE().with_theta(theta), X, y, **kept).posterior.evidence_gradient()

    here, steps = begin.starts[0], 1e-2 * np.eye(2)
    curvature = np.array([(slope(here + step) - slope(here - step)) / 2e-2 for step in steps])
    ratio = np.linalg.eigvalsh(begin.curvatures[0]) / np.linalg.eigvalsh(curvature)
    assert ((ratio > 0.6) & (ratio < 1.6)).all()
    assert begin.form in ("auto", "dense")
    assert begin.n_evaluations > 5


def test_two_optima_are_both_carried_on(table):
    X, y = table
    how = {"inference": "laplace", "weights": None, "form": "dense"}
    held = np.column_stack([SE().theta - 0.01, SE().theta + 0.01])
    one = coarse_fit(SE(), X, y, np.stack([SE().theta] * 2), held, how=how, search={})
    assert len(one.starts) == 1
    starts = np.log([[0.05, 1.0], [2.0, 1.0]])
    wide = np.log([[0.05, 100.0], [1e-3, 400.0]])
    stuck = {"max_iterations": 1}
    two = coarse_fit(SE(), X, y, starts, wide, how=how, search=stuck)
    assert len(two.starts) == len(two.curvatures) == 2
