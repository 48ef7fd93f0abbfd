"""What the model of a subject predicts for its own rows, each row left out where that is cheap."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.statistician.subject import Subject

Source: TypeAlias = Literal["leave-one-out", "training rows"]


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnPredictions:
    """Predictions of the rows of a subject by its own model.

    value (n,): Probability of the positive class, or the predicted number.
    deviation (n,): Standard deviation of a new observation; zero for classes, whose probability
        says it all.
    source: Whether each row was left out. A model with inducing points cannot leave rows out
        without a new fit, so that its predictions have seen their own rows.
    """

    value: Array
    deviation: Array
    source: Source


def own_predictions(subject: Subject) -> OwnPredictions:
    """Predict the rows of a subject by its own model, without each row where that is possible."""
    model = subject.model
    # A model of some of the rows can leave out only those.
    if hasattr(model, "leave_one_out"):
        without = model.leave_one_out()
        if subject.task == "classification" and len(without.probability) == len(subject.y):
            return _classes(without.probability[:, 1], "leave-one-out")
        if subject.task == "regression" and len(without.mean) == len(subject.y):
            return OwnPredictions(value=without.mean, deviation=without.sd, source="leave-one-out")
    if subject.task == "classification":
        return _classes(model.predict_proba(subject.X)[:, 1], "training rows")
    mean, deviation = model.predict(subject.X, return_std=True, include_noise=True)
    return OwnPredictions(value=mean, deviation=deviation, source="training rows")


def _classes(probability: Array, source: Source) -> OwnPredictions:
    return OwnPredictions(
        value=np.asarray(probability, dtype=np.float64),
        deviation=np.zeros(len(probability)),
        source=source,
    )
