"""Linear models of many subsets of columns at once: ridge, least squares and logistic regression.

A learner that is one of them is recognised by `linear_form`; `LinearFolds` then solves it for
hundreds of subsets in a few matrix products, which is what makes all subsets affordable. Weights
are found to the optimum, so that ``tol`` and ``max_iter`` of the learner do not matter.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon._data import Task
from parsimon._typing import AnyArray, Array, Indices, Mask

# Least squares is ridge with a penalty that rounding hides; collinear columns share the weight.
_VANISHING = 1e-10
# Most numbers in the table of products of columns, and in what one batch of subsets computes: the
# latter stay in the cache of a processor.
_MOST_PRODUCTS, _MOST_NUMBERS = 20_000_000, 150_000
_MOST_STEPS, _MOST_HALVINGS = 100, 30
_LONGEST_STEP = 5.0
# For each row; a hundredth of what scikit-learn is content with.
_SMALL_GRADIENT = 1e-6
_FREE = {"tol", "max_iter", "random_state", "n_jobs", "verbose", "copy_X", "warm_start"}
_SMOOTH_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")


class LinearForm(NamedTuple):
    """A linear learner: its kind, its penalty on squared weights, and its scale.

    penalty: On half the sum of squared weights; None for least squares.
    standardise: Whether columns are standardised first, by the rows that are learnt from.
    """

    kind: Literal["logistic", "ridge"]
    penalty: float | None
    standardise: bool


def default_learner(task: Task) -> Any:
    """Return the learner that is used where none is given."""
    last = LogisticRegression() if task == "classification" else Ridge()
    return make_pipeline(StandardScaler(), last)


def linear_form(learner: Any) -> LinearForm | None:
    """Return how a learner is solved for many subsets at once; None for any other learner."""
    steps = [step for _, step in learner.steps] if type(learner) is Pipeline else [learner]
    standardise = len(steps) == 2 and type(steps[0]) is StandardScaler and _is_plain(steps[0])
    if len(steps) > 1 and not standardise:
        return None
    last = steps[-1]
    if type(last) is LogisticRegression and _is_plain(last, "C", "solver"):
        smooth = last.solver in _SMOOTH_SOLVERS and last.C > 0 and np.isfinite(last.C)
        return LinearForm("logistic", 1.0 / last.C, standardise) if smooth else None
    if type(last) is Ridge and _is_plain(last, "alpha", "solver") and np.ndim(last.alpha) == 0:
        return LinearForm("ridge", float(last.alpha) or None, standardise)
    if type(last) is LinearRegression and _is_plain(last):
        return LinearForm("ridge", None, standardise)
    return None


def _is_plain(step: Any, *free: str) -> bool:
    """Tell whether all options but those that a closed form knows or can ignore are the default."""
    plain = type(step)().get_params()
    given = step.get_params()
    return all(given[name] == plain[name] for name in plain if name not in {*_FREE, *free, "copy"})


class LinearFolds:
    """A table and its folds, on one scale, for linear models of many subsets.

    A fold is the whole table with rows that count or not; what its own scale would be is in the
    penalties. So all folds share the products of columns, and are solved together.

    D (n, d + 1): Columns with mean 0 and spread 1 over all rows; the constant last.
    T (n, K): Numbers (K = 1), or indicators of classes: one column for two, else one a class.
    counts (F + 1, n): How often each fold trains on each row; the last, all rows once.
    penalty (F + 1, d + 1): On half the squared weight of each column.
    tests: The test rows of each fold.
    """

    def __init__(
        self, form: LinearForm, X: Array, y: AnyArray, folds: Sequence[tuple[Indices, Indices]]
    ) -> None:
        """Take up a table X (n, d), numbers or class codes y (n,), and pairs of train and test."""
        n, d = X.shape
        counts = np.ones((len(folds) + 1, n))
        counts[:-1] = [np.bincount(train, minlength=n) for train, _ in folds]
        centre, spread = _scale(X, counts[-1])
        penalty = np.zeros((len(counts), d + 1))
        for row, count in zip(penalty, counts, strict=True):
            own = _scale(X, count)[1] if form.standardise else 1.0
            weight = _VANISHING * n if form.penalty is None else form.penalty
            row[:-1] = weight if form.penalty is None else weight * (own / spread) ** 2
        T = y.astype(float)[:, None]
        if form.kind == "logistic":
            classes = np.unique(y)
            T = (y[:, None] == (classes[1:] if len(classes) == 2 else classes)).astype(float)
            # Softmax leaves a common shift of the intercepts open; this settles it, no more.
            penalty[:, -1] = 1e-8 * n if T.shape[1] > 1 else 0.0
        self.kind, self.T, self.counts, self.penalty = form.kind, T, counts, penalty
        self.D = np.column_stack(((X - centre) / spread, np.ones(n)))
        self.tests = [np.asarray(test) for _, test in folds]

    @cached_property
    def products(self) -> Array | None:
        """The products of all pairs of columns, (n, p), unless they are too many."""
        if len(self.D) * self.n_pairs > _MOST_PRODUCTS:
            return None
        first, second = np.triu_indices(self.D.shape[1])
        return self.D[:, first] * self.D[:, second]

    @property
    def n_pairs(self) -> int:
        """How many pairs of columns there are, the constant and equal ones included."""
        width = int(self.D.shape[1])
        return width * (width + 1) // 2

    @cached_property
    def pairs(self) -> Indices:
        """Where the product of two columns stands, (d + 1, d + 1)."""
        first, second = np.triu_indices(self.D.shape[1])
        found = np.empty((self.D.shape[1],) * 2, dtype=np.intp)
        found[first, second] = found[second, first] = np.arange(len(first))
        return found

    def decisions(self, masks: Mask) -> list[Array]:
        """Return what the models of subsets say of the test rows of each fold.

        Shapes: masks (B, d) -> (B, K, m) for each fold: predictions, or logits of the classes.
        """
        n_outputs, width = self.T.shape[1], self.D.shape[1]
        found = [np.empty((len(masks), n_outputs, len(test))) for test in self.tests]
        sizes = masks.sum(axis=1)
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            many = len(self.D) * n_outputs * len(self.tests)
            step = max(1, _MOST_NUMBERS // (many if self.products is not None else many * size))
            for begin in range(0, len(rows), step):
                part = rows[begin : begin + step]
                weights = self.weights(masks[part]).reshape(len(self.tests), -1, width)
                for own, test, fold in zip(found, self.tests, weights, strict=True):
                    own[part] = (fold @ self.D[test].T).reshape(len(part), n_outputs, -1)
        return found

    def weights(self, masks: Mask) -> Array:
        """Return the weights of subsets of one size in each fold, zero for columns that are off.

        Shapes: masks (B, d) -> (F, B, K, d + 1), the intercept last.
        """
        places = np.nonzero(masks)[1].reshape(len(masks), -1)
        solve = self._logistic if self.kind == "logistic" else self._ridge
        places, own = solve(places)
        n_outputs, n_folds = self.T.shape[1], len(self.tests)
        found = np.zeros((n_folds, len(masks), n_outputs, self.D.shape[1]))
        wide = np.broadcast_to(places[None, :, None], own.shape)
        np.put_along_axis(found, wide, own, axis=3)
        return found

    def _logistic(self, places: Indices) -> tuple[Indices, Array]:
        """Return columns with the constant, (B, k + 1), and weights of them, (F, B, K, k + 1)."""
        n_folds = len(self.tests)
        places = np.column_stack((places, np.full(len(places), self.D.shape[1] - 1)))
        start = np.zeros((len(places), self.T.shape[1], places.shape[1]))
        # Where all rows lead, the folds nearly are: only a start, from which each goes on.
        start = _Newton(self, places, np.full(len(places), n_folds)).minimise(start)
        which = np.repeat(np.arange(n_folds), len(places))
        tiled = np.tile(places, (n_folds, 1))
        found = _Newton(self, tiled, which).minimise(np.tile(start, (n_folds, 1, 1)))
        return places, found.reshape(n_folds, *start.shape)

    def _ridge(self, places: Indices) -> tuple[Indices, Array]:
        """Return columns with the constant and weights of them, as `_logistic` does.

        Those of all subsets are parts of the same normal equations.
        """
        rows, columns = places[:, :, None], places[:, None, :]
        found = np.empty((len(self.tests), len(places), 1, places.shape[1] + 1))
        for own, count, penalty in zip(found, self.counts, self.penalty, strict=False):
            middle = count @ self.D / count.sum()
            mean = float(count @ self.T[:, 0] / count.sum())
            D = (self.D - middle) * np.sqrt(count)[:, None]
            gram = D.T @ D + np.diag(penalty)
            moment = D.T @ ((self.T[:, 0] - mean) * np.sqrt(count))
            weights = np.linalg.solve(gram[rows, columns], moment[rows])[:, :, 0]
            own[:, 0, :-1] = weights
            own[:, 0, -1] = mean - (weights * middle[places]).sum(axis=1)
        return np.column_stack((places, np.full(len(places), self.D.shape[1] - 1))), found


def _scale(X: Array, count: Array) -> tuple[Array, Array]:
    """Return mean and spread of columns; the spread of those that do not vary is 1."""
    centre = count @ X / count.sum()
    spread = np.sqrt(count @ (X - centre) ** 2 / count.sum())
    # As the scaler has it: a spread that rounding makes is none.
    spread[spread <= 10 * np.finfo(float).eps * (np.abs(centre) + spread)] = 1.0
    return centre, spread


class _Newton:
    r"""Newton's method for P logistic models of as many columns each, all at once.

    Each minimises minus the log likelihood of the rows of its fold plus
    :math:`\frac12 \sum_{kj} \lambda_j w_{kj}^2`. The second derivatives of all are one product: of
    the slopes, (P, n), with the products of all pairs of columns, (n, p). With many columns these
    are too many, and each model multiplies its own columns.

    places (P, k): The columns of each. counts (P, n), penalty (P, k): Of the fold of each.
    pairs (d + 1, d + 1): Where the product of two columns stands; None without products.
    """

    def __init__(self, table: LinearFolds, places: Indices, which: Indices) -> None:
        """Take up the models of columns `places`, (P, k), in the folds `which`, (P,)."""
        self.table, self.places, self.counts = table, places, table.counts[which]
        self.penalty = table.penalty[which[:, None], places]
        many = table.n_pairs > 4 * places.shape[1] ** 2 + 200
        self.pairs = None if table.products is None or many else table.pairs

    def minimise(self, theta: Array) -> Array:
        """Return the weights that minimise, from a start: (P, K, k) -> (P, K, k)."""
        theta = theta.copy()
        active = np.arange(len(theta))
        share, gradient = self._slope(theta, active)
        for _ in range(_MOST_STEPS):
            left = np.abs(gradient).max(axis=(1, 2)) > _SMALL_GRADIENT * len(self.table.D)
            if not left.all():
                active, share, gradient = active[left], share[left], gradient[left]
            if not len(active):
                break
            step = self._step(share, gradient, active)
            theta[active], share, gradient = self._move(theta[active], step, gradient, active)
        return theta

    def _slope(self, theta: Array, active: Indices) -> tuple[Array, Array]:
        """Return the class probabilities, (A, K, n), and the gradient, (A, K, k)."""
        places, counts, penalty = self._among(active)
        latent = self._latent(theta, places)
        share: Array = expit(latent) if theta.shape[1] == 1 else _softmax(latent)
        surprise = (share - self.table.T.T) * counts[:, None]
        return share, self._project(surprise, places) + penalty[:, None] * theta

    def _among(self, active: Indices) -> tuple[Indices, Array, Array]:
        if len(active) == len(self.places):
            return self.places, self.counts, self.penalty
        return self.places[active], self.counts[active], self.penalty[active]

    def _latent(self, theta: Array, places: Indices) -> Array:
        """Return the linear predictors: (A, K, k) -> (A, K, n)."""
        D = self.table.D
        if self.pairs is None:
            return theta @ D.T[places]
        # As one matrix: NumPy multiplies stacks of them one by one.
        full = np.zeros((len(theta), theta.shape[1], D.shape[1]))
        np.put_along_axis(full, np.broadcast_to(places[:, None], theta.shape), theta, axis=2)
        return (full.reshape(-1, D.shape[1]) @ D.T).reshape(*theta.shape[:2], -1)

    def _project(self, values: Array, places: Indices) -> Array:
        """Return the products of values of rows with the columns: (A, K, n) -> (A, K, k)."""
        D = self.table.D
        if self.pairs is None:
            return values @ D.T[places].transpose(0, 2, 1)
        full = (values.reshape(-1, len(D)) @ D).reshape(*values.shape[:2], -1)
        return np.take_along_axis(full, places[:, None], axis=2)

    def _curvature(self, slope: Array, places: Indices) -> Array:
        """Return D' diag(slope) D of the columns of each: (A, n) -> (A, k, k)."""
        products = self.table.products
        if self.pairs is None or products is None:
            own = self.table.D.T[places]
            return (own * slope[:, None]) @ own.transpose(0, 2, 1)
        which = self.pairs[places[:, :, None], places[:, None, :]]
        rows = np.arange(len(places))[:, None, None]
        return (slope @ products)[rows, which]

    def _step(self, share: Array, gradient: Array, active: Indices) -> Array:
        """Return the Newton steps, (A, K, k)."""
        places, counts, penalty = self._among(active)
        n_active, n_outputs, k = gradient.shape
        # Weights of classes sum to zero, as their gradients do: the last class follows from the
        # others, and the system is that much smaller.
        free = max(1, n_outputs - 1)
        hessian = np.zeros((n_active, free, k, free, k))
        if n_outputs == 1:
            slope = share[:, 0] * (1.0 - share[:, 0]) * counts
            hessian[:, 0, :, 0] = self._curvature(slope, places)
        for a, b in combinations(range(n_outputs), 2):
            block = self._curvature(share[:, a] * share[:, b] * counts, places)
            hessian[:, a, :, a] += block
            if b < free:
                hessian[:, b, :, b] += block
                hessian[:, a, :, b] -= block
                hessian[:, b, :, a] -= block
            else:
                hessian[:, a] += block[:, :, None]
        system = hessian.reshape(n_active, free * k, -1)
        diagonal = np.arange(free * k)
        system[:, diagonal, diagonal] += np.tile(penalty, free) + 1e-12
        right = -gradient[:, :free].reshape(n_active, -1, 1)
        solved = np.linalg.solve(system, right).reshape(n_active, free, k)
        if n_outputs > 1:
            solved = np.concatenate((solved, -solved.sum(axis=1, keepdims=True)), axis=1)
        # Far from the optimum there is no curvature, and a step would go anywhere.
        longest = np.abs(solved).max(axis=(1, 2), keepdims=True)
        return solved * (_LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))

    def _move(
        self, theta: Array, step: Array, gradient: Array, active: Indices
    ) -> tuple[Array, Array, Array]:
        """Return weights after a step, shortened where it goes beyond the lowest point.

        The functions are convex: the slope along the step tells on which side of it one is.
        """
        scale = np.ones((len(theta), 1, 1))
        before = np.einsum("bkj,bkj->b", gradient, step)
        share, after = self._slope(theta + step, active)
        for _ in range(_MOST_HALVINGS):
            far = np.flatnonzero(np.einsum("bkj,bkj->b", after, step) > -0.5 * before)
            if not len(far):
                break
            scale[far] /= 2
            share[far], after[far] = self._slope(theta[far] + scale[far] * step[far], active[far])
        return theta + scale * step, share, after


def _softmax(latent: Array) -> Array:
    """Return class probabilities, in place: (A, K, n), summing to one over K."""
    latent -= latent.max(axis=1, keepdims=True)
    np.exp(latent, out=latent)
    latent /= latent.sum(axis=1, keepdims=True)
    return latent
