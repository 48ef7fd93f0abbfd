"""Weights of kernels: gradients, the whole simplex, the certificate, and machines behind them."""

import itertools

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from parsimon.bpm import DivergenceMKL
from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier, GPRegressor
from parsimon.inference import least_divergence
from parsimon.inference.kernel_weights import local_divergence
from parsimon.kernels import Linear, Sigmoid, Spectrum, SquaredExponential
from parsimon.rvm import RVC
from parsimon.svm import EvolutionarySVC
from tests.contract import contract

DIVERGENCES = ["labels_to_kernel", "kernel_to_labels"]
GROUPS = {"signal": ("rbf", [0, 1]), "weak": ("rbf", [2]), "noise": ("rbf", [3, 4, 5])}


def table(n=60, seed=0):
    """Return rows whose label hangs on the first two columns, and a little on the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    score = X[:, 0] * X[:, 1] + X[:, 0] + 0.3 * X[:, 2] + 0.2 * rng.normal(size=n)
    return X, np.where(score > 0, "yes", "no")


def matrices(n=40, seed=0, n_targets=1):
    """Return three kernel matrices of trace n, and targets."""
    X, y = table(n, seed)
    grams = np.stack([SquaredExponential(columns).gram(X) for columns in [(0, 1), (2,), (3, 4, 5)]])
    targets = np.where(y == "yes", 1.0, -1.0)[:, None]
    if n_targets == 2:
        targets = np.column_stack([targets, np.sign(X[:, 2])])
    return grams, targets


def simplex(step):
    """Return weights of three kernels on a grid."""
    n = round(1 / step)
    pairs = itertools.product(range(n + 1), repeat=2)
    return np.array([(i, j, n - i - j) for i, j in pairs if i + j <= n]) / n


@contract(
    DivergenceMKL(),
    DivergenceMKL(divergence="kernel_to_labels", ridge=0.1),
    DivergenceMKL(["rbf", "linear"], normalise=False),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("n_targets", [1, 2])
def test_derivatives_agree_with_central_differences(divergence, n_targets):
    grams, targets = matrices(n_targets=n_targets)
    weights, step = np.array([0.5, 0.2, 0.3]), 1e-5
    here = local_divergence(weights, grams, targets, 0.05, divergence, curvature="exact")
    for place, direction in enumerate(step * np.eye(3)):
        above, below = (
            local_divergence(weights + sign * direction, grams, targets, 0.05, divergence)
            for sign in (1, -1)
        )
        slope = (above.value - below.value) / (2 * step)
        curvature = (above.gradient - below.gradient) / (2 * step)
        assert here.gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-8)
        np.testing.assert_allclose(here.curvature[place], curvature, rtol=1e-5)


def test_the_average_curvature_is_the_mean_of_the_exact_and_the_expected_one():
    grams, targets = matrices(n_targets=2)
    weights = np.array([0.5, 0.2, 0.3])
    exact, average, nothing = (
        local_divergence(
            weights, grams, targets, 0.05, "labels_to_kernel", curvature=name
        ).curvature
        for name in ("exact", "average", "none")
    )
    inverse = np.linalg.inv(np.tensordot(weights, grams, axes=1) + 0.05 * np.eye(40))
    expected = np.einsum("ij,pjk,kl,qli->pq", inverse, grams, inverse, grams, optimize=True) / 40
    np.testing.assert_allclose(average, (exact + expected) / 2)
    assert nothing is None


@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_objectives_are_the_divergences_of_two_gaussians(n_targets):
    """Up to a constant: KL = (tr(inv(B) A) - n + log|B| - log|A|) / 2 from N(0, A) to N(0, B)."""
    grams, targets = matrices(n_targets=n_targets)
    n, ridge = len(targets), 0.05
    labels = targets @ targets.T / n_targets + ridge * np.eye(n)

    def divergence(A, B):
        return np.trace(np.linalg.solve(B, A)) - np.linalg.slogdet(A)[1] + np.linalg.slogdet(B)[1]

    first, second = [], []
    for weights in simplex(0.25):
        mixed = np.tensordot(weights, grams, axes=1) + ridge * np.eye(n)
        ours = [local_divergence(weights, grams, targets, ridge, d)[0] for d in DIVERGENCES]
        # The printed form leaves the ridge out of the labels' kernel in the first trace.
        first.append(divergence(labels, mixed) - ridge * np.trace(np.linalg.inv(mixed)))
        first[-1] -= n * ours[0]
        second.append(divergence(mixed, labels) - n * ours[1])
    assert np.ptp(first) < 1e-8
    assert np.ptp(second) < 1e-8


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("ridge", [0.01, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_no_weights_on_a_grid_of_the_simplex_are_better(divergence, ridge, seed):
    grams, targets = matrices(seed=seed)
    found = least_divergence(grams, targets, ridge=ridge, divergence=divergence)
    grid = simplex(0.02)
    values = [local_divergence(w, grams, targets, ridge, divergence)[0] for w in grid]
    assert found.objective <= min(values) + 1e-9
    if divergence == "kernel_to_labels":
        assert found.objective >= min(values) - 0.05
        assert np.abs(found.weights - grid[np.argmin(values)]).max() <= 0.03


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_certificate_is_that_of_karush_kuhn_and_tucker(divergence):
    grams, targets = matrices()
    found = least_divergence(grams, targets, ridge=0.1, divergence=divergence)
    used = found.weights > 0
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found.weights >= 0).all()
    assert np.ptp(found.gradient[used]) < 1e-4
    assert (found.gradient >= found.gradient[used].mean() - 1e-4).all()
    assert 0 <= found.gap < 1e-5


def test_the_gap_bounds_the_convex_divergence_from_below_anywhere():
    grams, targets = matrices()
    best = least_divergence(grams, targets, ridge=0.1, divergence="kernel_to_labels").objective
    for weights in simplex(0.2):
        value, gradient, _ = local_divergence(weights, grams, targets, 0.1, "kernel_to_labels")
        assert value - (weights @ gradient - gradient.min()) <= best + 1e-9


def test_the_first_divergence_is_twice_the_negative_log_evidence_of_a_process_on_labels():
    grams, targets = matrices()
    weights = np.array([0.6, 0.3, 0.1])
    mixed = np.tensordot(weights, grams, axes=1) + 0.2 * np.eye(len(targets))
    _, log_determinant = np.linalg.slogdet(2 * np.pi * mixed)
    log_evidence = -0.5 * (targets[:, 0] @ np.linalg.solve(mixed, targets[:, 0]) + log_determinant)
    value = local_divergence(weights, grams, targets, 0.2, "labels_to_kernel")[0]
    n = len(targets)
    assert n * value + n * np.log(2 * np.pi) == pytest.approx(-2 * log_evidence)


@pytest.mark.parametrize("ridge", ["learn", 0.2])
def test_the_group_that_matters_gets_the_weight(ridge):
    X, y = table(200)
    mixed = DivergenceMKL(GROUPS, ridge=ridge).fit(X, y)
    assert mixed.kernel_names_ == ["signal", "weak", "noise"]
    assert mixed.weights_[0] > 0.7
    assert mixed.weights_[2] < 0.15
    assert mixed.weights_.sum() == pytest.approx(1.0)
    assert mixed.gap_ < 1e-5 * max(1.0, abs(mixed.objective_))
    assert mixed.classes_.tolist() == ["no", "yes"]


def test_the_matrix_is_square_for_training_rows_and_of_all_training_columns_for_new_ones():
    X, y = table()
    model = DivergenceMKL(GROUPS)
    square = model.fit_transform(X, y)
    assert square.shape == (60, 60)
    np.testing.assert_allclose(model.transform(X), square, atol=1e-12)
    assert np.diagonal(square).mean() == pytest.approx(1.0)
    assert model.transform(X[:7] + 0.1).shape == (7, 60)
    assert len(model.get_feature_names_out()) == 60


def test_matrices_give_what_kernels_give():
    X, y = table()
    new = X[:5] + 0.3
    kernels = [SquaredExponential((0, 1)), SquaredExponential(2), Linear()]
    ours = DivergenceMKL(kernels).fit(X, y)
    stacked = DivergenceMKL("precomputed").fit([kernel.gram(X) for kernel in kernels], y)
    np.testing.assert_allclose(stacked.weights_, ours.weights_)
    cross = [kernel.gram(new, X) for kernel in kernels]
    np.testing.assert_allclose(stacked.transform(cross), ours.transform(new))
    everything = np.vstack([X, new])
    looked_up = DivergenceMKL([(kernel.gram(everything), 0) for kernel in kernels])
    numbers = np.arange(len(everything))[:, None]
    looked_up.fit(numbers[:60], y)
    np.testing.assert_allclose(looked_up.weights_, ours.weights_)
    np.testing.assert_allclose(looked_up.transform(numbers[60:]), ours.transform(new))


def test_columns_by_name_scikit_learn_kernels_and_functions_are_kernels():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    entries = {
        "signal": (RBF(1.0), ["a", "b"]),
        "own": (lambda A, B: A @ B.T, "c"),
        "all": "linear",
    }
    mixed = DivergenceMKL(entries).fit(frame, y)
    other = DivergenceMKL([(SquaredExponential(), [0, 1]), (Linear(), 2), Linear()]).fit(X, y)
    np.testing.assert_allclose(mixed.weights_, other.weights_)
    assert other.kernel_names_ == ["SE of [0, 1]", "LIN of [2]", "LIN"]


def test_strings_stand_beside_numbers():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 40)
    words = [
        "".join(rng.choice(list("ACGT"), 8, p=[0.55, 0.15, 0.15, 0.15] if one else [0.25] * 4))
        for one in y
    ]
    frame = pd.DataFrame({"window": words, "noise": rng.normal(size=80)})
    entries = {"spectrum": (Spectrum(), "window"), "noise": ("rbf", "noise")}
    mixed = DivergenceMKL(entries).fit(frame, y)
    assert mixed.weights_[0] > 0.9
    gram = Spectrum().gram(words)
    np.testing.assert_allclose(
        mixed.transform(frame[:3]),
        (mixed.weights_ * mixed.scales_)[0] * gram[:3]
        + (mixed.weights_ * mixed.scales_)[1]
        * mixed._parts[1].kernel.gram(frame[["noise"]][:3].to_numpy(), frame[["noise"]].to_numpy()),
    )
    machine = make_pipeline(DivergenceMKL(entries), SVC(kernel="precomputed"))
    assert cross_val_score(machine, frame, y, cv=4).mean() > 0.65


def test_several_classes_and_numbers_have_targets_too():
    X, _ = table(90)
    classes = np.digitize(X[:, 0], [-0.5, 0.5])
    mixed = DivergenceMKL({"own": ("rbf", 0), "noise": ("rbf", [4, 5])}).fit(X, classes)
    assert mixed.weights_[0] > 0.9
    numbers = DivergenceMKL({"own": ("rbf", 0), "noise": ("rbf", [4, 5])}).fit(X, np.sin(X[:, 0]))
    assert numbers.weights_[0] > 0.9
    assert numbers.classes_ is None


@pytest.mark.parametrize(
    "machine",
    [
        SVC(kernel="precomputed"),
        GPClassifier(kernel="precomputed"),
        RVC(kernel="precomputed"),
        EvolutionarySVC(kernel="precomputed", random_state=0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_every_machine_takes_the_matrix_in_a_pipeline(machine):
    X, y = table(120)
    pipeline = make_pipeline(DivergenceMKL(GROUPS), machine)
    groups = np.arange(120) % 4
    scores = cross_val_score(pipeline, X, y, cv=LeaveOneGroupOut(), groups=groups)
    assert scores.mean() > 0.75
    assert (clone(pipeline).fit(X, y).predict(X) == y).mean() > 0.85


def test_a_process_of_numbers_takes_the_matrix():
    X, _ = table(120)
    target = np.sin(2 * X[:, 0])
    pipeline = make_pipeline(
        DivergenceMKL({"own": ("rbf", 0), "noise": ("rbf", [4, 5])}),
        GPRegressor(kernel="precomputed"),
    )
    assert pipeline.fit(X[:90], target[:90]).score(X[90:], target[90:]) > 0.95


def test_a_grid_search_chooses_among_divergences_and_kernels():
    X, y = table(80)
    pipeline = make_pipeline(DivergenceMKL(), SVC(kernel="precomputed"))
    grid = {"divergencemkl__divergence": DIVERGENCES, "divergencemkl__kernels": [None, GROUPS]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.7


def test_it_comes_back_from_a_file():
    X, y = table()
    words = pd.DataFrame({"word": ["GATTACA", "ACGT", "TTAC"] * 20})
    cases = [
        (DivergenceMKL(GROUPS), X),
        (DivergenceMKL([(Linear().gram(X), 0)]), np.arange(60)[:, None]),
        (DivergenceMKL([(Spectrum(), "word")]), words),
    ]
    for model, rows in cases:
        stored = skops.io.dumps(model.fit(rows, y))
        types = skops.io.get_untrusted_types(data=stored)
        again = skops.io.loads(stored, trusted=types)
        np.testing.assert_array_equal(again.transform(rows), model.transform(rows))


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        ([], "holds no kernel"),
        ([("rbf", "glucos")], "no column 'glucos'. Did you mean 'glucose'"),
        ([("rbf", [7])], "column 7, but X has 2 columns"),
        ([Sigmoid()], "not positive semi-definite"),
        ([(np.ones((3, 4)), 0)], "which is square"),
        ([(np.eye(3), 0)], "whole and from 0 to 2"),
        ([lambda A, B: A @ B.T + np.arange(len(A))[:, None]], "symmetric"),
        ([lambda A, B: -(A @ B.T)], "not positive definite"),
        (["radial"], "must be a parsimon kernel or one of"),
        ([(Spectrum(), ["glucose"])], "compares strings"),
    ],
)
def test_kernels_that_cannot_be_mixed_are_refused(kernels, words):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["glucose", "age"])
    with pytest.raises(InvalidInputError, match=words):
        DivergenceMKL(kernels).fit(frame, np.tile([0, 1], 10))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"divergence": "kl"}, "divergence must be"),
        ({"ridge": 0.0}, "ridge must be a positive number"),
        ({"ridge": "big"}, "ridge must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"normalise": "yes"}, "normalise must be"),
    ],
)
def test_options_are_checked(options, words):
    X, y = table(20)
    with pytest.raises(InvalidInputError, match=words):
        DivergenceMKL(**options).fit(X, y)


def test_stacked_matrices_are_checked():
    X, y = table(20)
    gram = Linear().gram(X)
    model = DivergenceMKL("precomputed")
    with pytest.raises(InvalidInputError, match="shape"):
        model.fit(gram, y)
    with pytest.raises(InvalidInputError, match="symmetric"):
        model.fit([gram, X @ np.ones((6, 20))], y)
    with pytest.raises(InvalidInputError, match="20 rows but 19 labels"):
        model.fit([gram], y[:19])
    model.fit([gram, np.eye(20)], y)
    with pytest.raises(InvalidInputError, match="2 matrices of similarities with 20 training rows"):
        model.transform([gram])


def test_too_few_iterations_are_told():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="gap"):
        DivergenceMKL(max_iter=1).fit(X, y)
