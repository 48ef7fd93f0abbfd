"""Principal components of traits of related species: `P3CA` with a likelihood, and `PhyloPCA`.

`TreeComponents` is what both share: rows find their tips, lambda maximises a likelihood, missing
cells are filled in, and rows become scores.
"""

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_positive, shorten
from parsimon._data import validate_data
from parsimon._parallel import one_thread
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._evolution import Model, check_parameter
from parsimon.phylo._likelihood import maximise
from parsimon.phylo._matrix_normal import (
    CellOptions,
    Centre,
    LowRank,
    Moments,
    PartialTable,
    check_cells,
    completed_rows,
    fit_cells,
    fit_lambda,
    low_rank,
    matrix_log_likelihood,
    moments,
    principal_directions,
    star,
)
from parsimon.phylo._tips import check_tree, split_tips, tip_gaussian
from parsimon.phylo.pgls import check_limits
from parsimon.phylo.plot import biplot
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_gaussian import TreeGaussian

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TreeComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows find their tips, lambda maximises a likelihood, and rows become scores."""

    tree: Tree | None
    n_components: int | None
    pagel_lambda: float | Literal["ML"]
    bounds: tuple[Any, Any]
    tips: str | int | None
    max_iter: int
    tol: float
    _projection: Array
    _covariance: Array

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes it
        """Find the components, and lambda if it is to be estimated.

        Shapes: X (n, d).
        """
        self._check_options()
        features, positions = split_tips(X, self.tree, self.tips)
        features = validate_data(
            self, features, dtype=np.float64, ensure_min_samples=2, ensure_all_finite="allow-nan"
        )
        self._check_columns(features)
        gaussian = tip_gaussian(self.tree, positions)
        # The matrices are narrow: more threads would take longer.
        with one_thread():
            if np.isnan(features).any():
                found = self._fit_missing(gaussian, PartialTable(features))
            else:
                found = self._fit_whole(gaussian, features)
            self._store(found)
        self.mean_ = found.mean
        self.model_ = Model(pagel_lambda=self.lambda_)
        self.gaussian_ = self._at(gaussian, self.lambda_)
        self.scores_: Array = (self.imputed_ - self.mean_) @ self._projection
        return self

    def plot(
        self, *, components: tuple[int, int] = (0, 1), colour: Any = None, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw the tips by two of their scores, joined by the tree, and the columns as arrows.

        Shapes: colour (n,).
        """
        check_is_fitted(self)
        return biplot(self, components, colour, ax)

    def transform(self, X: Any) -> Array:
        """Return the scores of rows, shape (m, n_components).

        They depend on the row alone: no tips are needed, and a column of them is ignored. Where
        cells are missing (NaN) they are what the other cells of the row let expect; `scores_` of
        the training rows use their relatives too.
        """
        check_is_fitted(self)
        features, _ = split_tips(X, None, self.tips)
        features = validate_data(
            self, features, dtype=np.float64, reset=False, ensure_all_finite="allow-nan"
        )
        if np.isnan(features).any():
            self._check_missing()
            features = completed_rows(features, self.mean_, self._covariance)
        return (features - self.mean_) @ self._projection

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self._projection.shape[1])

    @abstractmethod
    def _height(self, found: Moments) -> float:
        """Return the log likelihood of a table at the best covariance of its columns."""

    @abstractmethod
    def _store(self, found: Moments) -> None:
        """Keep what is found."""

    @abstractmethod
    def _form(self, expected: Array) -> Array:
        """Return the most likely covariance of the columns for an expected one."""

    @abstractmethod
    def _n_free(self, n_columns: int) -> int:
        """Return how many directions have a variance of their own, beside the last."""

    def _moments(self, gaussian: TreeGaussian | None, features: Array) -> Moments:
        return moments(gaussian, features)

    def _mean_of_cells(self, table: PartialTable) -> Array | None:
        """Return the mean to use, None for the most likely one."""

    def _check_columns(self, features: Array) -> None:
        """Refuse columns whose likelihood has no meaning."""

    def _check_missing(self) -> None:
        """Refuse missing cells where they have no meaning."""

    def _at(self, gaussian: TreeGaussian | None, share: float) -> TreeGaussian | None:
        return None if gaussian is None else gaussian.with_model(Model(pagel_lambda=share))

    def _fit_whole(self, gaussian: TreeGaussian | None, features: Array) -> Moments:
        self.lambda_ = self._estimate_lambda(gaussian, features)
        found = self._moments(self._at(gaussian, self.lambda_), features)
        self.log_likelihood_ = self._height(found)
        self.imputed_ = features.copy()
        self.n_iter_, self.converged_ = 1, True
        return found

    def _fit_missing(self, gaussian: TreeGaussian | None, table: PartialTable) -> Moments:
        self._check_missing()
        names = getattr(self, "feature_names_in_", None)
        check_cells(table, self._n_free(table.values.shape[1]), names)
        options = CellOptions(self._form, self._mean_of_cells(table), self.max_iter, self.tol)
        rows = star(len(table.values)) if gaussian is None else gaussian
        if gaussian is None or self.pagel_lambda != "ML":
            self.lambda_ = 0.0 if gaussian is None else float(self.pagel_lambda)
            fit = fit_cells(rows.with_model(Model(pagel_lambda=self.lambda_)), table, options)
        else:
            limits = check_limits("lambda", self.bounds, gaussian.tree)
            self.lambda_, fit = fit_lambda(rows, table, options, limits)
        self.log_likelihood_, self.imputed_ = fit.found.log_likelihood, fit.found.completed
        self.n_iter_, self.converged_ = len(fit.heights), fit.converged
        if not fit.converged:
            warnings.warn(
                f"The likelihood still rose after {self.max_iter} steps. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        n = table.n_rows
        return Moments(fit.found.mean, fit.expected * n, 0.0, n)

    def _estimate_lambda(self, gaussian: TreeGaussian | None, features: Array) -> float:
        if gaussian is None:
            return 0.0
        if self.pagel_lambda != "ML":
            return float(self.pagel_lambda)

        def height(share: float) -> float:
            return self._height(self._moments(self._at(gaussian, share), features))

        limits = check_limits("lambda", self.bounds, gaussian.tree)
        if height(0.5 * (limits[0] + limits[1])) == np.inf:
            raise InvalidInputError(
                f"lambda cannot be estimated: {len(features)} tips leave nothing of "
                f"{features.shape[1]} columns unexplained. Give pagel_lambda as a number, or use "
                "P3CA with fewer components."
            )
        best = maximise(lambda values: height(values["lambda"]), {"lambda": limits})
        return best.values["lambda"]

    def _n_kept(self, n_columns: int, usual: int) -> int:
        """Return how many components there are: as asked, or as usual."""
        if self.n_components is None:
            return min(usual, n_columns)
        asked = check_count("n_components", self.n_components)
        if asked > n_columns:
            raise InvalidInputError(
                f"n_components={asked} is more than n_features={n_columns}, the columns of X."
            )
        return asked

    def _check_options(self) -> None:
        check_tree(self.tree)
        check_count("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        check_parameter("pagel_lambda", self.pagel_lambda)


class P3CA(TreeComponents):
    r"""Probabilistic principal components of traits that evolved along a tree.

    A few hidden traits evolve along the tree, as does noise of equal rate in all columns; what is
    seen is a linear map of the hidden traits plus the noise [1]_. Lambda maximises the matrix
    normal likelihood. With lambda zero and tips at depth one this is probabilistic principal
    component analysis [2]_. Cells may be missing (NaN): they are expected from the other cells of
    their row and from relatives.

    Parameters
    ----------
    tree : Tree, optional
        With all tips that will be fitted; without one rows are independent.
    n_components : int, optional
        Hidden traits; two, or one for a single column, if left out.
    pagel_lambda : "ML" or float
        How much of the tree is in the traits; "ML" maximises their joint likelihood.
    centre : {"phylogenetic", "sample"}
        Measure traits from their value at the root, which maximises the likelihood, or from the
        mean of the rows, as in [1]_; of the cells that are there if some are missing.
    form : {"corrected", "printed"}
        The likelihood of the model, or the formula that was printed, which has the covariance of
        the tips where its inverse belongs. It is here for comparison with [1]_ alone, and costs a
        dense matrix; both are the same at lambda zero with tips at depth one. It refuses missing
        cells.
    bounds : tuple
        Where lambda is sought, as in `PhyRVM`.
    tips : str, int or None
        How rows find their tips, as in `PGLS`.
    max_iter : int
        Steps of the EM algorithm at one lambda, at most; used if cells are missing.
    tol : float
        It ends when a step raises the log likelihood by less.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Directions of the hidden traits, of length one, the largest entry positive.
    loadings_ : ndarray of shape (d, n_components)
        The linear map W.
    explained_variance_ : ndarray of shape (n_components,)
        Rates along the directions, noise included, with n in the denominator.
    explained_variance_ratio_ : ndarray of shape (n_components,)
    noise_variance_ : float
        Rate of the noise.
    scores_ : ndarray of shape (n, n_components)
        Of the training rows, given all cells of all rows.
    mean_ : ndarray of shape (d,)
    lambda_ : float
    model_ : Model
    log_likelihood_ : float
        By `form`, of the cells that are there; infinite if the components leave nothing to the
        noise.
    imputed_ : ndarray of shape (n, d)
        The training rows, missing cells as expected given all cells of all rows.
    n_iter_ : int
        Steps at the last lambda; 1 if no cell is missing.
    converged_ : bool
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)

    Notes
    -----
    Scores are the expected hidden traits, :math:`(W^T W + \sigma^2 I)^{-1} W^T (x - a)`: the tree
    cancels, so that they are a function of the row. It does not cancel where cells are missing:
    the likelihood is then that of a Gaussian vector with covariance :math:`V_\lambda \otimes C`
    without the rows and columns of missing cells, maximised by an exact EM algorithm that is linear
    in tips. A row without any cell is predicted from its relatives.

    References
    ----------
    .. [1] Fearn (2021), PhD thesis, University of Bristol, section 5.1.2.
    .. [2] Tipping and Bishop (1999), "Probabilistic principal component analysis", JRSS B 61.

    Examples
    --------
    >>> from parsimon.phylo import brownian_traits, yule_tree
    >>> tree = yule_tree(60, random_state=0)
    >>> table = brownian_traits(tree, 5, pagel_lambda=0.8, random_state=0)
    >>> table = table.assign(trait1=3 * table["trait1"], trait2=2 * table["trait2"])
    >>> model = P3CA(tree).fit(table)
    >>> abs(model.components_).argmax(axis=1), 0.5 < model.lambda_ < 1
    (array([0, 1]), True)
    >>> table.iloc[0, 0] = float("nan")
    >>> bool(np.isfinite(P3CA(tree).fit(table).imputed_).all())
    True
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        n_components: int | None = None,
        pagel_lambda: float | Literal["ML"] = "ML",
        centre: Centre = "phylogenetic",
        form: Literal["corrected", "printed"] = "corrected",
        bounds: tuple[Any, Any] = (0.0, 1.0),
        tips: str | int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-9,
    ) -> None:
        self.tree = tree
        self.n_components = n_components
        self.pagel_lambda = pagel_lambda
        self.centre = centre
        self.form = form
        self.bounds = bounds
        self.tips = tips
        self.max_iter = max_iter
        self.tol = tol

    def _moments(self, gaussian: TreeGaussian | None, features: Array) -> Moments:
        found = moments(gaussian, features, self.centre)
        if gaussian is None or self.form == "corrected":
            return found
        left = features - found.mean
        scatter = left.T @ gaussian.covariance() @ left
        return Moments(found.mean, scatter, -found.log_determinant, found.n)

    def _fit_low_rank(self, expected: Array) -> LowRank:
        return low_rank(expected, self._n_kept(len(expected), 2))

    def _form(self, expected: Array) -> Array:
        return self._fit_low_rank(expected).covariance

    def _n_free(self, n_columns: int) -> int:
        return min(self._n_kept(n_columns, 2), n_columns - 1)

    def _mean_of_cells(self, table: PartialTable) -> Array | None:
        return table.column_means if self.centre == "sample" else None

    def _height(self, found: Moments) -> float:
        fit = self._fit_low_rank(found.scatter / found.n)
        return matrix_log_likelihood(found, fit.log_determinant, float(fit.n_columns))

    def _store(self, found: Moments) -> None:
        fit = self._fit_low_rank(found.scatter / found.n)
        self.noise_variance_, self._covariance = fit.noise, fit.covariance
        self.components_, self.loadings_ = fit.directions.T, fit.loadings
        self.explained_variance_ = fit.variances
        total = float(np.trace(found.scatter)) / found.n
        self.explained_variance_ratio_ = fit.variances / (total if total > 0 else 1.0)
        # W' W + noise I is diagonal, with the variances on it.
        safe = np.where(fit.variances > 0, fit.variances, 1.0)
        self._projection = fit.loadings / safe

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.form == "corrected"
        return tags

    def _check_missing(self) -> None:
        if self.form == "printed":
            raise InvalidInputError(
                'X holds NaN, and form="printed" is no density of which cells could be missing. '
                'Use form="corrected", or fill the cells.'
            )

    def _check_options(self) -> None:
        super()._check_options()
        check_choice("centre", self.centre, ["phylogenetic", "sample"])
        check_choice("form", self.form, ["corrected", "printed"])


class PhyloPCA(TreeComponents):
    """Principal components of the covariance with which traits evolved along a tree.

    Eigenvectors of the rate matrix, around the value at the root [1]_. Scores of related
    species still resemble each other: the components are uncorrelated as they evolve, not as they
    are found at the tips. Cells may be missing (NaN): the rate matrix is then the most likely one
    given the cells that are there, by an exact EM algorithm that is linear in tips.

    Parameters
    ----------
    tree : Tree, optional
        With all tips that will be fitted; without one this is ordinary principal components.
    n_components : int, optional
        All if left out.
    mode : {"covariance", "correlation"}
        Whether columns keep their units, or are divided by the roots of their rates.
    pagel_lambda : "ML" or float
        How much of the tree is in the traits; "ML" maximises their joint likelihood.
    bounds : tuple
        Where lambda is sought, as in `PhyRVM`.
    tips : str, int or None
        How rows find their tips, as in `PGLS`.
    max_iter : int
        Steps of the EM algorithm at one lambda, at most; used if cells are missing.
    tol : float
        It ends when a step raises the log likelihood by less.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Directions, of length one, the largest entry positive.
    explained_variance_ : ndarray of shape (n_components,)
        Rates along them, with n - 1 in the denominator; n counts rows with at least one cell.
    explained_variance_ratio_ : ndarray of shape (n_components,)
    loadings_ : ndarray of shape (d, n_components)
        Evolutionary correlations of the columns with the scores.
    scores_ : ndarray of shape (n, n_components)
        Of the training rows, given all cells of all rows.
    mean_ : ndarray of shape (d,)
        Of the traits at the root.
    covariance_ : ndarray of shape (d, d)
        Rates of the columns.
    lambda_ : float
    model_ : Model
    log_likelihood_ : float
        Of the cells that are there; infinite if the columns depend on each other.
    imputed_ : ndarray of shape (n, d)
        The training rows, missing cells as expected given all cells of all rows.
    n_iter_ : int
        Steps at the last lambda; 1 if no cell is missing.
    converged_ : bool
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)

    References
    ----------
    .. [1] Revell (2009), "Size-correction and principal components for interspecific comparative
       studies", Evolution 63.

    Examples
    --------
    >>> from parsimon.phylo import brownian_traits, yule_tree
    >>> tree = yule_tree(50, random_state=0)
    >>> table = brownian_traits(tree, 2, random_state=0)
    >>> table["sum"] = table["trait1"] + 0.1 * table["trait2"]
    >>> model = PhyloPCA(tree, pagel_lambda=1.0).fit(table)
    >>> bool(model.explained_variance_ratio_[2] < 1e-9), model.transform(table).shape
    (True, (50, 3))
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        n_components: int | None = None,
        mode: Literal["covariance", "correlation"] = "covariance",
        pagel_lambda: float | Literal["ML"] = "ML",
        bounds: tuple[Any, Any] = (0.0, 1.0),
        tips: str | int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-9,
    ) -> None:
        self.tree = tree
        self.n_components = n_components
        self.mode = mode
        self.pagel_lambda = pagel_lambda
        self.bounds = bounds
        self.tips = tips
        self.max_iter = max_iter
        self.tol = tol

    def _form(self, expected: Array) -> Array:
        return expected

    def _n_free(self, n_columns: int) -> int:
        return n_columns - 1

    def _height(self, found: Moments) -> float:
        # In units of each column, so that none is taken for rounding.
        root = np.sqrt(np.diagonal(found.scatter) / found.n)
        if not (root > 0).all():
            return np.inf
        values, _ = principal_directions(found.scatter / found.n / root / root[:, None])
        if values[-1] == 0:
            return np.inf
        spread = float(np.sum(np.log(values)) + 2.0 * np.sum(np.log(root)))
        return matrix_log_likelihood(found, spread, float(len(values)))

    def _store(self, found: Moments) -> None:
        self.covariance_ = self._covariance = found.scatter / (found.n - 1)
        root = np.sqrt(np.diagonal(self.covariance_))
        safe = np.where(root > 0, root, 1.0)
        unit = safe if self.mode == "correlation" else np.ones_like(safe)
        values, vectors = principal_directions(self.covariance_ / unit / unit[:, None])
        kept = self._n_kept(len(values), len(values))
        self.components_ = vectors[:, :kept].T
        self.explained_variance_ = values[:kept]
        total = float(values.sum())
        self.explained_variance_ratio_ = values[:kept] / (total if total > 0 else 1.0)
        # Revell (2009), eq 6: the covariance of column and score over the roots of both rates.
        self.loadings_ = vectors[:, :kept] * np.sqrt(values[:kept]) / (safe / unit)[:, None]
        self._projection = vectors[:, :kept] / unit[:, None]

    def _check_columns(self, features: Array) -> None:
        """Refuse constants where a likelihood is needed: theirs is infinite."""
        if not np.isnan(features).any() and (self.tree is None or self.pagel_lambda != "ML"):
            return
        # A column without any cell is refused later, by its own sentence.
        seen = ~np.isnan(features).all(axis=0)
        cells = features[:, seen]
        constant = np.flatnonzero(seen)[np.nanmax(cells, axis=0) == np.nanmin(cells, axis=0)]
        if len(constant):
            names = getattr(self, "feature_names_in_", np.arange(features.shape[1]))
            raise InvalidInputError(
                f"These columns are constant: {shorten(names[constant].tolist())}. Leave them out."
            )

    def _check_options(self) -> None:
        super()._check_options()
        check_choice("mode", self.mode, ["covariance", "correlation"])
