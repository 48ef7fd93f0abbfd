"""The phylogenetic relevance vector machine with scikit-learn's interface.

`Functions` are the columns that it chooses from (features, or similarities with rows), `PhyRVM` is
the estimator, and `Ranking` the table of the columns that matter.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_probability, finite_matrix
from parsimon._parallel import one_thread
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes, regression_evidence
from parsimon.inference.sparse_bayes.design import Prior, Smoothness
from parsimon.kernels.adapters import as_kernel
from parsimon.phylo._evolution import Model, check_parameter
from parsimon.phylo._lambda_evidence import (
    EvidenceCurve,
    LambdaPosterior,
    TreeRegression,
    integrate,
    maximise_over_lambda,
    without_rounding,
)
from parsimon.phylo._likelihood import Estimate, Profile, profile
from parsimon.phylo._tips import (
    TreeRegressor,
    check_tree,
    feature_names,
    mean_unsure,
    relatives,
    tip_gaussian,
)
from parsimon.phylo.pgls import check_limits, write_columns
from parsimon.phylo.tree import Tree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FEATURES = "features"
# Nats of log evidence. A column that tells nothing adds more in 8 of 1000 tables: its gain is half
# of z^2 - log z^2 - 1 for a score z.
PRICE = 2.0
# Rows for each feature below which degrees of freedom are penalised.
_ROWS_A_FEATURE = 2


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions of a row: its features, or its similarities with training rows.

    kernel: ``kernel(X, Z)`` returns similarities, shape (n, m); None takes the features
        themselves.
    centres (m, d): Training rows whose similarities are the columns.
    chosen (k,): Which features, or which centres.
    """

    kernel: Callable[[Any, Any], Any] | None
    centres: Array | None
    chosen: Indices

    def __call__(self, X: Array) -> Array:
        """Return the chosen functions at rows, shape (n, k)."""
        if self.kernel is None or self.centres is None:
            return X[:, self.chosen]
        if not len(self.chosen):
            return np.empty((len(X), 0))
        values = finite_matrix(self.kernel(X, self.centres[self.chosen]), "Kernel values")
        if values.shape != (len(X), len(self.chosen)):
            raise InvalidInputError(
                f"The kernel returned shape {values.shape} for {len(X)} rows and "
                f"{len(self.chosen)} centres; it must return ({len(X)}, {len(self.chosen)})."
            )
        return values

    def take(self, chosen: Indices) -> "Functions":
        """Return some of the functions, which then cost those alone."""
        return Functions(self.kernel, self.centres, self.chosen[chosen])


def make_functions(kernel: Any, X: Array, *, gamma: float | str = "scale") -> Functions:
    """Return the functions that a kernel, its name in SVC, or "features" stands for."""
    if isinstance(kernel, str) and kernel == FEATURES:
        return Functions(None, None, np.arange(X.shape[1]))
    if isinstance(kernel, str):
        kernel = as_kernel(kernel, gamma=gamma, X=X)
    if not callable(kernel):
        raise InvalidInputError(
            f'kernel must be "{FEATURES}", a name as in SVC, a parsimon kernel or a callable; got '
            f"{kernel!r}."
        )
    return Functions(kernel, X, np.arange(len(X)))


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
        return write_columns([["", *_HEADS], *rows])


def rank_columns(model: "PhyRVM") -> Ranking:
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
        column_losses(model._problem, model.lambda_, posterior)[first:][order],
    )


def column_losses(problem: TreeRegression, share: float, posterior: SparseBayes) -> Array:
    """Return what the log evidence loses without each column, precisions and noise as they are.

    The columns are those of the posterior, shape (m,).
    """
    columns, targets, _ = problem.whiten(share)
    design, noise = columns[:, posterior.active], float(posterior.noise_variance or 0.0)

    def height(alpha: Array) -> float:
        return regression_evidence(design, targets, alpha, noise)

    whole = height(posterior.alpha)
    without = np.where(np.eye(len(posterior.alpha), dtype=np.bool_), np.inf, posterior.alpha)
    return np.array([whole - height(alpha) for alpha in without])


def cheapest_column(problem: TreeRegression, share: float, posterior: SparseBayes) -> int | None:
    """Return the column that adds least to the log evidence, if that is less than its price.

    The constant, a column of ones, has no price.
    """
    varies = np.ptp(problem.design[:, posterior.active], axis=0) > 0
    if not varies.any():
        return None
    losses = np.where(varies, column_losses(problem, share, posterior), np.inf)
    least = int(losses.argmin())
    return int(posterior.active[least]) if losses[least] < PRICE else None


def _column_names(model: "PhyRVM") -> list[str]:
    if not (isinstance(model.kernel, str) and model.kernel == FEATURES):
        if model.tree is None or model._positions is None:
            return [f"row {j}" for j in range(len(model.coef_))]
        return [model.tree.tip_names[place] for place in model._positions]
    return feature_names(model)


class PhyRVM(TreeRegressor):
    r"""Sparse linear regression for related species: which features matter, given the tree.

    Residuals evolve along the tree as in `PGLS`, and the weight of each feature has a prior
    precision of its own. Maximising the evidence sends most precisions to infinity, so that few
    features remain [1]_. Lambda is sought where the same evidence is highest, and each evaluation
    takes time linear in the tips. Without a tree this is the relevance vector machine [2]_.

    Parameters
    ----------
    tree : Tree, optional
        With all tips that will be fitted or predicted; more do no harm.
    kernel : str, Kernel or callable
        "features" chooses among the columns of X. "rbf", "linear", "poly", "sigmoid" and
        "laplacian", with the meaning they have in SVR, a kernel of `parsimon.kernels` and a
        callable ``k(X, Z)`` choose among similarities with the training rows.
    gamma : float, "scale" or "auto"
        Width of the named kernels, as in SVR.
    prior : {"auto", "ard", "priced", "smooth"}
        "ard", that of [1]_, has no preference among precisions, and keeps about one in four of
        the columns that tell nothing. "priced" takes columns out again, the least first, until
        each adds at least 2 to the log evidence. "smooth" penalises degrees of freedom [3]_; it
        is the one where columns are many, because "ard" then goes through every value. "auto" is
        "priced" for features, "smooth" if there are half as many of them as rows or more, and
        "ard" for a kernel.
    smoothness : {"bic", "aic", "ric"} or float
        What a degree of freedom costs under "smooth".
    pagel_lambda : "ML" or float
        How much of the tree is in the residuals, from 0, none, to 1, all; "ML" estimates it by
        maximising the evidence.
    fit_intercept : bool
        Measure y from its mean, and let a constant be among the columns.
    bounds : tuple
        Where lambda is sought; a greatest of "max" is that of `PGLS`.
    tips : str, int or None
        How rows find their tips, as in `PGLS`.
    prediction : {"conditional", "marginal"}
        Whether `predict` uses the residuals of relatives, or the regression line alone.
    max_iter : int
        Steps of each sparse regression.
    tol : float
        Change in the logarithms of precisions that does not matter.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights, zero for what is not in the model. With a kernel d is the number of training
        rows, here and below.
    intercept_ : float
    alpha_ : ndarray of shape (d,)
        Prior precisions, infinite for what is not in the model.
    relevance_ : ndarray of shape (d,)
        How much of y each column may move, in the units of y: the standard deviation of the
        column over the root of its precision, zero for what is not in the model.
    lambda_ : float
    noise_variance_ : float
        Rate of the residuals, per unit of branch length.
    log_evidence_ : float
        Log marginal likelihood of y; lambda maximises it, less the penalty of a "smooth" prior.
    degrees_of_freedom_ : float
        Sum over the weights of how far the data determine them.
    fitted_values_ : ndarray of shape (n,)
        The regression line at the training rows.
    estimated_ : tuple of str
        ("lambda",) if it was estimated.
    model_ : Model
    prior_ : str
        "ard", "priced" or "smooth".
    posterior_ : SparseBayes
        Over the weights of the chosen columns, the constant being column 0 if there is one.
    converged_ : bool
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    A feature far from zero in units of its spread is nearly a constant: standardise such columns,
    in a Pipeline with ``set_output(transform="pandas")``, which keeps the names of the tips.

    Which columns remain is found step by step, as in every such machine, so that the evidence is
    at a local maximum, which may change a little with lambda. A price means that weak columns may
    be missed where rows are few: ``prior="ard"`` keeps more of them, with more that tell nothing.

    Random folds leave close relatives of every test row in training, so that scores of
    conditional predictions look better than they are for a new clade: use `CladeKFold`. At a
    training tip the conditional prediction is the value seen there.

    References
    ----------
    .. [1] Fearn (2021), PhD thesis, University of Bristol, chapter 5.
    .. [2] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1.
    .. [3] Schmolck and Everson (2007), "Smooth relevance vector machine: a smoothness prior
       extension of the RVM", Machine Learning 68.

    Examples
    --------
    >>> from parsimon.phylo import brownian_traits, yule_tree
    >>> tree = yule_tree(80, random_state=0)
    >>> table = brownian_traits(tree, 6, random_state=0)
    >>> noise = brownian_traits(tree, pagel_lambda=0.8, random_state=1)["trait1"]
    >>> y = 1 + 2 * table["trait1"] - table["trait4"] + 0.3 * noise
    >>> model = PhyRVM(tree).fit(table[:60], y[:60])
    >>> list(model.ranking().names[:2])
    ['trait1', 'trait4']
    >>> mean, sd = model.predict(table[60:], return_std=True)
    >>> bool(np.mean(abs(mean - y[60:]) < 2 * sd) > 0.8)
    True
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        kernel: Any = FEATURES,
        gamma: float | str = "scale",
        prior: Prior | Literal["auto", "priced"] = "auto",
        smoothness: Smoothness = "bic",
        pagel_lambda: float | Literal["ML"] = "ML",
        fit_intercept: bool = True,
        bounds: tuple[Any, Any] = (0.0, 1.0),
        tips: str | int | None = None,
        prediction: Literal["conditional", "marginal"] = "conditional",
        max_iter: int = 5000,
        tol: float = 1e-3,
    ) -> None:
        self.tree = tree
        self.kernel = kernel
        self.gamma = gamma
        self.prior = prior
        self.smoothness = smoothness
        self.pagel_lambda = pagel_lambda
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.tips = tips
        self.prediction = prediction
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the columns, and estimate their weights, the noise and lambda.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            With tips in the index or in a column: see `tips`.
        y : array-like of shape (n,)
            In the order of X; a Series with tip names in another order is refused.

        Returns
        -------
        PhyRVM
            Itself.
        """
        self._check_options()
        features, self._positions = self._read(X, y)
        functions = make_functions(self.kernel, features, gamma=self.gamma)
        columns = functions(features)
        self.prior_ = self._choose_prior(columns)
        self._centre = float(np.mean(self._y)) if self.fit_intercept else 0.0
        problem = TreeRegression(
            tip_gaussian(self.tree, self._positions),
            _with_ones(columns) if self.fit_intercept else columns,
            without_rounding(self._y - self._centre, self._y),
            self.max_iter,
            self.tol,
            "smooth" if self.prior_ == "smooth" else "ard",
            self.smoothness,
        )
        # The matrices are narrow: more threads would take longer.
        with one_thread():
            share, posterior = self._estimate(problem)
            while self.prior_ == "priced":
                column = cheapest_column(problem, share, posterior)
                if column is None:
                    break
                problem = problem.without(column)
                share, posterior = self._estimate(problem)
        self._problem = problem
        self._functions = functions.take(posterior.active[self._first(posterior) :] - self._n_ones)
        self._store(share, posterior, columns)
        return self

    def ranking(self) -> Ranking:
        """Return the columns in the model, the most relevant first; print it to read it."""
        check_is_fitted(self)
        return rank_columns(self)

    def lambda_posterior(self, *, level: float = 0.95, n_points: int = 32) -> LambdaPosterior:
        """Return the posterior of lambda, flat before the data between the bounds.

        Precisions and noise are at their best for each lambda, as in the fit.

        Parameters
        ----------
        level : float
            Of the interval.
        n_points : int
            Values of lambda in the quadrature.
        """
        level = check_probability("level", level)
        n_points = check_count("n_points", n_points, least=3)
        curve = self._curve_from_here()
        with one_thread():
            return integrate(
                curve.height, self._limits, self.lambda_, level=level, n_points=n_points
            )

    def profile(self, *, level: float = 0.95, n_points: int = 41) -> Profile:
        """Return how the log evidence depends on lambda, all else at its best.

        Under a "smooth" prior it is the log evidence less the penalty. The interval of probability
        `level` takes these heights for likelihoods.
        """
        level = check_probability("level", level)
        n_points = check_count("n_points", n_points, least=3)
        curve = self._curve_from_here()
        best = Estimate({"lambda": self.lambda_}, self.posterior_.objective)
        with one_thread():
            found = profile(
                lambda values: curve.height(values["lambda"]),
                "lambda",
                {"lambda": self._limits},
                best,
                level,
                n_points,
            )
        penalty = " less penalty" if self.prior_ == "smooth" else ""
        return replace(found, scale=f"log evidence{penalty}")

    def plot_profile(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the log evidence of lambda."""
        return self.profile().plot(ax)

    def _estimate(self, problem: TreeRegression) -> tuple[float, SparseBayes]:
        self._found: dict[float, SparseBayes] = {}
        self.estimated_: tuple[str, ...] = ()
        if problem.gaussian is None:
            return 0.0, problem.fit(0.0)
        if self.pagel_lambda != "ML":
            return float(self.pagel_lambda), problem.fit(float(self.pagel_lambda))
        self._limits = self._check_bounds(problem)
        self.estimated_ = ("lambda",)
        curve = maximise_over_lambda(problem, self._limits)
        self._found = curve.found
        return curve.best

    def _curve_from_here(self) -> EvidenceCurve:
        """Return the evidence of lambda with what the fit found, which does not change."""
        check_is_fitted(self)
        if not self.estimated_:
            raise InvalidInputError(
                'lambda was not estimated: give a tree and pagel_lambda="ML" to learn about it.'
            )
        return EvidenceCurve(self._problem, self._found)

    def _store(self, share: float, posterior: SparseBayes, columns: Array) -> None:
        self.lambda_, self.posterior_ = share, posterior
        self.model_ = Model(pagel_lambda=share)
        gaussian = self._problem.gaussian
        self.gaussian_ = None if gaussian is None else gaussian.with_model(self.model_)
        first = self._first(posterior)
        places = posterior.active[first:] - self._n_ones
        self.coef_ = np.zeros(columns.shape[1])
        self.coef_[places] = posterior.mean[first:]
        self.alpha_ = np.full(columns.shape[1], np.inf)
        self.alpha_[places] = posterior.alpha[first:]
        self.relevance_ = np.std(columns, axis=0) / np.sqrt(self.alpha_)
        self.intercept_ = self._centre + (float(posterior.mean[0]) if first else 0.0)
        self._design = self._problem.design[:, posterior.active]
        self.fitted_values_ = self._centre + self._design @ posterior.mean
        self.noise_variance_ = float(posterior.noise_variance or 0.0)
        self.log_evidence_ = posterior.log_evidence
        self.degrees_of_freedom_ = float(posterior.well_determined.sum())
        self.converged_, self.n_iter_ = posterior.converged, posterior.n_iter
        if not posterior.converged:
            warnings.warn(
                f"The fit stopped early: {posterior.reason} Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def at_nodes(self, features: Array, nodes: Indices | None, kind: str) -> tuple[Array, Array]:
        """Return means and standard deviations at nodes of the tree with these features."""
        posterior = self.posterior_
        design = self._functions(features)
        if self._first(posterior):
            design = _with_ones(design)
        rest = self._y - self.fitted_values_
        shift, spread, unsure = relatives(
            self.gaussian_, rest, self._design, design, posterior.covariance, nodes=nodes, kind=kind
        )
        if self.gaussian_ is not None and self.fit_intercept and not self._first(posterior):
            # Without a constant the model measures from the mean of y, which relatives share.
            spread = spread + mean_unsure(self.gaussian_, nodes=nodes, kind=kind)
        mean = self._centre + design @ posterior.mean + shift
        return mean, np.sqrt(np.maximum(self.noise_variance_ * spread + unsure, 0.0))

    @property
    def _n_ones(self) -> int:
        return int(self.fit_intercept)

    def _first(self, posterior: SparseBayes) -> int:
        """Return 1 if the constant is in the model, where it is the first column."""
        return int(self.fit_intercept and bool((posterior.active[:1] == 0).any()))

    def _check_bounds(self, problem: TreeRegression) -> tuple[float, float]:
        tree = self.tree
        if tree is None or not float(tree.depth.max()) > 0:
            raise InvalidInputError("The tree has height zero: all tips are at its root.")
        if not problem.targets.any():
            raise InvalidInputError(
                "All values of y are equal, so that lambda cannot be estimated; give "
                "pagel_lambda as a number."
            )
        return check_limits("lambda", self.bounds, tree)

    def _choose_prior(self, columns: Array) -> Prior | Literal["priced"]:
        if self.prior != "auto":
            return self.prior
        chosen = isinstance(self.kernel, str) and self.kernel == FEATURES
        if not chosen:
            return "ard"
        n, d = columns.shape
        return "smooth" if d * _ROWS_A_FEATURE >= n else "priced"

    def _check_options(self) -> None:
        check_tree(self.tree)
        check_parameter("pagel_lambda", self.pagel_lambda)
        check_choice("prior", self.prior, ["auto", "ard", "priced", "smooth"])
        check_choice("prediction", self.prediction, ["conditional", "marginal"])


def _with_ones(columns: Array) -> Array:
    return np.column_stack([np.ones(len(columns)), columns])
