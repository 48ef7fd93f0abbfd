"""From one answered question to its study: all findings, with their pictures."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parsimon._typing import Array
from parsimon.report.findings import Honest, KernelSearchFindings, Picture, Study, Variable
from parsimon.statistician.checks import OutsidePredictions, check_findings
from parsimon.statistician.components import component_findings
from parsimon.statistician.interactions import interaction_findings
from parsimon.statistician.models import front_models
from parsimon.statistician.options import Options
from parsimon.statistician.pictures import study_pictures
from parsimon.statistician.subject import Subject
from parsimon.statistician.variables import variable_findings

if TYPE_CHECKING:
    from parsimon.gp import KernelSearch


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What a study is made from: the subject, its variables, and what the outer folds say."""

    subject: Subject
    honest: Honest | None
    outside: Array | None
    variables: tuple[Variable, ...]
    options: Options


def study_of(evidence: Evidence) -> tuple[Study, tuple[Picture, ...]]:
    """Return everything found about a question, and the pictures of it."""
    subject, options = evidence.subject, evidence.options
    front, knee, chosen, front_variables = front_models(subject)
    interactions = () if options.fast else interaction_findings(subject)
    positive = int(np.sum(subject.y == 1)) if subject.task == "classification" else 0
    study = Study(
        task=subject.task,
        positive=subject.positive,
        negative=subject.negative,
        n_positive=positive,
        n_negative=len(subject.y) - positive if subject.task == "classification" else 0,
        structure_found=subject.search.structure_found_,
        model=front[chosen],
        baseline=front[0],
        front=front,
        knee=knee,
        chosen=chosen,
        front_variables=front_variables,
        variables=variable_findings(subject, evidence.variables),
        components=component_findings(subject),
        interactions=interactions,
        honest=evidence.honest,
        checks=check_findings(subject, _outside(evidence.outside)),
        search=_search_findings(subject.search, options),
    )
    return study_pictures(subject, study)


def _outside(predictions: Array | None) -> OutsidePredictions | None:
    if predictions is None or np.isnan(predictions).all():
        return None
    seen = ~np.isnan(predictions)
    return OutsidePredictions(np.where(seen, predictions, 0.5), seen)


def _search_findings(search: "KernelSearch", options: Options) -> KernelSearchFindings:
    history = search.history_
    inference = "exact regression"
    if search.task_ == "classification":
        inference = "expectation propagation" if search.inference == "ep" else "Laplace's method"
    return KernelSearchFindings(
        n_candidates=len(history),
        n_cross_validated=sum(not math.isnan(one.error) for one in history),
        depth=options.depth_for(search.n_features_in_),
        beam=options.beam,
        base=options.base,
        guide=options.guide,
        n_folds=len(history.baseline.fold_errors),
        stopped_by=history.stopped_by,
        inference=inference,
        n_rows=len(search.problem_.y),
    )
