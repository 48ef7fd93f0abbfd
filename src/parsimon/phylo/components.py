"""What the two principal component analyses along a tree share."""

import warnings
from abc import abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._options import check_count, check_positive
from parsimon._typing import Array
from parsimon._workers import one_thread
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.evolution import Model
from parsimon.phylo.gaussian import TreeGaussian
from parsimon.phylo.likelihood import maximise
from parsimon.phylo.matrix_normal import Moments, moments
from parsimon.phylo.missing import PartialTable, completed_rows, star
from parsimon.phylo.missing_fit import Options, check_cells, fit_cells, fit_lambda
from parsimon.phylo.pgls import checked_limits
from parsimon.phylo.rows import check_tree, split_tips, tip_gaussian
from parsimon.phylo.tree import Tree

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
    tolerance: float
    mean_: Array
    lambda_: float
    log_likelihood_: float
    imputed_: Array
    n_iter_: int
    converged_: bool
    loadings_: Array
    explained_variance_ratio_: Array
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
        self._gaussian = self._at(gaussian, self.lambda_)
        self.scores_: Array = (self.imputed_ - self.mean_) @ self._projection
        return self

    def plot(
        self, *, components: tuple[int, int] = (0, 1), colour: Any = None, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw the tips by two of their scores, joined by the tree, and the columns as arrows.

        Shapes: colour (n,).
        """
        from parsimon.phylo.biplot import biplot

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
        scores: Array = (features - self.mean_) @ self._projection
        return scores

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
        self.lambda_ = self._estimated(gaussian, features)
        found = self._moments(self._at(gaussian, self.lambda_), features)
        self.log_likelihood_ = self._height(found)
        self.imputed_ = features.copy()
        self.n_iter_, self.converged_ = 1, True
        return found

    def _fit_missing(self, gaussian: TreeGaussian | None, table: PartialTable) -> Moments:
        self._check_missing()
        names = getattr(self, "feature_names_in_", None)
        check_cells(table, self._n_free(table.values.shape[1]), names)
        options = Options(self._form, self._mean_of_cells(table), self.max_iter, self.tolerance)
        rows = star(len(table.values)) if gaussian is None else gaussian
        if gaussian is None or self.pagel_lambda != "ML":
            self.lambda_ = 0.0 if gaussian is None else float(self.pagel_lambda)
            fit = fit_cells(rows.with_model(Model(pagel_lambda=self.lambda_)), table, options)
        else:
            limits = checked_limits("lambda", self.bounds, gaussian.tree)
            self.lambda_, fit = fit_lambda(rows, table, options, limits)
        self.log_likelihood_, self.imputed_ = fit.found.log_likelihood, fit.found.completed
        self.n_iter_, self.converged_ = len(fit.heights), fit.converged
        if not fit.converged:
            warnings.warn(
                f"The likelihood still rose after {self.max_iter} steps. Raise max_iter or "
                "tolerance.",
                ConvergenceWarning,
                stacklevel=3,
            )
        n = table.n_rows
        return Moments(fit.found.mean, fit.expected * n, 0.0, n)

    def _estimated(self, gaussian: TreeGaussian | None, features: Array) -> float:
        if gaussian is None:
            return 0.0
        if self.pagel_lambda != "ML":
            return float(self.pagel_lambda)

        def height(share: float) -> float:
            return self._height(self._moments(self._at(gaussian, share), features))

        limits = checked_limits("lambda", self.bounds, gaussian.tree)
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
        check_positive("tolerance", self.tolerance)
        if self.pagel_lambda == "ML":
            return
        if not isinstance(self.pagel_lambda, Real):
            raise InvalidInputError(
                f'pagel_lambda must be a number or "ML", got {self.pagel_lambda!r}.'
            )
        check_positive("pagel_lambda", self.pagel_lambda, or_zero=True)
