"""Linear models of many subsets of columns at once: ridge, least squares and logistic regression.

A learner that is one of them is recognised by `linear_form`; `LinearFold` then solves it for
hundreds of subsets in a few matrix products, which is what makes all subsets affordable. Weights
are found to the optimum, so that ``tol`` and ``max_iter`` of the learner do not matter.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon._typing import AnyArray, Array, Indices, Mask

Task = Literal["classification", "regression"]

# Least squares is ridge with a penalty that rounding hides; collinear columns share the weight.
_VANISHING = 1e-10
# Most numbers in the table of products of columns, and in what one batch of subsets computes.
_MOST_PRODUCTS, _MOST_NUMBERS = 20_000_000, 2_000_000
_MOST_STEPS, _MOST_HALVINGS = 100, 30
_LONGEST_STEP = 5.0
_SMALL_GRADIENT = 1e-8
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


@dataclass(frozen=True, eq=False)
class LinearFold:
    """Training rows of a fold, standardised, and the test rows on the same scale.

    train (n, d), test (m, d): Columns with mean 0 and spread 1 over the training rows.
    target (n,) of numbers, or (n, K) of indicators: one column for two classes, else one a class.
    penalty (d,): On half the squared weight of each column on this scale.
    """

    train: Array
    test: Array
    target: Array
    penalty: Array

    @classmethod
    def of(
        cls, form: LinearForm, X: Array, y: AnyArray, train: Indices, test: Indices
    ) -> "LinearFold":
        """Return the fold of rows of a table.

        Shapes: X (n_all, d); y (n_all,), of numbers or of class codes; train (n,), test (m,).
        """
        centre, spread = X[train].mean(axis=0), X[train].std(axis=0)
        # As the scaler does: a column whose spread is rounding is only centred.
        spread[spread <= 10 * np.finfo(float).eps * (np.abs(centre) + spread)] = 1.0
        n, target = len(train), y[train].astype(float)
        if form.kind == "logistic":
            classes = np.unique(y)
            wanted = classes[1:] if len(classes) == 2 else classes
            target = (y[train][:, None] == wanted).astype(float)
        penalty = np.full(X.shape[1], _VANISHING * n if form.penalty is None else form.penalty)
        if form.penalty is not None and not form.standardise:
            penalty = penalty / spread**2
        return cls((X[train] - centre) / spread, (X[test] - centre) / spread, target, penalty)

    def weights(self, masks: Mask, start: Array | None = None) -> Array:
        """Return the weights of each subset, the intercept last; zero where a column is off.

        Shapes: masks (B, d), start (B, K, d + 1) -> (B, K, d + 1), K = 1 for numbers.
        """
        solve = ridge_subsets if self.target.ndim == 1 else logistic_subsets
        found = np.zeros((len(masks), self._n_outputs, masks.shape[1] + 1))
        sizes = masks.sum(axis=1)
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            step = max(1, _MOST_NUMBERS // (len(self.train) * self._n_outputs))
            for begin in range(0, len(rows), step):
                part = rows[begin : begin + step]
                given = None if start is None else start[part]
                found[part] = solve(self.train, self.target, masks[part], self.penalty, given)
        return found

    def decisions(self, weights: Array) -> Array:
        """Return what the models say of the test rows.

        Shapes: weights (B, K, d + 1) -> (B, K, m): predictions, or logits of the classes.
        """
        flat = weights.reshape(-1, weights.shape[2])
        values = flat[:, :-1] @ self.test.T + flat[:, -1:]
        return values.reshape(*weights.shape[:2], -1)

    @property
    def _n_outputs(self) -> int:
        return 1 if self.target.ndim == 1 else self.target.shape[1]


def ridge_subsets(
    Z: Array,
    y: Array,
    masks: Mask,
    penalty: Array,
    start: Array | None = None,  # noqa: ARG001
) -> Array:
    r"""Return the ridge weights of subsets of one size, from the normal equations of all columns.

    Minimises :math:`\frac12 \|y - b - Zw\|^2 + \frac12 \sum_j \lambda_j w_j^2` for each.

    Shapes: Z (n, d) with mean 0, y (n,), masks (B, d), penalty (d,) -> (B, 1, d + 1).
    """
    gram, moment = Z.T @ Z, Z.T @ (y - y.mean())
    gram[np.diag_indices_from(gram)] += penalty
    places = _places(masks)
    found = np.zeros((len(masks), 1, Z.shape[1] + 1))
    system = gram[places[:, :, None], places[:, None, :]]
    solved = np.linalg.solve(system, moment[places][:, :, None])[:, :, 0]
    np.put_along_axis(found[:, 0], places, solved, axis=1)
    found[:, 0, -1] = y.mean()
    return found


def logistic_subsets(
    Z: Array, T: Array, masks: Mask, penalty: Array, start: Array | None = None
) -> Array:
    r"""Return the logistic weights of subsets of one size, by Newton steps for all at once.

    Minimises minus the log likelihood plus :math:`\frac12 \sum_{kj} \lambda_j w_{kj}^2`, without a
    penalty on the intercepts. The second derivatives of all subsets are one product: of the
    slopes, (B, n), with the products of all pairs of columns, (n, d (d + 1) / 2).

    Shapes: Z (n, d), T (n, K) of indicators (one column for two classes), masks (B, d),
    penalty (d,), start (B, K, d + 1) -> (B, K, d + 1).
    """
    used = np.append(np.flatnonzero(masks.any(axis=0)), Z.shape[1])
    newton = _Newton.of(Z[:, used[:-1]], T, masks[:, used[:-1]], penalty[used[:-1]])
    shape = (len(masks), T.shape[1], len(used))
    begin = np.zeros(shape) if start is None else start[..., used]
    found = np.zeros((len(masks), T.shape[1], Z.shape[1] + 1))
    found[..., used] = newton.minimised(begin)
    return found


@dataclass(frozen=True, eq=False)
class _Newton:
    """Newton's method for subsets of one size of the columns of a table with a constant.

    D (n, d + 1): Columns, the constant last. T (n, K). penalty (d + 1,).
    places (B, k + 1): Columns of each subset, the constant last.
    pairs (d + 1, d + 1): Where the product of two columns stands in `products`, (n, p); without
        products, which many columns make too many, each subset's own columns are multiplied.
    """

    D: Array
    T: Array
    penalty: Array
    places: Indices
    pairs: Indices
    products: Array | None

    @classmethod
    def of(cls, Z: Array, T: Array, masks: Mask, penalty: Array) -> "_Newton":
        n, d = Z.shape
        D = np.column_stack((Z, np.ones(n)))
        places = np.column_stack((_places(masks), np.full(len(masks), d)))
        first, second = np.triu_indices(d + 1)
        pairs = np.empty((d + 1, d + 1), dtype=np.intp)
        pairs[first, second] = pairs[second, first] = np.arange(len(first))
        few = len(first) <= 4 * places.shape[1] ** 2 + 200 and n * len(first) <= _MOST_PRODUCTS
        products = D[:, first] * D[:, second] if few else None
        # Softmax leaves a common shift of the intercepts open; this settles it and nothing else.
        shift = 1e-8 * n if T.shape[1] > 1 else 0.0
        return cls(D, T, np.append(penalty, shift), places, pairs, products)

    def minimised(self, theta: Array) -> Array:
        """Return the weights that minimise, from a start.

        Shapes: theta (B, K, d + 1) -> (B, K, d + 1).
        """
        theta = theta * self._on()[:, None]
        active = np.arange(len(theta))
        share, gradient = self._slope(theta, active)
        for _ in range(_MOST_STEPS):
            left = np.abs(gradient).max(axis=(1, 2)) > _SMALL_GRADIENT * len(self.D)
            active, share, gradient = active[left], share[left], gradient[left]
            if not len(active):
                break
            step = self._step(share, gradient, active)
            theta[active], share, gradient = self._moved(theta[active], step, gradient, active)
        return theta

    def _on(self) -> Mask:
        on = np.zeros((len(self.places), self.D.shape[1]), dtype=np.bool_)
        np.put_along_axis(on, self.places, True, axis=1)
        return on

    def _slope(self, theta: Array, active: Indices) -> tuple[Array, Array]:
        """Return the class probabilities (B, K, n) and the gradient (B, K, d + 1)."""
        n_active, n_outputs, width = theta.shape
        # As matrices: NumPy multiplies stacks of them one by one.
        latent = (theta.reshape(-1, width) @ self.D.T).reshape(n_active, n_outputs, -1)
        share: Array = expit(latent) if n_outputs == 1 else softmax(latent, axis=1)
        surprise = (share - self.T.T).reshape(n_active * n_outputs, -1)
        gradient = (surprise @ self.D).reshape(theta.shape) + self.penalty * theta
        keep = np.zeros((len(active), self.D.shape[1]))
        np.put_along_axis(keep, self.places[active], 1.0, axis=1)
        return share, gradient * keep[:, None]

    def _step(self, share: Array, gradient: Array, active: Indices) -> Array:
        """Return the Newton steps, (B, K, d + 1)."""
        places, (n_active, n_outputs, _) = self.places[active], share.shape
        size = places.shape[1]
        hessian = np.empty((n_active, n_outputs, size, n_outputs, size))
        for a in range(n_outputs):
            for b in range(a, n_outputs):
                slope = share[:, a] * ((a == b) - share[:, b])
                block = self._curvature(slope, places)
                hessian[:, a, :, b], hessian[:, b, :, a] = block, block
        system = hessian.reshape(n_active, n_outputs * size, -1)
        diagonal = np.arange(n_outputs * size)
        system[:, diagonal, diagonal] += np.tile(self.penalty[places], n_outputs) + 1e-12
        wide = np.repeat(places[:, None], n_outputs, axis=1)
        right = np.take_along_axis(gradient, wide, axis=2).reshape(n_active, -1, 1)
        solved = np.linalg.solve(system, right).reshape(n_active, n_outputs, size)
        # Far from the optimum there is no curvature, and a step would go anywhere.
        longest = np.abs(solved).max(axis=(1, 2), keepdims=True)
        solved *= np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))
        step = np.zeros_like(gradient)
        np.put_along_axis(step, wide, -solved, axis=2)
        return step

    def _curvature(self, slope: Array, places: Indices) -> Array:
        """Return D' diag(slope) D of each subset's columns, (B, k + 1, k + 1)."""
        if self.products is not None:
            which = self.pairs[places[:, :, None], places[:, None, :]]
            rows = np.arange(len(places))[:, None, None]
            block: Array = (slope @ self.products)[rows, which]
            return block
        own = self.D.T[places]
        return (own * slope[:, None]) @ own.transpose(0, 2, 1)

    def _moved(
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


def _places(masks: Mask) -> Indices:
    """Return the columns of subsets of one size: masks (B, d) -> (B, k)."""
    return np.nonzero(masks)[1].reshape(len(masks), -1)
