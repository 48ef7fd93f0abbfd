"""The models that are compared, each fitted and asked in the same way."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from parsimon._typing import Array
from parsimon.evaluation.compare import holm
from parsimon.exceptions import InvalidInputError, ParsimonError
from parsimon.phylo import PGLS, Model, PhyRVM, Tree, TreeGaussian
from parsimon.report.findings import Interval
from parsimon.report.phylogeny.findings import (
    Coefficient,
    LambdaCurve,
    ModelName,
    PglsFinding,
    PhyRvmFinding,
    Weight,
)
from parsimon.statistician.phylogeny.columns import redundant_columns

if TYPE_CHECKING:
    import pandas as pd

# Enough for a narrow peak to look smooth.
CURVE_POINTS = 121
NORMAL = 1.959963984540054
# Fewer species than this for each feature, and degrees of freedom are penalised.
_SPECIES_A_FEATURE = 2
# Least squares needs this many species more than coefficients to say anything.
_SPARE = 2


class Fitted(NamedTuple):
    """A model and the columns it takes; the pipeline is None for the mean."""

    name: ModelName
    columns: tuple[str, ...]
    pipeline: Pipeline | None
    constant: float

    @property
    def regressor(self) -> Any:
        """The last step."""
        return None if self.pipeline is None else self.pipeline[-1]

    def predict(self, X: "pd.DataFrame") -> tuple[Array, Array]:
        """Return means, and half the widths of 95 % intervals; NaN for the mean's."""
        if self.pipeline is None:
            return np.full(len(X), self.constant), np.full(len(X), np.nan)
        mean, sd = self.pipeline.predict(_columns(X, self.columns), return_std=True)
        return mean, sd * _reach(self.regressor)


def fit(name: ModelName, tree: Tree, X: "pd.DataFrame", y: "pd.Series[float]") -> Fitted:
    """Fit one of the models to standardised features.

    Least squares leaves out columns that the others determine among these species.

    Shapes: X (n, d), y (n,).
    """
    if name == "mean":
        return Fitted(name, (), None, float(np.mean(y)))
    columns = () if name == "relatives" else tuple(str(one) for one in X.columns)
    if name in ("ols", "pgls"):
        determined = set(redundant_columns(X))
        columns = tuple(one for one in columns if one not in determined)
        check_squares(len(X), len(columns))
    own = tree if name in ("relatives", "pgls", "phyrvm") else None
    # Where features are many for the species, the evidence alone prefers to go through every value.
    prior: Any = "smooth" if len(columns) * _SPECIES_A_FEATURE >= len(X) else "ard"
    model = PhyRVM(own, prior=prior) if name in ("rvm", "phyrvm") else PGLS(own)
    pipeline = Pipeline(
        [("scale", StandardScaler().set_output(transform="pandas")), ("model", model)]
    )
    with warnings.catch_warnings():
        # Whether it converged is among the findings.
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline.fit(_columns(X, columns), y)
    return Fitted(name, columns, pipeline, float("nan"))


def check_squares(n: int, d: int) -> None:
    """Refuse least squares with too few species."""
    if n < d + 1 + _SPARE:
        raise InvalidInputError(
            f"Least squares with {d} features needs at least {d + 1 + _SPARE} species, and there "
            f"are {n}."
        )


def _columns(X: "pd.DataFrame", columns: Sequence[str]) -> "pd.DataFrame":
    import pandas as pd

    if columns:
        return X[list(columns)]
    # A regression on a constant alone: a column of zeros adds nothing to it.
    return pd.DataFrame({"nothing": np.zeros(len(X))}, index=X.index)


def _reach(regressor: Any) -> float:
    """Return half the width of a 95 % interval in standard deviations."""
    from scipy.stats import t

    if isinstance(regressor, PGLS):
        return float(t.ppf(0.975, regressor.degrees_of_freedom_))
    return NORMAL


def pgls_finding(fitted: Fitted) -> tuple[PglsFinding, LambdaCurve]:
    """Return what least squares found, and its likelihood along lambda."""
    model: PGLS = fitted.regressor
    curve = lambda_curve("pgls", model.profile(n_points=CURVE_POINTS))
    first = 1 if model.fit_intercept else 0
    ends = model.confidence_intervals()[first:]
    adjusted = holm(model.p_values_[first:].tolist()) if len(fitted.columns) else np.empty(0)
    coefficients = tuple(
        Coefficient(
            feature=feature,
            estimate=interval(estimate, *ends[place]),
            standard_error=float(model.standard_errors_[first + place]),
            t=float(model.t_values_[first + place]),
            p_value=float(model.p_values_[first + place]),
            adjusted_p_value=float(adjusted[place]),
        )
        for place, (feature, estimate) in enumerate(zip(fitted.columns, model.coef_, strict=True))
    )
    found = PglsFinding(
        pagel_lambda=curve.best,
        intercept=float(model.intercept_),
        coefficients=coefficients,
        log_likelihood=float(model.log_likelihood_),
        aic=float(model.aic_),
        bic=float(model.bic_),
        r_squared=float(model.r_squared_),
        residual_error=float(np.sqrt(model._fit.variance)),
        degrees_of_freedom=int(model.degrees_of_freedom_),
    )
    return found, curve


def phyrvm_finding(
    fitted: Fitted, tree: Tree, y: "pd.Series[float]", kept: dict[str, int]
) -> tuple[PhyRvmFinding, LambdaCurve]:
    """Return what the sparse regression found, and its evidence along lambda.

    Both have the same mode and interval of lambda, those of its posterior.

    Shapes: y (n,).
    """
    model: PhyRVM = fitted.regressor
    posterior, ranking = model.lambda_posterior(), model.ranking()
    weights = tuple(
        Weight(
            feature=feature,
            weight=interval(weight, weight - NORMAL * sd, weight + NORMAL * sd),
            deviation=float(sd),
            relevance=float(relevance),
            loss=float(loss),
            n_kept=kept.get(feature, 0),
        )
        for feature, weight, sd, relevance, loss in zip(
            ranking.names, ranking.coef, ranking.sd, ranking.relevance, ranking.loss, strict=True
        )
    )
    best = interval(posterior.mode, *posterior.interval)
    found = PhyRvmFinding(
        prior=model.prior,
        pagel_lambda=best,
        lambda_mean=float(posterior.mean),
        lambda_values=tuple(map(float, posterior.values)),
        lambda_density=tuple(map(float, posterior.density)),
        intercept=float(model.intercept_),
        weights=weights,
        log_evidence=float(model.log_evidence_),
        r_squared=_whitened_share(tree, y, model.fitted_values_, model.lambda_),
        converged=bool(model.converged_),
    )
    return found, replace(lambda_curve("phyrvm", model.profile()), best=best)


def lambda_curve(of: Any, profile: Any) -> LambdaCurve:
    """Return a profile as a finding; values without a height are left out."""
    known = np.isfinite(profile.log_likelihood)
    return LambdaCurve(
        of=of,
        values=tuple(map(float, profile.values[known])),
        heights=tuple(map(float, profile.log_likelihood[known])),
        best=interval(profile.estimate, *profile.interval),
    )


def interval(estimate: float, low: float, high: float) -> Interval:
    """Return an interval of plain numbers."""
    return Interval(estimate=float(estimate), low=float(low), high=float(high))


def _whitened_share(tree: Tree, y: "pd.Series[float]", line: Array, share: float) -> float:
    """Return the share of the whitened variation that the line explains, whatever its constant."""
    gaussian = TreeGaussian(tree, tips=tree.match(y)).with_model(Model(pagel_lambda=share))
    values = y.to_numpy(dtype=np.float64)
    white = gaussian.whiten(np.column_stack([np.ones(len(values)), values, values - line]))
    one, target, rest = white.T
    around, left = (part - one * (one @ part) / (one @ one) for part in (target, rest))
    return float(1.0 - left @ left / (around @ around))


def try_squares(tree: Tree, X: "pd.DataFrame", y: "pd.Series[float]") -> tuple[Fitted | None, str]:
    """Return phylogenetic least squares; None if it cannot be, and why."""
    try:
        return fit("pgls", tree, X, y), ""
    except ParsimonError as error:
        return None, str(error)
