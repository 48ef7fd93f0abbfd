"""Regressions on a tree as families, and what they say: weights, lambda, ancestors.

`fit` fits any of the models by its name, in the same way; `regressions` offers them behind the
seam, and the rest turns fits into findings.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from parsimon._typing import Array, Indices
from parsimon.evaluation import holm
from parsimon.exceptions import InvalidInputError, ParsimonError
from parsimon.phylo import (
    PGLS,
    Model,
    PhyRVM,
    Tree,
    TreeGaussian,
    ancestral_predictions,
    ancestral_states,
)
from parsimon.phylo.ancestors import AncestralStates
from parsimon.report.findings import Interval
from parsimon.report.findings.trait_findings import (
    CALLED,
    MEANING,
    Ancestor,
    Coefficient,
    LambdaCurve,
    ModelName,
    PglsFinding,
    PhyRvmFinding,
    RootFinding,
    Weight,
)
from parsimon.statistician.families._size import ModelSize, size_of_numbers
from parsimon.statistician.families.family import (
    Family,
    Fitted,
    Prediction,
    Question,
    QuestionFit,
    SeenTable,
)
from parsimon.statistician.families.phylo._features import redundant_columns
from parsimon.statistician.families.phylo._species import Traits

if TYPE_CHECKING:
    import pandas as pd

# Enough for a narrow peak to look smooth.
CURVE_POINTS = 121
NORMAL = 1.959963984540054
# Least squares needs this many species more than coefficients to say anything.
_SPARE = 2
# Species up to which a trace is computed, and random vectors that estimate it beyond.
_ALL_SPECIES, _PROBES = 1000, 200


class FittedRegression(NamedTuple):
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

    def line(self, X: "pd.DataFrame") -> Array:
        """Return what the features alone say of rows that need be no tips; shape (m,)."""
        if self.pipeline is None:
            return np.full(len(X), self.constant)
        scaled = self.pipeline[:-1].transform(_columns(X, self.columns))
        model = self.regressor
        return model.intercept_ + scaled.to_numpy(dtype=np.float64) @ model.coef_


def fit_regression(
    name: ModelName, tree: Tree, X: "pd.DataFrame", y: "pd.Series[float]"
) -> FittedRegression:
    """Fit one of the models to standardised features.

    Least squares leaves out columns that the others determine among these species.

    Shapes: X (n, d), y (n,).
    """
    if name == "mean":
        return FittedRegression(name, (), None, float(np.mean(y)))
    columns = () if name == "relatives" else tuple(str(column) for column in X.columns)
    if name in ("ols", "pgls"):
        determined = set(redundant_columns(X))
        columns = tuple(column for column in columns if column not in determined)
        check_squares(len(X), len(columns))
    own = tree if name in ("relatives", "pgls", "phyrvm") else None
    model = PhyRVM(own) if name in ("rvm", "phyrvm") else PGLS(own)
    pipeline = Pipeline(
        [("scale", StandardScaler().set_output(transform="pandas")), ("model", model)]
    )
    with warnings.catch_warnings():
        # Whether it converged is among the findings.
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline.fit(_columns(X, columns), y)
    return FittedRegression(name, columns, pipeline, float("nan"))


def regression_size(fitted: FittedRegression, features: Sequence[str], n: int) -> ModelSize:
    """Return how large a regression fitted to n species is, and which features it uses.

    What relatives add is a smoother of the residuals, whose trace is its degrees of freedom: with
    the weights, the constant and lambda these are the numbers that the species determine.
    """
    model, places = fitted.regressor, {name: place for place, name in enumerate(features)}
    names, weights = fitted.columns, 1.0 + len(fitted.columns)
    if isinstance(model, PhyRVM):
        names = model.ranking().names
        # Without a constant of its own it measures from the mean, which is a number too.
        constant = 0.0 if len(model.posterior_.active) > len(names) else 1.0
        weights = constant + float(model.degrees_of_freedom_)
    of_tree = 0.0 if model is None or model.tree is None else 1.0 + _smoother_trace(model)
    used = [places[name] for name in names]
    return size_of_numbers(weights + of_tree, used, n_rows=n, n_columns=len(features))


def _smoother_trace(model: Any) -> float:
    """Return the trace of the smoother by which a regression's residuals speak for relatives.

    With V = lambda C + (1 - lambda) D, of which D is the diagonal of C, it is lambda C / V; its
    trace is n less (1 - lambda) times that of D / V.
    """
    gaussian = model.gaussian_
    n, own = len(gaussian.nodes), np.sqrt(gaussian.marginal_variance()[gaussian.nodes])
    share = float(model.lambda_)
    if share >= 1.0:
        return float(n)
    probes = np.eye(n)
    if n > _ALL_SPECIES:
        probes = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, _PROBES))
    white = gaussian.whiten(own[:, None] * probes)
    trace = float(np.sum(white**2)) / (1.0 if n <= _ALL_SPECIES else _PROBES)
    return max(0.0, n - (1.0 - share) * trace)


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


def pgls_finding(fitted: FittedRegression) -> tuple[PglsFinding, LambdaCurve]:
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
        residual_error=_residual_error(model),
        degrees_of_freedom=int(model.degrees_of_freedom_),
    )
    return found, curve


def _residual_error(model: PGLS) -> float:
    """Return the root of the residual sum of squares over its degrees of freedom."""
    share = len(model.fitted_values_) / model.degrees_of_freedom_
    return float(np.sqrt(model.variance_ * (share if model.method == "ML" else 1.0)))


def phyrvm_finding(
    fitted: FittedRegression, tree: Tree, y: "pd.Series[float]", kept: dict[str, int]
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
        prior=model.prior_,
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


def try_squares(
    tree: Tree, X: "pd.DataFrame", y: "pd.Series[float]"
) -> tuple[FittedRegression | None, str]:
    """Return phylogenetic least squares; None if it cannot be, and why."""
    try:
        return fit_regression("pgls", tree, X, y), ""
    except ParsimonError as error:
        return None, str(error)


def reconstruct(
    traits: Traits, leading: FittedRegression
) -> tuple[AncestralStates, tuple[RootFinding, ...]]:
    """Return the target at every node with Pagel's lambda, and the root by several ways."""
    states = ancestral_states(traits.tree, traits.measured, model="lambda")
    found = [_root("lambda", states)]
    try:
        found.append(_root("brownian", ancestral_states(traits.tree, traits.measured)))
        if leading.pipeline is not None and np.any(leading.regressor.coef_):
            X = traits.X[list(leading.columns)]
            # At the root nothing is left for relatives to say: conditional would be the same.
            line = ancestral_predictions(traits.tree, leading.pipeline, X, prediction="marginal")
            found.append(_root("line", line))
    except ParsimonError:
        # Two tips at one place make Brownian motion impossible, lambda below 1 not.
        return states, tuple(found)
    return states, tuple(found)


def _root(way: Any, states: AncestralStates) -> RootFinding:
    value = interval(states.mean[0, 0], states.lower[0, 0], states.upper[0, 0])
    return RootFinding(way=way, value=value)


def list_ancestors(states: AncestralStates) -> tuple[Ancestor, ...]:
    """Return all inner nodes, the root first."""
    tree = states.tree
    first, last, sizes = _ends(tree)
    return tuple(
        Ancestor(
            node=node,
            name=tree.name[node],
            first=tree.name[first[node]],
            last=tree.name[last[node]],
            n_tips=int(sizes[node]),
            depth=float(tree.depth[node]),
            value=interval(states.mean[node, 0], states.lower[node, 0], states.upper[node, 0]),
        )
        for node in states.nodes.tolist()
    )


def _ends(tree: Tree) -> tuple[Indices, Indices, Indices]:
    """Return for each node the first and the last tip below it, and how many there are."""
    nodes = np.arange(len(tree.parent))
    first, last, sizes = nodes.copy(), nodes.copy(), tree.is_tip.astype(np.intp)
    # From the last node up: of siblings the largest is seen first, the smallest last.
    for node in nodes[:0:-1]:
        above = tree.parent[node]
        first[above] = first[node]
        if last[above] == above:
            last[above] = last[node]
        sizes[above] += sizes[node]
    return first, last, sizes


_WITH_FEATURES: tuple[ModelName, ...] = ("mean", "relatives", "ols", "rvm", "pgls", "phyrvm")
_WITHOUT: tuple[ModelName, ...] = ("mean", "relatives")


@dataclass(frozen=True, kw_only=True)
class Regression(Family):
    """A regression of a trait on features of related species; its key is a `ModelName`."""

    tree: Tree

    def fit(
        self, seen: SeenTable, seed: np.random.SeedSequence, *, time_limit: float | None = None
    ) -> "RegressionFit":
        """Fit it to species; nothing is left to chance."""
        del seed, time_limit
        question, key = seen.questions[0], cast(ModelName, self.key)
        return RegressionFit(
            seen=seen, models=(fit_regression(key, self.tree, question.X, question.y),)
        )


def regressions(tree: Tree, *, features: bool = True) -> tuple[Regression, ...]:
    """Return all models that features allow, or that need none; the mean first."""
    return tuple(
        Regression(name=CALLED[name], key=name, kind="phylo", words=MEANING[name], tree=tree)
        for name in (_WITH_FEATURES if features else _WITHOUT)
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionFit(Fitted):
    """A regression that was fitted to species."""

    def predict(self, X: "pd.DataFrame", n_classes: int) -> Prediction:
        """Return means, and half the widths of 95 % intervals; NaN for the mean's."""
        del n_classes
        return Prediction(*self.models[0].predict(X))

    @cached_property
    def size(self) -> ModelSize:
        """Bits of its weights, and of what relatives add."""
        features = [str(column) for column in self.seen.X.columns]
        return regression_size(self.models[0], features, len(self.seen.values))

    def tell(self, X: "pd.DataFrame", outside: Sequence[Question]) -> tuple[QuestionFit, ...]:
        """Return which features it kept."""
        del X, outside
        return (QuestionFit(variables=self.columns),)
