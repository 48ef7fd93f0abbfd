"""What the two principal component analyses along a tree share."""

from abc import abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._options import check_count, check_positive
from parsimon._typing import Array
from parsimon._workers import one_thread
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.evolution import Model
from parsimon.phylo.gaussian import TreeGaussian
from parsimon.phylo.likelihood import maximise
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
    mean_: Array
    loadings_: Array
    explained_variance_ratio_: Array
    _projection: Array

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes it
        """Find the components, and lambda if it is to be estimated.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            With tips in the index or in a column: see `tips`.
        y : None
            Not used.
        """
        self._check_options()
        features, positions = split_tips(X, self.tree, self.tips)
        features = validate_data(self, features, dtype=np.float64, ensure_min_samples=2)
        gaussian = tip_gaussian(self.tree, positions)
        # The matrices are narrow: more threads would take longer.
        with one_thread():
            self.lambda_ = self._estimated(gaussian, features)
            self.model_ = Model(pagel_lambda=self.lambda_)
            self._gaussian = self._at(gaussian, self.lambda_)
            self._store(self._gaussian, features)
        self.scores_: Array = (features - self.mean_) @ self._projection
        return self

    def plot(
        self, *, components: tuple[int, int] = (0, 1), colour: Any = None, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw the tips by two of their scores, joined by the tree, and the columns as arrows.

        Parameters
        ----------
        components : tuple of int
            Which scores, counted from zero.
        colour : array-like of shape (n,), optional
            A number for each training row.
        ax : Axes, optional
        """
        from parsimon.phylo.biplot import biplot

        check_is_fitted(self)
        return biplot(self, components, colour, ax)

    def transform(self, X: Any) -> Array:
        """Return the scores of rows, shape (m, n_components).

        They depend on the row alone: no tips are needed, and a column of them is ignored.
        """
        check_is_fitted(self)
        features, _ = split_tips(X, None, self.tips)
        features = validate_data(self, features, dtype=np.float64, reset=False)
        scores: Array = (features - self.mean_) @ self._projection
        return scores

    @property
    def _n_features_out(self) -> int:
        return int(self._projection.shape[1])

    @abstractmethod
    def _height(self, gaussian: TreeGaussian | None, features: Array) -> float:
        """Return the log likelihood of a table under this covariance."""

    @abstractmethod
    def _store(self, gaussian: TreeGaussian | None, features: Array) -> None:
        """Keep what is found under this covariance."""

    def _at(self, gaussian: TreeGaussian | None, share: float) -> TreeGaussian | None:
        return None if gaussian is None else gaussian.with_model(Model(pagel_lambda=share))

    def _estimated(self, gaussian: TreeGaussian | None, features: Array) -> float:
        if gaussian is None:
            return 0.0
        if self.pagel_lambda != "ML":
            return float(self.pagel_lambda)
        limits = checked_limits("lambda", self.bounds, gaussian.tree)
        middle = self._at(gaussian, 0.5 * (limits[0] + limits[1]))
        if self._height(middle, features) == np.inf:
            raise InvalidInputError(
                f"lambda cannot be estimated: {len(features)} tips leave nothing of "
                f"{features.shape[1]} columns unexplained. Give pagel_lambda as a number, or use "
                "P3CA with fewer components."
            )
        best = maximise(
            lambda values: self._height(self._at(gaussian, values["lambda"]), features),
            {"lambda": limits},
        )
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
        if self.pagel_lambda == "ML":
            return
        if not isinstance(self.pagel_lambda, Real):
            raise InvalidInputError(
                f'pagel_lambda must be a number or "ML", got {self.pagel_lambda!r}.'
            )
        check_positive("pagel_lambda", self.pagel_lambda, or_zero=True)
