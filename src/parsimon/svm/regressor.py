"""`EvolutionarySVR`: support vector regression, its dual solved by evolution.

`regression_dual` writes regression as a dual of twice as many variables, so that everything else is
that of `EvolutionarySVC`.
"""

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from parsimon._checks import check_choice, check_positive, is_precomputed
from parsimon._data import merged_rows, row_weights, validate_data
from parsimon._interrupts import stoppable
from parsimon._parallel import one_thread
from parsimon._random import Seed
from parsimon._typing import Array, Indices
from parsimon.exceptions import ScalingWarning
from parsimon.svm._dual import Dual
from parsimon.svm._gram import EvolutionaryMachine, FittedDual, box_size, fit_dual, fit_gram
from parsimon.svm.indefinite import TrainingMatrix, training_matrix


class EvolutionarySVR(RegressorMixin, EvolutionaryMachine):
    """Support vector machine for regression, its dual solved by evolution.

    Errors up to `epsilon` cost nothing, larger ones C for each unit beyond it. Everything about
    kernels, strategies and repairs is as in `EvolutionarySVC`.

    Parameters
    ----------
    C : float or "heuristic"
        Greatest value of a dual variable; "heuristic" is one over the mean of k(x, x).
    kernel : str, Kernel or callable
        As in `EvolutionarySVC`.
    gamma
        Of the named kernels, as in SVR.
    epsilon : float
        Half of the width of the tube in which errors cost nothing, in units of y.
    normalise_y : bool
        Subtract the mean of y and divide by its standard deviation before the fit, so that C and
        epsilon are in units of that deviation. Without it a warning says if the units of y and
        these two do not go together.
    strategy : {"memetic", "gaussian", "switching", "hybrid", "swarm"}
    indefinite : {"flip", "clip", "shift", "native"}
    max_iter, stall : int, optional
    tol : float
    time_limit : float, optional
        Seconds.
    random_state : int, Generator, SeedSequence, RandomState or None
        All as in `EvolutionarySVC`.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Training rows with a coefficient, ascending; of equal rows the first.
    support_vectors_ : ndarray of shape (n_support, d)
        Those rows; none for "precomputed".
    dual_coef_ : ndarray of shape (1, n_support)
    intercept_ : ndarray of shape (1,)
    n_support_ : ndarray of shape (1,)
    objective_, gap_ : float
        The dual's value and the largest violation of its optimality conditions.
    inverted_ : bool
        Whether "native" came out falling on the training rows where the targets rise, of which a
        warning tells.
    smallest_eigenvalue_, repair_, history_, n_iter_, stopped_by_, converged_, C_, kernel_
        As in `EvolutionarySVC`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    Smola and Schölkopf (2004), "A tutorial on support vector regression", Statistics and Computing
    14:199-222; Mierswa (2009), section 3.1, for the strategies.

    Examples
    --------
    >>> X = np.linspace(-10, 10, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.05 * np.random.default_rng(0).normal(size=100)
    >>> model = EvolutionarySVR(gamma=0.3, epsilon=0.1, C=10.0).fit(X, y)
    >>> bool(abs(model.predict([[0.0]])[0] - 1.0) < 0.15), len(model.support_) < 40
    (True, True)
    """

    def __init__(
        self,
        C: float | Literal["heuristic"] = 1.0,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        epsilon: float = 0.1,
        normalise_y: bool = False,
        strategy: str = "memetic",
        indefinite: Literal["flip", "clip", "shift", "native"] = "flip",
        max_iter: int | None = None,
        stall: int | None = None,
        tol: float = 1e-3,
        time_limit: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.epsilon = epsilon
        self.normalise_y = normalise_y
        self.strategy = strategy
        self.indefinite = indefinite
        self.max_iter = max_iter
        self.stall = stall
        self.tol = tol
        self.time_limit = time_limit
        self.random_state = random_state

    @stoppable
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the dual.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Factors of C by row: integers equal repeated rows, zero leaves one out.

        Returns
        -------
        EvolutionarySVR
            Itself.
        """
        settings, how = self._options()
        epsilon = check_positive("epsilon", self.epsilon, or_zero=True)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        check_choice("normalise_y", self.normalise_y, [True, False])
        targets = np.asarray(y, dtype=np.float64)
        weights = row_weights(sample_weight, len(X))
        centre, unit = _units(targets, weights) if self.normalise_y else (0.0, 1.0)
        targets = (targets - centre) / unit
        rows = merged_rows(X, targets, weights, merge=not is_precomputed(self))
        # The matrices are small: more threads would take longer, and change the last digits.
        with one_thread():
            made = training_matrix(fit_gram(self, X, rows.places, rows.weights), how)
            self.C_ = box_size(self.C, made.matrix, rows.weights)
            dual = regression_dual(
                made.matrix,
                rows.y,
                self.C_ * rows.weights,
                epsilon,
                equality=not settings.printed,
            )
            fit = fit_dual(dual, settings, made.concave, self.random_state)
            self._store(X, made, fit, rows.places, centre, unit)
        if not self.normalise_y:
            above, below = np.split(fit.solution.alpha, 2)
            reach = self.C_ * float(np.mean(np.diagonal(made.matrix)))
            _warn_of_target(rows.y, made.matrix @ (above - below), epsilon, reach)
        self._warn([fit])
        return self

    def predict(self, X: Any) -> Array:
        """Return the function at new rows, shape (m,)."""
        return self._decide(X)

    def _store(
        self,
        X: Array,
        made: TrainingMatrix,
        fit: FittedDual,
        places: Indices,
        centre: float,
        unit: float,
    ) -> None:
        """Keep a fit, whose targets were y less `centre`, over `unit`, in units of y."""
        above, below = np.split(fit.solution.alpha, 2)
        coefficients = unit * (above - below)
        used = np.flatnonzero(coefficients)
        used = used[np.argsort(places[used])]
        self.support_ = places[used]
        self.support_vectors_ = X[self.support_][: 0 if is_precomputed(self) else None]
        self.dual_coef_ = coefficients[None, used]
        self.intercept_ = np.array([centre + unit * fit.solution.bias])
        self.n_support_ = np.array([len(used)])
        self.objective_ = fit.solution.objective
        self._store_fits(made, [fit])
        self._expansion, table, _ = made.expansion(coefficients[:, None])
        self._coefficients = table[:, 0]


def _units(y: Array, weights: Array) -> tuple[float, float]:
    """Return the weighted mean and standard deviation of y; a constant has unit one."""
    centre = float(np.average(y, weights=weights))
    unit = float(np.sqrt(np.average((y - centre) ** 2, weights=weights)))
    return centre, unit if unit > 1e-12 * abs(centre) else 1.0


# Of the standard deviation of y: a function that moves less is as good as a constant; and it is C
# that holds it if so many rows together could not move it further.
_CONSTANT, _ROWS_TOGETHER = 0.01, 20


def _warn_of_target(y: Array, fitted: Array, epsilon: float, reach: float) -> None:
    """Warn if the function came out as a constant because of the units of y.

    Shapes: y, fitted (n,); `reach` is what one row can move the function.
    """
    spread = float(np.std(y))
    if spread == 0 or float(np.std(fitted)) >= _CONSTANT * spread:
        return
    if np.ptp(y) <= 2 * epsilon:
        seen = f"All targets lie within epsilon={epsilon:g} of one number"
    elif reach * _ROWS_TOGETHER < spread:
        seen = f"The targets have a standard deviation of {spread:.3g}, for which C is too small"
    else:
        return
    warnings.warn(
        f"{seen}, so that the function is nearly a constant; set normalise_y=True.",
        ScalingWarning,
        stacklevel=4,
    )


def regression_dual(
    kernel: Array, y: Array, upper: Array, epsilon: float, *, equality: bool = True
) -> Dual:
    r"""Return the dual of regression with an insensitive tube.

    Maximise :math:`y^T \beta - \epsilon \sum (\alpha_i + \alpha_i^*) - \frac12 \beta^T K \beta`
    with :math:`\beta = \alpha - \alpha^*`: a `Dual` in 2n variables, those of errors above the tube
    first.

    Shapes: kernel (n, n), y, upper (n,).

    Smola and Schölkopf (2004), equation 10.
    """
    return Dual(
        np.tile(kernel, (2, 2)),
        np.repeat([1.0, -1.0], len(y)),
        np.tile(upper, 2),
        equality,
        np.concatenate((y - epsilon, -y - epsilon)),
    )
