"""What the two principal component analyses along a tree share.

Scores of tips joined by their tree, with the columns as arrows.
"""

import warnings
from abc import abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._checks import check_count, check_positive, finite_vector
from parsimon._parallel import one_thread
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._evolution import Model
from parsimon.phylo._likelihood import maximise
from parsimon.phylo._matrix_normal import Moments, moments
from parsimon.phylo._missing import (
    Options,
    PartialTable,
    check_cells,
    completed_rows,
    fit_cells,
    fit_lambda,
    star,
)
from parsimon.phylo._tips import check_tree, split_tips, tip_gaussian
from parsimon.phylo.gaussian import TreeGaussian
from parsimon.phylo.pgls import checked_limits
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


# Arrows reach this share of the way to the farthest tips; arrows shorter than another share of the
# longest, or beyond so many, would hide each other.
_REACH = 0.95
_SHORT = 0.2
_MOST_ARROWS = 8
# Labels: inches of a letter, of a line and before a label; how many letters and which share of the
# width they may have.
_LETTER, _LINE, _BESIDE = 0.09, 0.2, 0.12
_LETTERS, _STRIP = 16, 0.26
# How far a label follows the direction of its arrow.
_BEND = 0.4
# Tips from which points and branches are drawn smaller.
_MANY = 120


def biplot(
    model: "TreeComponents", components: tuple[int, int], colour: Any, ax: "Axes | None"
) -> "Axes":
    """Draw a fitted analysis; ancestors are where the scores of their descendants put them."""
    first, second = _checked(model, components)
    scores = model.scores_[:, [first, second]]
    with figure_style():
        axes = new_axes(ax, figsize=(7.2, 5.2))
        _draw_branches(axes, model, scores)
        shade = _shades(colour, len(scores))
        x, y = scores.T
        size = 18 if len(scores) > _MANY else 30
        points = axes.scatter(x, y, c=shade, s=size, zorder=3, cmap=_map(colour), linewidth=0)
        if colour is not None:
            bar = axes.figure.colorbar(points, ax=axes, pad=0.02)
            bar.set_label(str(getattr(colour, "name", None) or ""))
            bar.outline.set_visible(False)
        _draw_arrows(axes, model, (first, second), scores)
        share = model.explained_variance_ratio_
        axes.set_xlabel(f"component {first + 1} ({share[first]:.0%})")
        axes.set_ylabel(f"component {second + 1} ({share[second]:.0%})")
        axes.set_title(
            "principal components" if model.tree is None else f"lambda {model.lambda_:.3g}"
        )
    return axes


def _checked(model: "TreeComponents", components: tuple[int, int]) -> tuple[int, int]:
    there = range(model.scores_.shape[1])
    first, second = components
    if first not in there or second not in there:
        raise InvalidInputError(
            f"components must be two numbers below {len(there)}, the components there are; got "
            f"{components!r}."
        )
    return first, second


def _draw_branches(axes: "Axes", model: "TreeComponents", scores: Array) -> None:
    from matplotlib.collections import LineCollection

    gaussian = model._gaussian
    if gaussian is None:
        return
    place = gaussian.conditional(scores).mean
    used = _ancestors(gaussian.tree.parent, gaussian.nodes)
    child = used[used > 0]
    ends = np.stack([place[gaussian.tree.parent[child]], place[child]], axis=1)
    strength = 0.3 if len(scores) > _MANY else 0.55
    axes.add_collection(LineCollection(list(ends), colors=GREY, linewidths=0.7, alpha=strength))


def _ancestors(parent: Any, nodes: Any) -> Any:
    """Return the nodes and all that are above them, ascending."""
    used = np.zeros(len(parent), dtype=np.bool_)
    used[nodes] = True
    for node in range(len(parent) - 1, 0, -1):
        if used[node]:
            used[parent[node]] = True
    return np.flatnonzero(used)


def _shades(colour: Any, n: int) -> Any:
    if colour is None:
        return BLUE
    values = finite_vector(colour, "colour")
    if len(values) != n:
        raise InvalidInputError(f"colour has {len(values)} numbers for {n} rows.")
    return values


def _map(colour: Any) -> Any:
    return None if colour is None else sequential_colours()


def _draw_arrows(
    axes: "Axes", model: "TreeComponents", pair: tuple[int, int], scores: Array
) -> None:
    loadings = model.loadings_[:, list(pair)]
    length = np.linalg.norm(loadings, axis=1)
    if not length.max(initial=0.0) > 0:
        return
    longest = np.argsort(-length, kind="stable")[:_MOST_ARROWS]
    shown = longest[length[longest] >= _SHORT * length.max()]
    far = np.abs(scores).max(axis=0)
    extent = np.abs(loadings[shown]).max(axis=0)
    used = (extent > 0) & (far > 0)
    if not used.any():
        return
    room = far[used] / extent[used]
    heads = loadings[shown] * (_REACH * room.min())
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(loadings))])
    labels = [str(names[j]) for j in shown]
    for head in heads:
        axes.annotate(
            "",
            xy=tuple(head),
            xytext=(0.0, 0.0),
            arrowprops={"arrowstyle": "-|>", "color": VERMILION, "linewidth": 1.8},
            zorder=4,
        )
    _draw_labels(axes, heads, labels, np.vstack([scores, heads, np.zeros((1, 2))]))


def _draw_labels(axes: "Axes", heads: Array, names: list[str], inside: Array) -> None:
    """Write labels in strips beside everything else, where they cover neither tips nor labels."""
    (left, bottom), (right, top) = _widened(inside.min(axis=0), inside.max(axis=0))
    # Layout may take a tenth of the axes later.
    inches = 0.9 * np.array(axes.get_window_extent().size) / axes.figure.dpi
    most = max(min(int(_STRIP * inches[0] / _LETTER), _LETTERS), 2)
    labels = [name if len(name) <= most else name[: most - 1] + "…" for name in names]
    on_right = heads[:, 0] >= 0
    sides = [np.flatnonzero(~on_right), np.flatnonzero(on_right)]
    letters = [max((len(labels[row]) for row in rows), default=0) for rows in sides]
    shares = (_LETTER * np.array(letters) + _BESIDE) / inches[0]
    unit = (right - left) / (1.0 - shares.sum())
    axes.set_xlim(left - unit * shares[0], right + unit * shares[1])
    axes.set_ylim(bottom, top)
    beside = unit * _BESIDE / inches[0]
    gap = (top - bottom) * _LINE / inches[1]
    for rows, edge in zip(sides, (left - beside, right + beside), strict=True):
        wanted = _towards(heads[rows], edge, bottom + gap, top - gap)
        for row, height in zip(rows, _spread(wanted, bottom, top, gap), strict=True):
            _write(axes, labels[row], heads[row], (edge, float(height)))


def _widened(low: Array, high: Array) -> tuple[Array, Array]:
    """Return corners with some room above and below, and with none of both sides zero."""
    size = np.where(high > low, high - low, 2.0)
    room = np.where(high > low, [0.0, 0.04], 0.5) * size
    return low - room, high + room


def _towards(heads: Array, edge: float, bottom: float, top: float) -> Array:
    """Return heights of labels: with the arrows to the edge, but not far, as some are steep."""
    run = np.maximum(np.abs(heads[:, 0]), 1e-9 * abs(edge))
    beyond = np.clip(heads[:, 1] * (abs(edge) / run), bottom, top)
    heights: Array = heads[:, 1] + _BEND * (beyond - heads[:, 1])
    return heights


def _write(axes: "Axes", label: str, head: Array, place: tuple[float, float]) -> None:
    axes.annotate(
        label,
        xy=(head[0], head[1]),
        xytext=place,
        color=VERMILION,
        ha="left" if head[0] >= 0 else "right",
        va="center",
        arrowprops={
            "arrowstyle": "-",
            "color": VERMILION,
            "linewidth": 0.8,
            "alpha": 0.6,
            "shrinkA": 1.0,
            "shrinkB": 0.0,
        },
    )


def _spread(wanted: Array, bottom: float, top: float, gap: float) -> Array:
    """Return heights near the wanted ones, in their order, a gap apart and inside."""
    from scipy.optimize import isotonic_regression

    gap = min(gap, (top - bottom) / max(len(wanted), 1))
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # The nearest heights that are a gap apart, in the sense of least squares.
    apart = isotonic_regression(wanted[order] - steps).x if len(wanted) else steps
    heights = np.empty(len(wanted))
    heights[order] = np.clip(apart, bottom + 0.5 * gap, top - 0.5 * gap - steps[-1:].sum()) + steps
    return heights
