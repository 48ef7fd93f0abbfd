"""Phylogenetic generalised least squares with scikit-learn's interface.

`least_squares` works on whitened columns and gives the likelihoods, `PGLS` is the estimator, and
`Summary` its table as R prints it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_probability
from parsimon._parallel import one_thread
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._evolution import Model, Root, check_parameter, greatest_lambda
from parsimon.phylo._likelihood import Bounds, Estimate, Profile, check_estimable, maximise, profile
from parsimon.phylo._tips import TreeRegressor, check_tree, feature_names, relatives, tip_gaussian
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_gaussian import TreeGaussian

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Columns, scaled to unit norm, whose singular values are below this share are dependent.
_DEPENDENT = 1e-10
# Residuals below this share of y are rounding.
_ROUNDING = 1e-28


class LeastSquares(NamedTuple):
    """The best weights of the columns of a design, given the covariance up to its scale.

    coef (p,): The shortest, in units of column norms, if columns depend on each other.
    inverse_gram (p, p): Of whitened columns: the covariance of `coef` for unit variance.
    residual: Sum of squares of whitened residuals; zero if it is rounding.
    n, rank: Rows, and columns that are independent.
    log_determinant: Of the covariance of the rows.
    log_gram: Log determinant of the whitened columns' products, of independent combinations if
        columns depend on each other.
    """

    coef: Array
    inverse_gram: Array
    residual: float
    n: int
    rank: int
    log_determinant: float
    log_gram: float

    @property
    def variance(self) -> float:
        """Unbiased estimate of the rate; NaN without degrees of freedom."""
        return self.residual / (self.n - self.rank) if self.n > self.rank else float("nan")

    def log_likelihood(self, method: str) -> float:
        """Return the log likelihood at its best variance, of y ("ML") or of contrasts ("REML")."""
        reml = method == "REML"
        n = self.n - self.rank if reml else self.n
        if n < 1:
            return float("nan")
        if self.residual == 0:
            return float("inf")
        extra = self.log_gram if reml else 0.0
        spread = float(np.log(2.0 * np.pi * self.residual / n))
        return -0.5 * (n * (spread + 1.0) + self.log_determinant + extra)


def least_squares(gaussian: TreeGaussian | None, design: Array, y: Array) -> LeastSquares:
    """Fit y by the columns of a design, with the covariance of a tree or with unit covariance."""
    both = np.column_stack([design, y])
    white, log_determinant = (both, 0.0) if gaussian is None else gaussian.whitened_columns(both)
    n, p = design.shape
    # The factor alone: as accurate as the whole table, and small.
    upper = np.asarray(np.linalg.qr(white, mode="r"))
    columns, target = upper[:, :p], upper[:, p]
    norms = np.linalg.norm(columns, axis=0)
    norms[norms == 0] = 1.0
    U, singular, Vt = np.linalg.svd(columns / norms, full_matrices=False)
    rank = int(np.sum(singular > _DEPENDENT * max(singular.max(initial=0.0), _DEPENDENT)))
    back = Vt[:rank].T / singular[:rank] / norms[:, None]
    coef = back @ (U[:, :rank].T @ target)
    residual = float(np.sum((target - columns @ coef) ** 2))
    if residual <= _ROUNDING * n * float(target @ target):
        residual = 0.0
    if rank == p:
        log_gram = 2.0 * float(np.sum(np.log(singular)) + np.sum(np.log(norms)))
    else:
        independent = columns @ _independent(design, rank)
        log_gram = float(np.linalg.slogdet(independent.T @ independent)[1])
    return LeastSquares(coef, back @ back.T, residual, n, rank, log_determinant, log_gram)


def _independent(design: Array, rank: int) -> Array:
    """Return weights, shape (p, rank), that make independent columns, whatever the covariance."""
    norms = np.linalg.norm(design, axis=0)
    norms[norms == 0] = 1.0
    Vt = np.linalg.svd(design / norms, full_matrices=False)[2]
    return Vt[:rank].T / norms[:, None]


PARAMETERS = ("lambda", "kappa", "delta", "alpha")
_FIELD = {"lambda": "pagel_lambda"}


class PGLS(TreeRegressor):
    """Linear regression for related species.

    Residuals evolve along the tree: close relatives deviate together [1]_. Each fit and each
    prediction takes time linear in the tips. Without a tree this is ordinary least squares.

    Parameters
    ----------
    tree : Tree, optional
        With all tips that will be fitted or predicted; more do no harm.
    pagel_lambda : "ML" or float
        How much of the tree is in the residuals, from 0, none, to 1, all; "ML" estimates it.
    kappa, delta : "ML" or float
        Powers of branch lengths and of depths, applied in this order before lambda, as in
        BayesTraits. They change the tree as it is given: prune it first to raise the
        joined branches of a smaller tree to a power.
    alpha : "ML" or float
        Pull of an Ornstein-Uhlenbeck process, per unit of branch length.
    root : {"fixed", "stationary"}
        Where that process begins: see `Model`.
    method : {"ML", "REML"}
        Which likelihood estimates the parameters above and the variance.
    fit_intercept : bool
    bounds : dict, optional
        Where estimates are sought, such as ``{"lambda": (0, 1.1)}``; otherwise lambda in (0, 1),
        kappa in (0, 3), delta in (0.01, 3), alpha in (0, 50 / height). A greatest lambda of
        "max" is the one at which the shortest tip branch vanishes, and near which the likelihood
        of few tips may grow without limit.
    tips : str, int or None
        How rows find their tips: by a column of text called "tip" if there is one, or else by the
        index of a DataFrame (None); by the names in this column, which is then no feature; or by
        the names or positions in ``tree.tip_names`` in the column of this number of an array.
        Nothing is ever matched by order.
    prediction : {"conditional", "marginal"}
        Whether `predict` uses the residuals of relatives, or the regression line alone.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : float
    lambda_, kappa_, delta_, alpha_ : float
        Parameters of evolution, given or estimated.
    variance_ : float
        Rate of the residuals by `method`: their sum of squares over n, or over n - p for "REML".
    log_likelihood_, aic_, bic_ : float
        Coefficients, variance and estimated parameters all count, as in R's nlme.
    r_squared_ : float
        Share of the whitened variation around the phylogenetic mean that the columns explain.
    standard_errors_, t_values_, p_values_ : ndarray of shape (d + 1,)
        The intercept first if there is one; t tests with n - p degrees of freedom.
    degrees_of_freedom_ : int
    fitted_values_ : ndarray of shape (n,)
        The regression line at the training rows.
    estimated_ : tuple of str
        Which parameters of evolution were estimated.
    model_ : Model
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)

    Notes
    -----
    Random folds leave close relatives of every test row in training, so that scores of
    conditional predictions look better than they are for a new clade: use `CladeKFold`.
    At a training tip the conditional prediction is the line plus the residual seen there, so that
    `score` on training rows is 1 and says nothing.

    References
    ----------
    .. [1] Grafen (1989), "The phylogenetic regression", Phil. Trans. R. Soc. B 326; Martins and
       Hansen (1997), "Phylogenies and the comparative method", American Naturalist 149.

    Examples
    --------
    >>> from parsimon.phylo import brownian_traits, yule_tree
    >>> tree = yule_tree(60, random_state=0)
    >>> table = brownian_traits(tree, 2, random_state=0)
    >>> table["y"] = 1 + 2 * table["trait1"] + 0.1 * table["trait2"]
    >>> model = PGLS(tree).fit(table[["trait1"]][:50], table["y"][:50])
    >>> model.coef_.round(1), round(model.lambda_, 1)
    (array([2.]), 1.0)
    >>> mean, sd = model.predict(table[["trait1"]][50:], return_std=True)
    >>> bool(np.mean(abs(mean - table["y"][50:]) < 2 * sd) > 0.8)
    True
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        pagel_lambda: float | Literal["ML"] = "ML",
        kappa: float | Literal["ML"] = 1.0,
        delta: float | Literal["ML"] = 1.0,
        alpha: float | Literal["ML"] = 0.0,
        root: Root = "fixed",
        method: Literal["ML", "REML"] = "ML",
        fit_intercept: bool = True,
        bounds: Mapping[str, Any] | None = None,
        tips: str | int | None = None,
        prediction: Literal["conditional", "marginal"] = "conditional",
    ) -> None:
        self.tree = tree
        self.pagel_lambda = pagel_lambda
        self.kappa = kappa
        self.delta = delta
        self.alpha = alpha
        self.root = root
        self.method = method
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.tips = tips
        self.prediction = prediction

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate the parameters of evolution, and the coefficients given them.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            With tips in the index or in a column: see `tips`.
        y : array-like of shape (n,)
            In the order of X; a Series with tip names in another order is refused.

        Returns
        -------
        PGLS
            Itself.
        """
        self._check_options()
        features, positions = self._read(X, y)
        self._design = self._with_intercept(features)
        self.gaussian_ = tip_gaussian(self.tree, positions)
        self._bounds = {} if self.gaussian_ is None else self._make_bounds(self.gaussian_.tree)
        self.estimated_ = tuple(self._bounds)
        if self._bounds:
            check_estimable(self._design, self._y, self._bounds)
        # The matrices are narrow: more threads would take longer.
        with one_thread():
            best = maximise(self._height, self._bounds) if self._bounds else Estimate({}, 0.0)
            self._store(best)
        return self

    def profile(
        self, parameter: str = "lambda", *, level: float = 0.95, n_points: int = 41
    ) -> Profile:
        """Return the profile log-likelihood of an estimated parameter, and its interval.

        Parameters
        ----------
        parameter : {"lambda", "kappa", "delta", "alpha"}
        level : float
            Of the interval.
        n_points : int
            Values at which the likelihood is computed, the others estimated anew at each.
        """
        check_is_fitted(self)
        level = check_probability("level", level)
        n_points = check_count("n_points", n_points, least=3)
        if parameter not in self.estimated_:
            raise InvalidInputError(
                f"{parameter!r} was not estimated; estimated are "
                f"{', '.join(self.estimated_) or 'no parameters'}."
            )
        best = Estimate(
            {name: getattr(self, f"{name}_") for name in self.estimated_}, self.log_likelihood_
        )
        with one_thread():
            return profile(self._height, parameter, self._bounds, best, level, n_points)

    def plot_profile(self, parameter: str = "lambda", *, ax: "Axes | None" = None) -> "Axes":
        """Draw the profile log-likelihood of an estimated parameter."""
        return self.profile(parameter).plot(ax)

    def confidence_intervals(self, level: float = 0.95) -> Array:
        """Return Student intervals of the coefficients, shape (d + 1, 2), the intercept first."""
        from scipy.stats import t

        check_is_fitted(self)
        half = t.ppf(0.5 + 0.5 * check_probability("level", level), self.degrees_of_freedom_)
        centre, width = self._fit.coef, half * self.standard_errors_
        return np.column_stack([centre - width, centre + width])

    def summary(self) -> "Summary":
        """Return the table of coefficients and all that goes with it; print it to read it."""
        check_is_fitted(self)
        return summarise(self)

    def at_nodes(self, features: Array, nodes: Indices | None, kind: str) -> tuple[Array, Array]:
        """Return means and standard deviations at nodes of the tree with these features."""
        fit, design = self._fit, self._with_intercept(features)
        rest = self._y - self.fitted_values_
        shift, spread, unsure = relatives(
            self.gaussian_, rest, self._design, design, fit.inverse_gram, nodes=nodes, kind=kind
        )
        return design @ fit.coef + shift, np.sqrt(fit.variance * np.maximum(spread + unsure, 0.0))

    def _height(self, values: Mapping[str, float]) -> float:
        return self._fit_at(values).log_likelihood(self.method)

    def _fit_at(self, values: Mapping[str, float]) -> LeastSquares:
        gaussian = self.gaussian_
        if gaussian is not None:
            gaussian = gaussian.with_model(self._model(values))
        return least_squares(gaussian, self._design, self._y)

    def _model(self, values: Mapping[str, float]) -> Model:
        numbers = {
            _FIELD.get(name, name): float(values.get(name, self._given(name)))
            for name in PARAMETERS
            if name in values or self._given(name) != "ML"
        }
        return Model(**numbers, root=self.root)

    def _store(self, best: Estimate) -> None:
        self._fit = self._fit_at(best.values)
        if self.gaussian_ is None:
            self.model_ = Model(pagel_lambda=0.0)
        else:
            self.model_ = self._model(best.values)
            self.gaussian_ = self.gaussian_.with_model(self.model_)
        self.lambda_, self.kappa_ = self.model_.pagel_lambda, self.model_.kappa
        self.delta_, self.alpha_ = self.model_.delta, self.model_.alpha
        fit = self._fit
        self.intercept_ = float(fit.coef[0]) if self.fit_intercept else 0.0
        self.coef_ = fit.coef[1:] if self.fit_intercept else fit.coef
        self.degrees_of_freedom_ = fit.n - fit.rank
        self.variance_ = fit.variance if self.method == "REML" else fit.residual / fit.n
        self.fitted_values_ = self._design @ fit.coef
        self._store_tests(fit)

    def _store_tests(self, fit: LeastSquares) -> None:
        from scipy.stats import t

        self.standard_errors_ = np.sqrt(fit.variance * np.diag(fit.inverse_gram))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.t_values_ = fit.coef / self.standard_errors_
            self.p_values_ = 2.0 * t.sf(np.abs(self.t_values_), self.degrees_of_freedom_)
        self.log_likelihood_ = fit.log_likelihood(self.method)
        n_free = fit.rank + 1 + len(self.estimated_)
        n = fit.n - fit.rank if self.method == "REML" else fit.n
        self.aic_ = 2.0 * n_free - 2.0 * self.log_likelihood_
        self.bic_ = float(np.log(max(n, 1))) * n_free - 2.0 * self.log_likelihood_
        mean = np.ones((fit.n, 1)) if self.fit_intercept else np.zeros((fit.n, 0))
        total = least_squares(self.gaussian_, mean, self._y).residual
        self.r_squared_ = 1.0 - fit.residual / total if total > 0 else float("nan")

    def _with_intercept(self, features: Array) -> Array:
        return (
            np.column_stack([np.ones(len(features)), features]) if self.fit_intercept else features
        )

    def _make_bounds(self, tree: Tree) -> Bounds:
        height = float(tree.depth.max())
        if not height > 0:
            raise InvalidInputError("The tree has height zero: all tips are at its root.")
        usual = {"lambda": (0.0, 1.0), "kappa": (0.0, 3.0), "delta": (0.01, 3.0)}
        # Without a pull there is no long-run distribution to begin in.
        weakest = 1e-4 / height if self.root == "stationary" else 0.0
        limits = {**usual, "alpha": (weakest, 50.0 / height), **dict(self.bounds or {})}
        return {
            name: check_limits(name, limits[name], tree)
            for name in PARAMETERS
            if self._given(name) == "ML"
        }

    def _given(self, name: str) -> Any:
        return getattr(self, _FIELD.get(name, name))

    def _check_options(self) -> None:
        check_tree(self.tree)
        for name in PARAMETERS:
            check_parameter(_FIELD.get(name, name), self._given(name))
        check_choice("method", self.method, ["ML", "REML"])
        check_choice("prediction", self.prediction, ["conditional", "marginal"])
        check_choice("root", self.root, ["fixed", "stationary"])
        unknown = set(self.bounds or {}) - set(PARAMETERS)
        if unknown:
            raise InvalidInputError(
                f"bounds are for {', '.join(PARAMETERS)}; got {sorted(unknown)}."
            )


def check_limits(name: str, limits: Any, tree: Tree) -> tuple[float, float]:
    """Return where a parameter is sought, "max" as the number it stands for."""
    low, high = limits
    if isinstance(high, str) and high == "max" and name == "lambda":
        high = min(greatest_lambda(tree), 1e3)
    if not (
        isinstance(low, Real) and isinstance(high, Real) and 0 <= float(low) < float(high) < np.inf
    ):
        raise InvalidInputError(
            f"Bounds of {name} must be two numbers, the first smaller and not negative; "
            f"got {limits!r}."
        )
    return float(low), float(high)


_LEAKS = "Random folds leak through the tree: judge predictions of new clades with CladeKFold."


@dataclass(frozen=True, eq=False)
class Summary:
    """What a regression found; its text is in R's form.

    Shapes: estimates, standard_errors, t_values, p_values (p,).

    names: Of the coefficients.
    intervals (p, 2): At 95 %.
    lines: What is printed above and below the table.
    """

    names: tuple[str, ...]
    estimates: Array
    standard_errors: Array
    t_values: Array
    p_values: Array
    intervals: Array
    above: tuple[str, ...]
    below: tuple[str, ...]

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of coefficients as a data frame."""
        import pandas as pd

        return pd.DataFrame(
            {
                "estimate": self.estimates,
                "standard error": self.standard_errors,
                "t": self.t_values,
                "p": self.p_values,
                "lower": self.intervals[:, 0],
                "upper": self.intervals[:, 1],
            },
            index=list(self.names),
        )

    def __str__(self) -> str:
        heads = ("", "Estimate", "Std. Error", "t value", "Pr(>|t|)", "2.5 %", "97.5 %")
        rows = [
            (
                name,
                *(f"{value:.5g}" for value in numbers[:2]),
                f"{numbers[2]:.3f}",
                f"{numbers[3]:.3g}" if numbers[3] >= 1e-16 else "<1e-16",
                *(f"{value:.5g}" for value in numbers[4:]),
            )
            for name, *numbers in zip(
                self.names,
                self.estimates,
                self.standard_errors,
                self.t_values,
                self.p_values,
                *self.intervals.T,
                strict=True,
            )
        ]
        return "\n".join([*self.above, "", write_columns([heads, *rows]), "", *self.below])


def write_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines of one width, the first column on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])],
        )
        for row in rows
    )


def summarise(model: "PGLS") -> Summary:
    """Return the summary of a fitted `PGLS`."""
    return Summary(
        (*["(Intercept)"] * model.fit_intercept, *feature_names(model)),
        model._fit.coef,
        model.standard_errors_,
        model.t_values_,
        model.p_values_,
        model.confidence_intervals(),
        _above(model),
        _below(model),
    )


# Parameters that change nothing are not worth a line; lambda always is.
_PLAIN = {"lambda": None, "kappa": 1.0, "delta": 1.0, "alpha": 0.0}


def _above(model: "PGLS") -> tuple[str, ...]:
    if model.tree is None:
        return (f"Least squares without a tree, {model._fit.n} rows",)
    lines = [f"Phylogenetic generalised least squares by {model.method}, {model._fit.n} tips"]
    for name in PARAMETERS:
        value: Any = getattr(model, f"{name}_")
        if name in model.estimated_:
            low, high = model.profile(name, n_points=3).interval
            lines.append(f"{name} {value:.4g}, estimated; 95 % interval {low:.4g} to {high:.4g}")
        elif value != _PLAIN[name]:
            lines.append(f"{name} {value:.4g}, given")
    return tuple(lines)


def _below(model: "PGLS") -> tuple[str, ...]:
    fit = model._fit
    lines = [
        f"Residual standard error {fit.variance**0.5:.5g} on {fit.n - fit.rank} degrees of freedom",
        f"R-squared {model.r_squared_:.4f}",
        f"Log-likelihood {model.log_likelihood_:.4f} ({model.method}), "
        f"AIC {model.aic_:.3f}, BIC {model.bic_:.3f}",
    ]
    if fit.rank < len(fit.coef):
        lines.append(
            f"Only {fit.rank} of {len(fit.coef)} columns are independent: single coefficients and "
            "their errors are not determined."
        )
    if model.tree is not None:
        lines.append(_LEAKS)
    return tuple(lines)
