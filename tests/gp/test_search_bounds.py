"""What a kernel of many parts may cost: work that is counted, and a share of the time."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from parsimon.gp import GPClassifier, GPRegressor, SparseGPClassifier, sparse
from parsimon.gp import _default_kernel as default_kernel
from parsimon.gp import _kernel_evaluation as evaluation
from parsimon.gp._kernel_evaluation import Account, FitStart, KernelProblem, evaluation_cost
from parsimon.gp.search import KernelSearch
from parsimon.inference.evidence import process_evidence
from parsimon.kernels import SquaredExponential as SE
from parsimon.kernels import Sum
from parsimon.structures import find_structures

SEED = np.random.SeedSequence(0)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 6))
    y = X[:, :3] @ [2.0, 1.0, -1.0] + np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
    return X, (y - y.mean()) / y.std()


@pytest.fixture(scope="module")
def problem(rows):
    places = np.arange(60)
    folds = tuple((places[places % 2 != k], places[places % 2 == k]) for k in range(2))
    return KernelProblem(*rows, "regression", folds)


@pytest.fixture(scope="module")
def kernel(rows):
    return Sum(tuple(SE(column) for column in range(6))).start(rows[0])


@pytest.fixture
def accounts(monkeypatch):
    """Keep every account of what fits cost."""
    made = []

    class Kept(Account):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(evaluation, "Account", Kept)
    return made


def test_what_an_evaluation_costs_grows_with_rows_rank_and_hyperparameters(rows, kernel):
    X, y = rows
    dense = process_evidence(kernel, X, y, form="dense")(np.append(kernel.theta, -2.0), None)
    assert evaluation_cost(dense) == 60 * 30 * (12 + 30 / 8)
    low = process_evidence(SE(0), X, y, form="low_rank")(np.append(SE(0).theta, -2.0), None)
    rank = len(low.prior.pivots)
    assert evaluation_cost(low) == 60 * rank * (2 + rank / 8)


def test_a_fit_ends_when_its_work_is_done(problem, kernel, accounts, monkeypatch):
    free = evaluation.fit_whole(problem, kernel, FitStart(), SEED)
    assert free.converged
    monkeypatch.setattr(evaluation, "FEWEST_EVALUATIONS", 3)
    monkeypatch.setattr(evaluation, "MOST_WORK", 0.5 * accounts[0].work)
    bound = evaluation.fit_whole(problem, kernel, FitStart(), SEED)
    n_free, n_bound = (one.n_evaluations for one in accounts)
    assert 3 < n_bound < n_free
    # The last evaluation crosses the bound.
    assert accounts[1].work <= 0.5 * accounts[0].work + 1.5 * accounts[0].work / n_free
    task = evaluation._KernelFit.of(problem, kernel, None)
    begun = task.evidence(problem.X, problem.y)(task.theta, None).log_evidence
    assert begun < bound.log_evidence <= free.log_evidence
    assert not bound.converged
    monkeypatch.setattr(evaluation, "MOST_WORK", 1.0)
    evaluation.fit_whole(problem, kernel, FitStart(), SEED)
    assert accounts[2].n_evaluations == 3


def test_folds_are_refitted_only_where_the_curvature_is_affordable(problem, kernel, monkeypatch):
    whole = evaluation.fit_whole(problem, kernel, FitStart(), SEED)
    refitted = evaluation.cross_validate(problem, whole)
    monkeypatch.setattr(evaluation, "MOST_WORK", 1.0)
    kept = evaluation.cross_validate(problem, whole)
    assert all(np.array(refitted.log_evidences) > kept.log_evidences)


def test_the_supported_kernel_has_no_more_time_than_is_left(rows, accounts):
    X, y = rows
    structures = find_structures(X, y, "regression")
    search = KernelSearch(grow="supported", random_state=0)
    search.fit(X, y, structures)
    free = accounts[-1].n_evaluations
    accounts.clear()
    late = search.set_params(time_limit=0.0).fit(X, y, structures)
    assert free > 10
    # The constant has its time; then one evaluation each, and the posterior there.
    assert max(one.n_evaluations for one in accounts[1:]) <= 2
    assert late.structure_found_
    accounts.clear()
    late.judge(SE(0).start(X))
    assert accounts[0].n_evaluations > 2


def test_what_a_regression_leaves_out_of_the_matrix_changes_no_evidence(rows, kernel):
    X, y = rows
    X, y = np.tile(X, (3, 1)) + 0.01, np.tile(y, 3)
    theta = np.append(kernel.theta, np.log(0.1))
    exact = process_evidence(kernel, X, y, form="dense")(theta, None)
    low = process_evidence(kernel, X, y, form="low_rank", rank_tolerance=evaluation.RANK_TOLERANCE)(
        theta, None
    )
    assert low.log_evidence == pytest.approx(exact.log_evidence, abs=len(y) * 1e-4 / 2)


@pytest.mark.parametrize(
    ("model", "module", "name"),
    [
        (GPClassifier(), default_kernel, "fit_or_choose"),
        (GPRegressor(), default_kernel, "fit_or_choose"),
        (SparseGPClassifier(optimise=False), sparse, "choose_inducing"),
    ],
)
def test_small_fits_have_one_thread(model, module, name, rows, monkeypatch):
    """Threads of linear algebra that wait for each other took 60 times as long on busy cores."""
    seen = []
    inside = "_fit_best" if name == "fit_or_choose" else name
    real = getattr(module, inside)

    def look(*given, **options):
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return real(*given, **options)

    monkeypatch.setattr(module, inside, look)
    X, y = rows
    with threadpool_limits(2):
        model.fit(X[:, :2], y > 0 if "Class" in type(model).__name__ else y)
    assert set(seen) == {1}
