"""Transduction: what a user gets by default beside SVC, the toy sets of the source, and peers.

Defaults: `TransductiveSVC()` and `SVC()`, which sees the labelled rows alone, on equal terms, both
on the tables as they are and both on standardised ones; 10 labels of each class, 20 draws. Iris has
4 of each class, or 12 of rows drawn at random, as digits have. The bar is that the mean paired
difference is not above zero by more than the half-width of its 95 % interval, which is therefore
added to the peer's figure.

Two moons: 7 of 400 rows have labels, 20 draws of data and labels; the bar is a median error of
1 %, by default and with RBF of gamma = 5 and C = C* = 1. Three and four clusters: a linear kernel.
Among the guesses with which the search begins are labels spread along graphs of nearest
neighbours; the peers are Joachims' greedy solver, which keeps the ratio of the labelled rows, and
scikit-learn's LabelSpreading with the same kernel.

Prices given: 10 labels of each class, standardised features, gamma = 1 / d for all, C = 10 for both
support vector machines and C* = C / 50. These two prices were fixed on other draws of the same
sets. Peers are SelfTrainingClassifier around SVC (calibrated by folds) and LabelSpreading; the
plain SVC of the labelled rows is there for information. Errors are in per cent of the unlabelled
rows, means over draws; notes give the half-width of the 95 % interval of the paired difference
and say where we lose.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.peers._transduction_data import (
    REAL_SETS,
    digits,
    drawn_labels,
    drawn_rows,
    four_clusters,
    moons,
    real_set,
    three_clusters,
)
from benchmarks.reproduce._mierswa_joint import maximise_jointly, problem_of_rows
from benchmarks.rivals import CONSTANT, GUESS, LOGISTIC, Part, classify_plainly, turned
from benchmarks.rows import Row
from parsimon._typing import Array, Indices
from parsimon.svm.transductive import TransductiveSVC

ERROR_BAR = 1.0
N_EACH = 10
N_IRIS, N_FEW = 4, 12
C, C_UNLABELLED = 10.0, 0.2
# Seeds of draws on which no option was chosen.
FIRST_DRAW = 1000
Predict = Callable[[Array, Indices], Any]


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the comparison; every library has one thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        # SelfTraining and SVC(probability=True) warn of their own plans.
        warnings.simplefilter("ignore")
        made = []
        for name in REAL_SETS[:2] if quick else REAL_SETS:
            for standardised in (False, True):
                made += _defaults(name, standardised, 2 if quick else 20)
        made += _classes(2 if quick else 20)
        made += _moons(2 if quick else 20) + _clusters(1 if quick else 10)
        for name in REAL_SETS[:1] if quick else REAL_SETS:
            made += _real(name, 2 if quick else 10)
    return made


def _defaults(name: str, standardised: bool, n_draws: int) -> list[Row]:
    """Return ours beside SVC, both as they are made without an option."""
    X, truth = real_set(name, standardised=standardised)
    case = f"{name} {'standardised' if standardised else 'as it is'}, defaults, {n_draws} draws"
    partly = [drawn_labels(truth, N_EACH, FIRST_DRAW + draw) for draw in range(n_draws)]
    return _beside(case, X, truth, partly, {"SVC()": _plain})


def _classes(n_draws: int) -> list[Row]:
    """Return tables of more than two classes, our own greedy solver among the peers."""
    from sklearn.datasets import load_iris

    X, truth = load_iris(return_X_y=True)
    draws = range(FIRST_DRAW, FIRST_DRAW + n_draws)
    peers = {"SVC()": _plain, 'method="greedy"': _greedy}
    each = [drawn_labels(truth, N_IRIS, draw) for draw in draws]
    some = [drawn_rows(truth, N_FEW, draw) for draw in draws]
    made = _beside(f"iris, 4 labels of each class, {n_draws} draws", X, truth, each, peers)
    made += _beside(f"iris, 12 labels at random, {n_draws} draws", X, truth, some, peers)
    X, truth = digits()
    some = [drawn_rows(truth, N_FEW, draw) for draw in draws]
    return made + _beside(f"digits 0 to 3, 12 labels, {n_draws} draws", X, truth, some, peers)


def _beside(
    case: str, X: Array, truth: Indices, partly: list[Indices], peers: Mapping[str, Predict]
) -> list[Row]:
    """Return our defaults beside peers on the same draws, none of which may be clearly better."""
    models = [TransductiveSVC(random_state=draw).fit(X, y) for draw, y in enumerate(partly)]
    ours = np.array(
        [_error(model.transduction_, y, truth) for model, y in zip(models, partly, strict=True)]
    )
    fell_back = sum(model.fell_back_ for model in models)
    plain = classify_plainly(_labelled(X, truth, y) for y in partly)
    made = []
    for key, predict in peers.items():
        theirs = np.array([_error(predict(X, y), y, truth) for y in partly])
        made.append(
            Row(
                case,
                f"mean error, per cent; {key} plus half the interval",
                float(ours.mean()),
                float(theirs.mean()) + _half_width(ours - theirs),
                bar=1.0,
                note=f"{key} {theirs.mean():.1f}, {_difference(ours - theirs)}; "
                f"fell back in {fell_back} of {len(models)}",
                rivals=plain,
            ).above_rivals()
        )
    return made


def _labelled(X: Array, truth: Indices, y: Indices) -> Part:
    """Return the rows with labels to learn from, and those without to be tested on."""
    return X[y >= 0], truth[y >= 0], X[y < 0], truth[y < 0]


def _plain(X: Array, y: Indices) -> Any:
    from sklearn.svm import SVC

    return SVC().fit(X[y >= 0], y[y >= 0]).predict(X)


def _greedy(X: Array, y: Indices) -> Any:
    return TransductiveSVC(1.0, method="greedy").fit(X, y).transduction_


def _moons(n_draws: int) -> list[Row]:
    from sklearn.semi_supervised import LabelSpreading

    errors: dict[str, list[float]] = {"default": [], "ours": [], "greedy": [], "spreading": []}
    plain: dict[str, list[float]] = {}
    for seed in range(n_draws):
        X, y, truth = moons(seed)
        for key, error in classify_plainly([_labelled(X, truth, y)]).items():
            plain.setdefault(key, []).append(error)
        models = {
            "default": TransductiveSVC(random_state=seed),
            "ours": TransductiveSVC(1.0, C_unlabelled=None, gamma=5.0, random_state=seed),
            "greedy": TransductiveSVC(1.0, gamma=5.0, method="greedy", random_state=seed),
            "spreading": LabelSpreading(gamma=5.0),
        }
        for key, model in models.items():
            errors[key].append(_error(model.fit(X, y).transduction_, y, truth))
    ours = float(np.median(errors["ours"]))
    case = f"two moons, 7 of 400 labels, {n_draws} draws"
    metric = "median error, per cent; {}"
    note = f"mean {np.mean(errors['ours']):.2f}, {sum(e > 1 for e in errors['ours'])} draws above 1"
    default, greedy, spreading = (
        float(np.median(errors[key])) for key in ("default", "greedy", "spreading")
    )
    by_default = f"mean {np.mean(errors['default']):.2f}"
    rivals = {key: float(np.median(each)) for key, each in plain.items()}
    promise = metric.format("the promise")
    return [
        Row(
            f"{case}, defaults",
            promise,
            default,
            ERROR_BAR,
            bar=1.0,
            note=by_default,
            rivals=rivals,
        ),
        Row(case, promise, ours, ERROR_BAR, bar=1.0, note=note, rivals=rivals),
        Row(case, metric.format("Joachims' greedy solver"), ours, greedy),
        Row(case, metric.format("LabelSpreading, RBF"), ours, spreading),
    ]


def _clusters(n_draws: int) -> list[Row]:
    X, y, split = four_clusters()
    options: dict[str, Any] = {"C": 1.0, "kernel": "linear", "random_state": 0}
    ours = TransductiveSVC(**options, positive_ratio=None).fit(X, y)
    printed = maximise_jointly(problem_of_rows(ours, X, y), rng=np.random.default_rng(0)).fit
    cut = np.mean([_boundary_error(seed) for seed in range(n_draws)], axis=0)
    plain = classify_plainly([_labelled(X, split, y)], per_cent=False)
    alone = {LOGISTIC: plain[LOGISTIC]}
    parts = [three_clusters(seed) for seed in range(n_draws)]
    placed = classify_plainly((_labelled(X, s, y) for X, y, s in parts), per_cent=False)
    return [
        Row(
            "four clusters, 2 of 4 labels, linear",
            "right labels of 2; the horizontal split of the source",
            float((ours.transduction_[2:] == split[2:]).sum()),
            2.0,
            higher_is_better=True,
            bar=1.0,
            note=f"dual {ours.objective_:.3g}; as printed: dual {printed.objective:.3g}, "
            f"{int(((printed.labels > 0) == split[2:]).sum())} right",
            # The two rows are of different classes.
            rivals={CONSTANT: 1.0, GUESS: 1.0, **turned(alone, lambda error: 2.0 * (1.0 - error))},
        ),
        Row(
            f"three clusters, 4 of 150 labels, linear, {n_draws} draws",
            "rows within the margin's inner half; SVC of the labelled rows",
            float(cut[0]),
            float(cut[1]),
            bar=1.0,
            note="the boundary lies between the middle and the bottom cluster",
            # A constant has no boundary, or one on which all rows lie.
            rivals={CONSTANT: 150.0, "SVC of the labelled rows": float(cut[1])},
        ).above_rivals(),
        Row(
            f"three clusters, 4 of 150 labels, linear, {n_draws} draws",
            "share of rows on the right side of that boundary; all of them",
            1.0 - float(cut[2]),
            1.0,
            higher_is_better=True,
            bar=1.0,
            rivals=turned(placed, lambda error: 1.0 - error),
        ),
    ]


def _boundary_error(seed: int) -> tuple[float, float, float]:
    """Return rows nearer to the boundary than half the margin, ours and SVC's; rows misplaced."""
    from sklearn.svm import SVC

    X, y, split = three_clusters(seed)
    ours = TransductiveSVC(kernel="linear", random_state=0).fit(X, y).decision_function(X)
    plain = SVC(kernel="linear").fit(X[y >= 0], y[y >= 0]).decision_function(X)
    within = [float(np.count_nonzero(np.abs(scores) < 0.5)) for scores in (ours, plain)]
    return within[0], within[1], float(((ours > 0) != split).mean())


def _real(name: str, n_draws: int) -> list[Row]:
    X, truth = real_set(name)
    errors: dict[str, list[float]] = {}
    for draw in range(FIRST_DRAW, FIRST_DRAW + n_draws):
        y = drawn_labels(truth, N_EACH, draw)
        for key, predict in _competitors(X.shape[1], draw).items():
            errors.setdefault(key, []).append(_error(predict(X, y), y, truth))
    ours = np.array(errors.pop("ours"))
    case = f"{name}, {X.shape[0]} x {X.shape[1]}, 20 labels, {n_draws} draws"
    return [
        Row(
            case,
            f"mean error, per cent; {key}",
            float(ours.mean()),
            float(np.mean(errors[key])),
            note=_difference(ours - np.array(errors[key])),
        )
        for key in errors
    ]


def _competitors(n_features: int, draw: int) -> dict[str, Predict]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
    from sklearn.svm import SVC

    gamma = 1.0 / n_features
    ours = TransductiveSVC(C, C_unlabelled=C_UNLABELLED, gamma=gamma, stall=3, random_state=draw)
    calibrated = CalibratedClassifierCV(SVC(C=C, gamma=gamma), ensemble=False)
    training = SelfTrainingClassifier(calibrated)
    return {
        "ours": lambda X, y: ours.fit(X, y).transduction_,
        "SelfTraining of SVC": lambda X, y: training.fit(X, y).predict(X),
        "LabelSpreading, RBF": lambda X, y: LabelSpreading(gamma=gamma).fit(X, y).transduction_,
        "SVC of the labelled rows": lambda X, y: (
            SVC(C=C, gamma=gamma).fit(X[y >= 0], y[y >= 0]).predict(X)
        ),
    }


def _half_width(differences: Array) -> float:
    """Return half the 95 % interval of a mean paired difference."""
    from scipy.stats import t

    n = len(differences)
    return float(t.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n))


def _difference(differences: Array) -> str:
    """Return the mean paired difference with its 95 % interval, in words."""
    mean, half = float(differences.mean()), _half_width(differences)
    verdict = "no difference shown"
    if abs(mean) > half:
        verdict = "we win" if mean < 0 else "we lose"
    return f"ours minus theirs {mean:+.1f} +- {half:.1f}: {verdict}"


def _error(found: Any, y: Indices, truth: Indices) -> float:
    """Return the error among unlabelled rows, in per cent."""
    unlabelled = y < 0
    return 100.0 * float((np.asarray(found)[unlabelled] != truth[unlabelled]).mean())
