"""Which columns matter: the table of a sparse regression."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parsimon._typing import Array
from parsimon.inference.sparse_bayes import regression_evidence
from parsimon.phylo.functions import FEATURES

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.phylo.phyrvm import PhyRVM

_HEADS = ("relevance", "weight", "sd", "evidence lost")


@dataclass(frozen=True, eq=False)
class Ranking:
    """The columns in a model, the most relevant first.

    relevance (m,): Prior standard deviation of the weight times the standard deviation of the
        column: how much of y it may move, in the units of y.
    coef, sd (m,): Posterior mean and standard deviation of the weight.
    loss (m,): What the log evidence loses without the column, all else as it is.
    """

    names: tuple[str, ...]
    relevance: Array
    coef: Array
    sd: Array
    loss: Array

    def to_frame(self) -> "pd.DataFrame":
        """Return the table as a data frame."""
        import pandas as pd

        columns = (self.relevance, self.coef, self.sd, self.loss)
        return pd.DataFrame(dict(zip(_HEADS, columns, strict=True)), index=list(self.names))

    def __str__(self) -> str:
        numbers = np.column_stack([self.relevance, self.coef, self.sd, self.loss])
        rows = [
            [name, *(f"{value:.4g}" for value in line)]
            for name, line in zip(self.names, numbers, strict=True)
        ]
        table = [["", *_HEADS], *rows]
        widths = [max(len(row[j]) for row in table) for j in range(len(table[0]))]
        return "\n".join(
            "  ".join(
                [row[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            )
            for row in table
        )


def ranked(model: "PhyRVM") -> Ranking:
    """Return the columns of a fitted model, the constant left out."""
    posterior = model.posterior_
    first = model._first(posterior)
    places = posterior.active[first:] - model._n_ones
    relevance = model.relevance_[places]
    order = np.argsort(-relevance, kind="stable")
    names = _column_names(model)
    return Ranking(
        tuple(names[place] for place in places[order].tolist()),
        relevance[order],
        posterior.mean[first:][order],
        np.sqrt(np.diagonal(posterior.covariance))[first:][order],
        _losses(model)[first:][order],
    )


def _losses(model: "PhyRVM") -> Array:
    """Return what the log evidence loses without each column, precisions and noise as they are."""
    posterior = model.posterior_
    white = model._problem.whiten(model.lambda_)
    design = white.design[:, posterior.active]

    def height(alpha: Array) -> float:
        return regression_evidence(design, white.targets, alpha, model.noise_variance_)

    whole = height(posterior.alpha)
    without = np.where(np.eye(len(posterior.alpha), dtype=np.bool_), np.inf, posterior.alpha)
    return np.array([whole - height(alpha) for alpha in without])


def _column_names(model: "PhyRVM") -> list[str]:
    if not (isinstance(model.kernel, str) and model.kernel == FEATURES):
        if model.tree is None or model._positions is None:
            return [f"row {j}" for j in range(len(model.coef_))]
        return [model.tree.tip_names[place] for place in model._positions]
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]
