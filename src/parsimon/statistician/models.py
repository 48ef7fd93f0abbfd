"""Kernels that were judged, as findings: in symbols and words, with numbers and a ROC curve."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import finite_vector
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.gp import Candidate, KernelSearch, fit_classifier, fit_regressor
from parsimon.inference import LatentPosterior
from parsimon.inference.likelihoods import positive_probability
from parsimon.kernels import Constant, Kernel, Sum, kind, plain, spoken, structure
from parsimon.report.findings import Interval, Model, Roc
from parsimon.roc import auc_interval, roc_hull, roc_points
from parsimon.statistician.subject import Subject


class FrontModels(NamedTuple):
    """The models of both fronts, each in increasing size from the baseline on.

    front: What each further base kernel buys, and the chosen model.
    knee, chosen: Places in `front`.
    front_variables: What each further variable buys.
    """

    front: tuple[Model, ...]
    knee: int
    chosen: int
    front_variables: tuple[Model, ...]


def model_of(candidate: Candidate, names: Sequence[str], roc: Roc | None = None) -> Model:
    """Return a judged kernel as a finding.

    A constant beside other terms only moves the level, so that words and kind leave it out.
    """
    kernel, evidences = candidate.kernel, candidate.fold_log_evidences
    varying = _without_constants(kernel)
    return Model(
        expression=plain(kernel, names),
        symbols=plain(kernel),
        words=spoken(varying, names),
        kind=kind(varying),
        variables=tuple(str(names[column]) for column in candidate.columns),
        n_kernels=candidate.n_base,
        error=candidate.error,
        standard_error=candidate.standard_error,
        log_loss=candidate.log_loss,
        negative_log_evidence=-candidate.log_evidence,
        fold_negative_log_evidence=-float(np.mean(evidences)) if evidences else float("nan"),
        roc=roc,
    )


def roc_of(y: Any, probability: Any, *, most_points: int = 80) -> Roc:
    """Return a ROC curve of few points, with the AUC and its interval.

    The ends and the vertices of the convex hull always stay; the others are thinned evenly
    along the curve.

    Shapes: y (n,), probability (n,).
    """
    if most_points < 2:
        raise InvalidInputError(f"most_points must be 2 or more, got {most_points}.")
    scores = finite_vector(probability, "probability")
    fpr, tpr, _ = roc_points(y, scores, pos_label=1)
    # Each point calls one distinct score more positive than the one before, the first none.
    least = np.append(_beyond(scores), np.unique(scores)[::-1])
    kept = _thinned(fpr, tpr, most_points)
    area = auc_interval(y, scores, pos_label=1)
    n_positive = int(np.sum(np.asarray(y) == 1))
    return Roc(
        fpr=tuple(fpr[kept].tolist()),
        tpr=tuple(tpr[kept].tolist()),
        thresholds=tuple(least[kept].tolist()),
        n_positive=n_positive,
        n_negative=len(scores) - n_positive,
        auc=Interval(
            estimate=area.auc, low=area.lower, high=area.upper, confidence=area.confidence
        ),
    )


def posterior_of(search: KernelSearch, candidate: Candidate) -> LatentPosterior:
    """Return the posterior of a candidate on the rows of its search.

    For a number the function is that of the standardised target.
    """
    problem, kernel = search.problem_, candidate.kernel
    if problem.task == "regression":
        return fit_regressor(
            kernel,
            problem.X,
            problem.y,
            noise_variance=candidate.noise_variance,
            optimise=False,
        ).posterior
    return fit_classifier(
        kernel, problem.X, problem.y, inference=problem.inference, optimise=False
    ).posterior


def front_models(subject: Subject) -> FrontModels:
    """Return the models of both fronts, with ROC curves from leave-one-out.

    The chosen model joins the front if it is not on it: another guide than the error may have
    chosen it, or the one-standard-error rule.
    """
    search = subject.search
    write = _writer(subject)
    by_kernels = search.history_.front("kernels")
    knee: Candidate = by_kernels.solution(by_kernels.knee())
    chosen = search.best_candidate_
    members = _in_order(by_kernels.solution(row) for row in range(len(by_kernels)))
    places = [structure(one.kernel) for one in members]
    if structure(chosen.kernel) not in places:
        members = _in_order([*members, chosen])
        places = [structure(one.kernel) for one in members]
    by_variables = search.history_.front("variables")
    fewer = sorted(
        (by_variables.solution(row) for row in range(len(by_variables))),
        key=lambda one: (len(one.columns), one.error),
    )
    return FrontModels(
        tuple(map(write, members)),
        places.index(structure(knee.kernel)),
        places.index(structure(chosen.kernel)),
        tuple(map(write, fewer)),
    )


def _in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda one: (one.n_base, -one.error))


def _writer(subject: Subject) -> Callable[[Candidate], Model]:
    """Return a function that writes candidates, computing the curve of each but once."""
    search, curves = subject.search, dict[Any, Roc | None]()

    def write(candidate: Candidate) -> Model:
        key = structure(candidate.kernel)
        if key not in curves:
            curves[key] = _left_out_roc(search, candidate)
        return model_of(candidate, subject.names, curves[key])

    return write


def _left_out_roc(search: KernelSearch, candidate: Candidate) -> Roc | None:
    problem = search.problem_
    if problem.task == "regression":
        return None
    posterior = posterior_of(search, candidate)
    labels = (problem.y > 0).astype(np.intp)
    if isinstance(candidate.kernel, Constant):
        # Leaving a row out lowers the share of its own class, so that leave-one-out would rank
        # all rows the wrong way round; a constant ranks none.
        latent = posterior.latent(problem.X[:1])
        level = np.full(len(labels), positive_probability(latent)[0])
        return replace(roc_of(labels, level), auc=Interval(estimate=0.5, low=0.5, high=0.5))
    return roc_of(labels, positive_probability(posterior.leave_one_out()))


def _without_constants(kernel: Kernel) -> Kernel:
    """Return a sum without its constants; what is nothing else stays as it is."""
    if not isinstance(kernel, Sum):
        return kernel
    terms = [term for term in kernel.terms if not isinstance(term, Constant)]
    if len(terms) < 2:
        return terms[0] if terms else kernel
    return Sum(tuple(terms))


def _beyond(scores: Array) -> float:
    """Return a threshold that no score reaches."""
    greatest = float(scores.max())
    return 1.0 if greatest < 1 else float(np.nextafter(greatest, np.inf))


def _thinned(fpr: Array, tpr: Array, most_points: int) -> Indices:
    """Return the places of the points that stay, in order."""
    everything = np.arange(len(fpr))
    if len(fpr) <= most_points:
        return everything
    hull = roc_hull(fpr, tpr).rows
    kept = np.unique(np.concatenate([[0, len(fpr) - 1], hull[hull >= 0]]))
    spare = max(0, most_points - len(kept))
    # Half of the way round the unit square, walked along the curve.
    way = fpr + tpr
    stops = np.searchsorted(way, np.linspace(0, 2, spare + 2)[1:-1])
    return np.union1d(kept, np.minimum(stops, len(fpr) - 1))
