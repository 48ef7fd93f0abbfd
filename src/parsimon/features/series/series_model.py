"""The inner learner of series, and what a front of their features holds: trees with such a model.

The learner is kernel ridge regression, with errors of rows left out for free. `smooth_fit` takes a
few standardised features; its kernel is a constant, a straight line and smooth bumps, so that it
bends where the rows ask for it and goes on straight where there are none. `SubsetLosses` says what
subsets of features are worth to it.

Of thousands of features the best fit any target. So features are chosen anew in folds, before any
are bred for these targets, and what they say there of rows that they have not seen tells how far
a model is trusted (`measure_trust`). What many tasks select is a standard set, which
`fixed_features` tries on each (Mierswa 2009, section 7.4).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import check_choice, check_probability
from parsimon._data import read_target
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.evaluate import SeriesTable, tree_cost, tree_values
from parsimon.features.series.tree_display import tree_words
from parsimon.features.series.tree_search import (
    Targets,
    quick_fitness,
    standardise_features,
    unlike,
)
from parsimon.features.series.trees import MethodTree, parse_tree
from parsimon.linalg import pivoted_cholesky
from parsimon.structures.shuffled_targets import shuffled_p_value

# The prior variance of the constant, in units of the bumps'.
_CONSTANT = 10.0
_LINEAR = 1.0
_WIDTHS = (0.1, 0.3, 1.0)
_NOISES = (0.01, 0.03, 0.1, 0.3, 1.0)
# From so many rows on a matrix is taken by its rank, to this mean of what is left out.
_MANY_ROWS, _TOL = 600, 1e-9
_DIGITS = 12
# Folds that tell what features are worth.
_FOLDS = 5
# From this share on what features say is trusted, if a shuffled target is rarely told as well.
_ENOUGH, _DOUBT = 0.5, 0.05
_FLOORS = (0.001, 0.003, 0.01, 0.03, 0.1)
_POWERS = tuple(np.geomspace(0.25, 4.0, 17).tolist())


class SmoothFit(NamedTuple):
    """Weights of the rows (n, q), the chosen width and noise, and what rows left out are told.

    left_out (n, q): The output for each row of a fit to the others.
    loss: The mean square of its distance from the targets.
    """

    weights: Array
    width: float
    noise: float
    left_out: Array
    loss: float


def mean_squared_distances(A: Array, B: Array) -> Array:
    """Return squared distances over the number of columns: (n, k), (m, k) -> (n, m)."""
    square = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * A @ B.T
    return np.maximum(square, 0.0) / A.shape[1]


def smooth_kernel(A: Array, B: Array, width: float) -> Array:
    """Return the kernel between rows: (n, k), (m, k) -> (n, m)."""
    return _kernel(A @ B.T / A.shape[1], mean_squared_distances(A, B), width)


def _kernel(products: Array, distances: Array, width: float) -> Array:
    return _CONSTANT + _LINEAR * products + np.exp(-width * distances)


Folds = Sequence[tuple[Indices, Indices]]


def smooth_fit(Z: Array, T: Array, folds: Folds | None = None) -> SmoothFit:
    """Fit targets (n, q) on standardised features (n, k); width and noise by rows left out.

    With the hat matrix H the residual of a row left out is that of the fit over 1 - H_ii. With
    folds it is the test rows of each that are left out; rows that no fold tests are told NaN.
    """
    products, distances = Z @ Z.T / Z.shape[1], mean_squared_distances(Z, Z)
    found = []
    for width in _WIDTHS:
        K = _kernel(products, distances, width)
        outside = None if folds is None else [_noise_path(K, T, *fold) for fold in folds]
        whole = np.arange(len(Z))
        for at, (weights, left_out) in enumerate(_noise_path(K, T, whole, whole)):
            if folds is not None and outside is not None:
                left_out = np.full_like(T, np.nan)
                for (_, test), path in zip(folds, outside, strict=True):
                    left_out[test] = path[at][1]
            loss = float(np.nanmean((T - left_out) ** 2))
            found.append(SmoothFit(weights, width, _NOISES[at], left_out, loss))
    return min(found, key=lambda fit: fit.loss)


def _noise_path(K: Array, T: Array, train: Indices, test: Indices) -> list[tuple[Array, Array]]:
    """Return for every noise the weights of the training rows, and what test rows are told.

    Where both are the same rows, each is told what a fit to the others says.
    """
    values, vectors = _spectrum(K[np.ix_(train, train)])
    along = vectors.T @ T[train]
    # What no vector holds has the value 0.
    beside = T[train] - vectors @ along if len(values) < len(train) else 0.0
    rest = 1.0 - (vectors**2).sum(axis=1) if len(values) < len(train) else 0.0
    path = []
    for noise in _NOISES:
        inverse = 1.0 / (np.maximum(values, 0.0) + noise)
        weights = vectors @ (inverse[:, None] * along) + beside / noise
        if train is test:
            told = T - weights / ((vectors**2) @ inverse + rest / noise)[:, None]
        else:
            told = K[np.ix_(test, train)] @ weights
        path.append((weights, told))
    return path


def _spectrum(K: Array) -> tuple[Array, Array]:
    """Return eigenvalues and vectors of a kernel matrix; of many rows, those that are not 0.

    A smooth kernel of few columns has a rank far below the number of its rows.
    """
    n = len(K)
    if n >= _MANY_ROWS:
        found = pivoted_cholesky(lambda i, j: K[i][:, j], K.diagonal(), tol=_TOL, max_rank=n // 5)
        if found.converged:
            values, inner = np.linalg.eigh(found.factor.T @ found.factor)
            kept = values > _TOL
            return values[kept], found.factor @ (inner[:, kept] / np.sqrt(values[kept]))
    values, vectors = np.linalg.eigh(K)
    return values, vectors


class SubsetLosses:
    """Errors of subsets of the pool for rows left out, each computed once.

    most: The most features of a subset.
    known: Loss and outputs of rows left out by the bytes of a mask.
    """

    def __init__(
        self,
        Z: Array,
        T: Array,
        trees: list[MethodTree],
        length: int,
        folds: Folds | None,
        most: int,
    ) -> None:
        self.Z, self.T, self.trees, self.length, self.folds = Z, T, trees, length, folds
        self.most, self.known = most, dict[bytes, tuple[float, Array]]()

    def __call__(self, masks: Mask) -> tuple[Array, Array]:
        """Return error, size and cost, and how much too large: (B, d) -> (B, 3), (B,).

        The first are of no use for subsets beyond limits.
        """
        found = np.zeros((len(masks), 3))
        for row, mask in zip(found, masks.astype(bool), strict=True):
            if 0 < mask.sum() <= self.most:
                row[:] = self.objectives(mask)
            else:
                row[:] = float((self.T**2).mean()) * 10.0, mask.sum(), 0.0
        return found, np.maximum(masks.sum(axis=1) - self.most, 0.0)

    def objectives(self, mask: Mask) -> list[float]:
        """Return error, size and cost of a subset."""
        key = np.ascontiguousarray(mask).tobytes()
        if key not in self.known:
            fit = smooth_fit(self.Z[:, mask], self.T, self.folds)
            self.known[key] = fit.loss, fit.left_out
        cost = tree_cost([self.trees[at] for at in np.flatnonzero(mask)], self.length)
        return [round(self.known[key][0], _DIGITS), float(mask.sum()), round(cost, 3)]


class Trust(NamedTuple):
    """What outputs of features are worth for new series.

    share: How much of their distance from the mean is true: from 0, nothing, to 1, all.
    floor, power: Classes have chances in proportion to the outputs to this power, none of which is
        taken below the floor.
    """

    share: float = 1.0
    floor: float = 0.001
    power: float = 1.0


FULL_TRUST = Trust()


@dataclass(frozen=True, eq=False, repr=False)
class SeriesModel:
    """A few features of series and what they predict.

    Attributes
    ----------
    trees : tuple of MethodTree
        The features.
    cost : float
        Operations they need for one series.
    trust : Trust
        How much of the distance from `middle`, the mean of the targets, outputs keep: 1 for all,
        0 where features are of no use for new series; and how they become chances of classes.
    """

    trees: tuple[MethodTree, ...]
    centre: Array
    scale: Array
    Z: Array
    inner: Any
    cost: float
    middle: Array | float = 0.0
    trust: Trust = FULL_TRUST

    @classmethod
    def fit_trees(
        cls,
        trees: Sequence[MethodTree],
        table: SeriesTable,
        T: Array,
        folds: Folds | None = None,
        **more: Any,
    ) -> Any:
        """Return trees with a model fitted to series and targets, (n, q)."""
        Z, centre, scale = standardise_features(tree_values(trees, table))
        cost = tree_cost(trees, table.length)
        fit, middle = smooth_fit(Z, T, folds), T.mean(axis=0)
        return cls(tuple(trees), centre, scale, Z, fit, cost, middle, **more)

    def outputs(self, X: Any) -> Array:
        """Return what the inner model says of series, drawn to the middle, shape (m, q)."""
        Z = (self.transform(X) - self.centre) / self.scale
        found: Array = smooth_kernel(Z, self.Z, self.inner.width) @ self.inner.weights
        share = self.trust.share
        return found if share == 1.0 else self.middle + share * (found - self.middle)

    def transform(self, X: Any) -> Array:
        """Return the features of series, shape (m, n_features)."""
        return tree_values(self.trees, X)

    def words(self) -> list[str]:
        """Return the features in words."""
        return [tree_words(tree) for tree in self.trees]

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {'; '.join(map(str, self.trees))}"


@dataclass(frozen=True, eq=False, repr=False)
class SeriesClassModel(SeriesModel):
    """A few features of series and the class that they tell."""

    classes: AnyArray = field(kw_only=True)

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each series, shape (m,)."""
        return self.classes[self.outputs(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, shape (m, n_classes), as rows outside of folds bear out."""
        return chances(self.outputs(X), self.trust.floor, self.trust.power)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesNumberModel(SeriesModel):
    """A few features of series and the number that they tell."""

    mean: float = 0.0
    spread: float = 1.0

    def predict(self, X: Any) -> Array:
        """Return the number for each series, shape (m,)."""
        return self.mean + self.spread * self.outputs(X)[:, 0]


@dataclass(frozen=True, eq=False, repr=False)
class SeriesForecastModel(SeriesModel):
    """A few features of series and the value that comes next.

    Attributes
    ----------
    is_persistence : bool
        Whether the last value is predicted, because back-testing found nothing better.
    """

    is_persistence: bool = False

    def predict(self, X: Any) -> Array:
        """Return the value after the last of each series, shape (m,)."""
        last, unit = last_values(X)
        return last if self.is_persistence else last + unit * self.outputs(X)[:, 0]


def last_values(X: Any) -> tuple[Array, Array]:
    """Return the last value of the first channel, and the spread of its steps (1 for none)."""
    ends, steps = tree_values([parse_tree("last"), parse_tree("difference > volume")], X).T
    return ends, np.where(steps > 0, steps, 1.0)


def standard_set(
    chosen: Sequence[Sequence[MethodTree]], X: Any, *, share: float = 0.5, limit: float = 0.9
) -> list[MethodTree]:
    """Return the features that a share of the tasks has chosen.

    A task has chosen a feature if it has chosen it or one like it: of a correlation of `limit` or
    more over the series X. Of features alike the cheapest to say stands for all.

    Parameters
    ----------
    chosen : sequence of sequences of MethodTree
        The features of each task, such as ``search.trees_``.
    X : SeriesTable, or what it reads
        Series of all tasks.
    share : float
        Of the tasks.
    limit : float
        From which on two features are alike.

    Returns
    -------
    list of MethodTree
        Those chosen most often first.

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> mean, last, median = map(parse_tree, ["mean", "last", "median"])
    >>> X = np.random.default_rng(0).normal(size=(30, 20))
    >>> standard_set([[mean], [mean, last], [mean]], X)
    [parse_tree('mean')]
    """
    check_probability("share", share)
    trees = sorted(
        {tree for task in chosen for tree in task}, key=lambda tree: (tree.size, str(tree))
    )
    if not trees:
        raise InvalidInputError("No task has chosen a feature; give at least one.")
    Z = standardise_features(tree_values(trees, X))[0]
    alike = np.abs(Z.T @ Z / len(Z)) >= limit
    np.fill_diagonal(alike, True)
    has = np.array([[tree in set(task) for tree in trees] for task in chosen])
    counts = ((has.astype(int) @ alike.astype(int)) > 0).sum(axis=0)
    found: list[int] = []
    for at in np.argsort(-counts, kind="stable"):
        if counts[at] >= share * len(chosen) and not alike[at, found].any():
            found.append(int(at))
    return [trees[at] for at in found]


def fixed_features(trees: Sequence[MethodTree], X: Any, y: Any, *, task: str = "auto") -> Any:
    """Return a model of given features, with no search.

    Parameters
    ----------
    trees : sequence of MethodTree
    X : SeriesTable, or what it reads
    y : array-like of shape (n,)
        Classes or numbers.
    task : {"auto", "classification", "regression"}
        "auto" goes by y, as in `SeriesExtractor`.

    Returns
    -------
    SeriesClassModel or SeriesNumberModel

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> X = np.vstack([np.zeros((5, 9)), np.ones((5, 9))]) + np.arange(10)[:, None] / 50
    >>> model = fixed_features([parse_tree("mean")], X, np.repeat(["low", "high"], 5))
    >>> model.predict([[0.0] * 9, [1.1] * 9]).tolist()
    ['low', 'high']
    """
    table, y = X if isinstance(X, SeriesTable) else SeriesTable(X), np.asarray(y)
    check_choice("task", task, ("auto", "classification", "regression"))
    y, classes = read_target(y, task)
    if classes is not None:
        return SeriesClassModel.fit_trees(trees, table, Targets.of_classes(y).T, classes=classes)
    mean, spread = float(y.mean()), float(y.std()) or 1.0
    return SeriesNumberModel.fit_trees(
        trees, table, Targets.of_numbers(y).T, mean=mean, spread=spread
    )


def measure_trust(Z: Array, targets: Targets, most: int) -> Trust:
    """Return what `most` features, chosen anew in folds, are worth for the rows outside.

    Nothing, where a shuffled target would often be told as well. From a half on the share counts
    as all: folds have fewer rows than the whole, no forest and no bred features, so that they tell
    too little. Shapes: Z (n, M).
    """
    if shuffled_p_value([(Z, targets.T)], Z) > _DOUBT:
        return Trust(share=0.0)
    outputs, middle, rows = fold_outputs(Z, targets, most)
    share = kept_share(outputs - middle, targets.T[rows] - middle)
    if targets.codes is None or not len(rows):
        return Trust(share)
    return Trust(share, *fit_chances(middle + share * (outputs - middle), targets.codes[rows]))


def fold_outputs(Z: Array, targets: Targets, most: int) -> tuple[Array, Array, Indices]:
    """Return what the features of the other folds say of each row, their means, and the rows.

    Shapes: Z (n, M) -> (r, q), (r, q), (r,).
    """
    order = np.argsort(targets.T[:, 0] if targets.codes is None else targets.codes, kind="stable")
    fold = np.empty(len(Z), dtype=np.intp)
    fold[order] = np.arange(len(Z)) % _FOLDS
    q = targets.T.shape[1]
    outputs, middles = [np.empty((0, q))], [np.empty((0, q))]
    rows = [np.empty(0, dtype=np.intp)]
    for test in (fold == number for number in range(min(_FOLDS, len(Z)))):
        train, outside = np.flatnonzero(~test), np.flatnonzero(test)
        own = targets.of(train)
        if own.codes is not None and len(np.unique(own.codes)) < 2:
            continue
        found = outputs_outside(
            Z, targets, train, outside, lambda Z, own: unlike(quick_fitness(Z, own), Z, most)
        )
        if found is None:
            continue
        outputs.append(found)
        middles.append(np.broadcast_to(own.T.mean(axis=0), found.shape))
        rows.append(outside)
    return np.concatenate(outputs), np.concatenate(middles), np.concatenate(rows)


def outputs_outside(
    Z: Array,
    targets: Targets,
    train: Indices,
    test: Indices,
    choose: Callable[[Array, Targets], Indices],
) -> Array | None:
    """Return what features chosen in some rows say of others, (m, q); None if none is chosen.

    `choose` gets the standardised values (n, M) and the targets of the training rows.
    """
    own = targets.of(train)
    learnt, centre, scale = standardise_features(Z[train])
    chosen = choose(learnt, own)
    if not len(chosen):
        return None
    fit = smooth_fit(learnt[:, chosen], own.T)
    new = ((Z[test] - centre) / scale)[:, chosen]
    return smooth_kernel(new, learnt[:, chosen], fit.width) @ fit.weights


def kept_share(outputs: Array, truth: Array) -> float:
    """Return the share of outputs that brings them nearest to the truth, both (r, q)."""
    squares = float((outputs**2).sum())
    share = float((outputs * truth).sum()) / squares if squares > 0 else 1.0
    return 1.0 if share > _ENOUGH else max(share, 0.0)


def fit_chances(outputs: Array, codes: Indices) -> tuple[float, float]:
    """Return the floor and power by which outputs are the best chances of classes.

    Shapes: outputs (r, q), codes (r,).
    """
    places = np.arange(len(codes))
    losses = {
        (floor, power): -np.log(chances(outputs, floor, power)[places, codes]).mean()
        for floor in _FLOORS
        for power in _POWERS
    }
    return min(losses, key=lambda each: losses[each])


def chances(outputs: Array, floor: float, power: float) -> Array:
    """Return chances of classes, shape (m, q), in the order of the outputs."""
    share = np.maximum(outputs, floor) ** power
    return share / share.sum(axis=1, keepdims=True)
