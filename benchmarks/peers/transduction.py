"""Transduction: the toy sets of the source, and scikit-learn's semi-supervised classifiers.

Two moons: 7 of 400 rows have labels, 20 draws of data and labels, RBF with gamma = 5 and C = C* =
1; the bar is a median error of 1 %. Three and four clusters: a linear kernel. Among the guesses
with which the search begins are labels spread along graphs of nearest neighbours; the peers are
Joachims' greedy solver, which keeps the ratio of the labelled rows, and scikit-learn's
LabelSpreading with the same kernel.

Real sets: 10 labels of each class, standardised features, gamma = 1 / d for all, C = 10 for both
support vector machines and C* = C / 50. These two prices were fixed on other draws of the same
sets. Peers are SelfTrainingClassifier around SVC (calibrated by folds) and LabelSpreading; the
plain SVC of the labelled rows is there for information. Errors are in per cent of the unlabelled
rows, means over draws; notes give the half-width of the 95 % interval of the paired difference
and say where we lose.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers._transduction_data import (
    REAL_SETS,
    drawn_labels,
    four_clusters,
    moons,
    real_set,
    three_clusters,
)
from benchmarks.rows import Row
from parsimon._typing import Array, Indices
from parsimon.svm.transductive import TransductiveSVC

ERROR_BAR = 1.0
N_EACH = 10
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
        made = _moons(3 if quick else 20) + _clusters(1 if quick else 10)
        for name in REAL_SETS[:1] if quick else REAL_SETS:
            made += _real(name, 2 if quick else 10)
    return made


def _moons(n_draws: int) -> list[Row]:
    from sklearn.semi_supervised import LabelSpreading

    errors: dict[str, list[float]] = {"ours": [], "greedy": [], "spreading": []}
    for seed in range(n_draws):
        X, y, truth = moons(seed)
        models = {
            "ours": TransductiveSVC(gamma=5.0, random_state=seed),
            "greedy": TransductiveSVC(gamma=5.0, method="greedy", random_state=seed),
            "spreading": LabelSpreading(gamma=5.0),
        }
        for key, model in models.items():
            errors[key].append(_error(model.fit(X, y).transduction_, y, truth))
    ours = float(np.median(errors["ours"]))
    case = f"two moons, 7 of 400 labels, {n_draws} draws"
    metric = "median error, per cent; {}"
    note = f"mean {np.mean(errors['ours']):.2f}, {sum(e > 1 for e in errors['ours'])} draws above 1"
    greedy, spreading = (float(np.median(errors[key])) for key in ("greedy", "spreading"))
    return [
        Row(case, metric.format("the promise"), ours, ERROR_BAR, bar=1.0, note=note),
        Row(case, metric.format("Joachims' greedy solver"), ours, greedy),
        Row(case, metric.format("LabelSpreading, RBF"), ours, spreading),
    ]


def _clusters(n_draws: int) -> list[Row]:
    X, y, split = four_clusters()
    options: dict[str, Any] = {"kernel": "linear", "random_state": 0}
    ours = TransductiveSVC(**options, positive_ratio=None).fit(X, y)
    printed = TransductiveSVC(**options, positive_ratio=None, method="joint").fit(X, y)
    cut = np.mean([_boundary_error(seed) for seed in range(n_draws)], axis=0)
    return [
        Row(
            "four clusters, 2 of 4 labels, linear",
            "right labels of 2; the horizontal split of the source",
            float((ours.transduction_[2:] == split[2:]).sum()),
            2.0,
            higher_is_better=True,
            bar=1.0,
            note=f"dual {ours.objective_:.3g}; as printed: dual {printed.objective_:.3g}, "
            f"{int((printed.transduction_[2:] == split[2:]).sum())} right",
        ),
        Row(
            f"three clusters, 4 of 150 labels, linear, {n_draws} draws",
            "rows within the margin's inner half; SVC of the labelled rows",
            float(cut[0]),
            float(cut[1]),
            bar=1.0,
            note="the boundary lies between the middle and the bottom cluster",
        ),
        Row(
            f"three clusters, 4 of 150 labels, linear, {n_draws} draws",
            "share of rows on the right side of that boundary; all of them",
            1.0 - float(cut[2]),
            1.0,
            higher_is_better=True,
            bar=1.0,
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


def _difference(differences: Array) -> str:
    """Return the mean paired difference with its 95 % interval, in words."""
    from scipy.stats import t

    mean, n = float(differences.mean()), len(differences)
    half = float(t.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n))
    verdict = "no difference shown"
    if abs(mean) > half:
        verdict = "we win" if mean < 0 else "we lose"
    return f"ours minus theirs {mean:+.1f} +- {half:.1f}: {verdict}"


def _error(found: Any, y: Indices, truth: Indices) -> float:
    """Return the error among unlabelled rows, in per cent."""
    unlabelled = y < 0
    return 100.0 * float((np.asarray(found)[unlabelled] != truth[unlabelled]).mean())
