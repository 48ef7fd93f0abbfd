"""One job of the reproduction of Clark (2011), chapter 3: a data set, a scheme, a split.

Dictionaries, thresholds and complexity are the source's: bumps of three widths at every training
row and a bias, thresholds 0, 0.01, ..., 1, and C(alpha) as printed. After the search every member
of the archive is fitted again to all training rows; the most accurate on them is the scheme's
answer (section 3.6). Beside it run `ParetoRVC` on the same dictionary (exact thresholds, the number
of active columns as complexity, five folds) with its automatic choices of complexity, and what a
user gets who sets nothing: `RVC` and `ParetoRVC` with their defaults, the seed apart.
"""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.reproduce._clark_data import Split, load_split
from benchmarks.reproduce._clark_population import search_population
from benchmarks.reproduce._clark_tables import RVM
from benchmarks.reproduce._clark_widths import WIDTHS
from parsimon._typing import Array, Mask
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes import sparse_classification
from parsimon.kernels import MultiResolution
from parsimon.roc import front_area, roc_points, undominated_rates
from parsimon.rvm import RVC, ParetoRVC
from parsimon.rvm._dictionary import BasisFunctions, make_basis
from parsimon.rvm._problem import RelevanceProblem
from parsimon.rvm._search import ArchiveResult, ChosenColumns, search

FROM_RVM = "EA fRVM init"
# Ours: on the source's dictionary and with as many models as the searches have, or as they are.
SAME_DICTIONARY, RVC_DEFAULTS, PARETO_DEFAULTS = "same dictionary", "RVC()", "ParetoRVC()"
OURS = (SAME_DICTIONARY, RVC_DEFAULTS, PARETO_DEFAULTS)
# The source gives no step of its threshold grid; 0.01 is ours.
AS_PRINTED = {"complexity": "degrees_of_freedom", "thresholds": 0.01}
SETTINGS: dict[str, dict[str, Any]] = {
    "EA RVM": {**AS_PRINTED, "scheme": None},
    "Swap": {**AS_PRINTED, "scheme": "swap"},
    "Shuffle": {**AS_PRINTED, "scheme": "shuffle"},
    "Shuffle Strat": {**AS_PRINTED, "scheme": "stratified"},
    "H. Shuffle": {**AS_PRINTED, "scheme": "homogeneous"},
    "2 Fold": {**AS_PRINTED, "scheme": 2},
    "5 Fold": {**AS_PRINTED, "scheme": 5},
    "10 Fold": {**AS_PRINTED, "scheme": 10},
    "EA 10 mut": {**AS_PRINTED, "scheme": None, "mutations": 10},
    "NSGA-II": {"crossover": False},
    "NSGA-II + crossover": {"crossover": True},
    FROM_RVM: {**AS_PRINTED, "scheme": None},
}
# How `ParetoRVC` may choose from its front.
RULES = {
    "most accurate": "training_accuracy",
    "one standard error": "one_se",
    "knee": "knee",
}


@dataclass(frozen=True)
class Job:
    """What to run: how many models the search may fit, and without news how many in a row."""

    data_set: str
    scheme: str
    split: int
    n_evaluations: int
    stall: int | None

    def __str__(self) -> str:
        return f"{self.data_set}, {self.scheme}, split {self.split + 1}"


class Refitted(NamedTuple):
    """The points of an archive with weights of all training rows, in the archive's order.

    Rates are those of the training and of the test rows, accuracies are shares.
    """

    train_rates: Array
    test_rates: Array
    train_accuracy: Array
    test_accuracy: Array
    n_vectors: Array


def work(job: Job) -> dict[str, Any]:
    """Run a job and return plain numbers."""
    begin = time.process_time()
    split = load_split(job.data_set, job.split)
    dictionary = MultiResolution(WIDTHS[job.data_set])
    if job.scheme == SAME_DICTIONARY:
        measured = _same_dictionary(job, split, dictionary)
    elif job.scheme in OURS:
        measured = _defaults(job, split)
    else:
        basis = make_basis(dictionary, split.X_train, bias=True)
        measured = _rvm(split, basis) if job.scheme == RVM else _front(job, split, basis)
    return {**measured, "seconds": time.process_time() - begin}


def _same_dictionary(job: Job, split: Split, dictionary: MultiResolution) -> dict[str, Any]:
    model = ParetoRVC(
        dictionary, max_iter=job.n_evaluations, stall=job.stall, random_state=job.split
    ).fit(split.X_train, split.y_train)
    choices = {name: _machine_answer(model.select(rule), split) for name, rule in RULES.items()}
    return {"choices": choices, "areas": [], "n_points": len(model.front_)}


def _defaults(job: Job, split: Split) -> dict[str, Any]:
    """Fit with nothing set but the seed."""
    if job.scheme == RVC_DEFAULTS:
        machine = RVC().fit(split.X_train, split.y_train)
    else:
        model = ParetoRVC(random_state=job.split).fit(split.X_train, split.y_train)
        machine = model.best_estimator_
    return {"choices": {"defaults": _machine_answer(machine, split)}, "areas": []}


def _machine_answer(machine: RVC, split: Split) -> dict[str, float]:
    return {
        "train": 100.0 * float(machine.score(split.X_train, split.y_train)),
        "test": 100.0 * float(machine.score(split.X_test, split.y_test)),
        "vectors": len(machine.relevance_),
    }


def _rvm(split: Split, basis: BasisFunctions) -> dict[str, Any]:
    found = sparse_classification(basis.design(split.X_train), split.y_train)
    chosen = basis.columns(found.active)
    train, test = (chosen.design(X) @ found.mean for X in (split.X_train, split.X_test))
    answer = {
        "train": _percentage((train > 0) == (split.y_train > 0)),
        "test": _percentage((test > 0) == (split.y_test > 0)),
        "vectors": int(np.sum(found.active > 0)),
    }
    curves = [roc_points(split.y_train, train), roc_points(split.y_test, test)]
    areas = [front_area(curve.fpr, curve.tpr) for curve in curves]
    return {"choices": {"printed": answer}, "areas": areas, "stopped_by": found.reason}


def _front(job: Job, split: Split, basis: BasisFunctions) -> dict[str, Any]:
    design = basis.design(split.X_train)
    problem = RelevanceProblem(design, split.y_train, has_bias=True, inputs=split.X_train)
    settings = SETTINGS[job.scheme]
    if job.scheme == FROM_RVM:
        machine = sparse_classification(design, split.y_train)
        settings = {**settings, "start": ChosenColumns(machine.active, machine.alpha)}
    limits: dict[str, Any] = {"max_evaluations": job.n_evaluations, "random_state": job.split}
    if "crossover" in settings:
        found = search_population(problem, **settings, **limits)
    else:
        found = search(problem, **settings, **limits, max_iter=job.n_evaluations, stall=job.stall)
    refitted = _refit(found, design, basis, split)
    # Ties go to the least complex, then to the fewest vectors.
    accuracy = refitted.train_accuracy.round(12)
    chosen = int(np.lexsort((refitted.n_vectors, found.values[:, 2], -accuracy))[0])
    fpr, tpr = refitted.train_rates
    kept = undominated_rates(fpr, tpr)
    areas = [front_area(*rates[:, kept]) for rates in (refitted.train_rates, refitted.test_rates)]
    return {
        "choices": {"printed": _answer(refitted, chosen)},
        "areas": areas,
        "stopped_by": found.stopped_by,
        "n_points": len(found.values),
        "n_iter": found.n_iter,
        "n_evaluations": found.n_evaluations,
    }


def _refit(found: ArchiveResult, design: Array, basis: BasisFunctions, split: Split) -> Refitted:
    """Fit every model of the archive to all training rows and measure all of its points."""
    used = np.unique(np.concatenate([model.active for model in found.models]))
    test_design = basis.columns(used).design(split.X_test)
    n_points = len(found.cutoffs)
    rates = np.empty((2, 2, n_points))
    accuracies = np.empty((2, n_points))
    n_vectors = np.empty(n_points)
    for number, model in enumerate(found.models):
        points = found.which == number
        mode = logistic_mode(
            design[:, model.active], split.y_train, model.alpha, largest_score=30.0
        )
        test_scores = test_design[:, np.searchsorted(used, model.active)] @ mode.weights
        for part, (scores, labels) in enumerate(
            ((mode.scores, split.y_train), (test_scores, split.y_test))
        ):
            positive = scores > found.cutoffs[points, None]
            rates[part][:, points] = _rates(positive, labels > 0)
            accuracies[part, points] = np.mean(positive == (labels > 0), axis=1)
        n_vectors[points] = np.sum(model.active > 0)
    return Refitted(rates[0], rates[1], accuracies[0], accuracies[1], n_vectors)


def _rates(positive: Mask, labels: Mask) -> Array:
    """Return false and true positive rates, shape (2, k), of k rows of predictions."""
    return np.array([positive[:, ~labels].mean(axis=1), positive[:, labels].mean(axis=1)])


def _answer(refitted: Refitted, place: int) -> dict[str, float]:
    return {
        "train": 100.0 * float(refitted.train_accuracy[place]),
        "test": 100.0 * float(refitted.test_accuracy[place]),
        "vectors": int(refitted.n_vectors[place]),
    }


def _percentage(right: Mask) -> float:
    return 100.0 * float(right.mean())
