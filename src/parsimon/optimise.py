"""One bounded minimiser with restarts, for every fit of hyperparameters.

`minimise` goes down from each start, by L-BFGS-B or, where a curvature is known, by Newton's steps
inside the box that BFGS corrects after each; evaluations may fail.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import Bounds
from scipy.optimize import minimize as scipy_minimize

from parsimon._checks import finite_matrix
from parsimon._deadline import Deadline, end_after, is_late
from parsimon._random import Seed, generator
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError

# Value and gradient, or None where an evaluation failed.
Evaluate: TypeAlias = Callable[[Array], tuple[float, Array] | None]

# No variable moves further in one step.
LONGEST_STEP = 1.0
# A step that does not lower the value is halved at most so often.
MOST_HALVINGS = 4
# Of the largest curvature; flatter directions are taken to be this curved.
LEAST_CURVATURE = 1e-4
# Step of the differences of gradients that make a curvature.
DIFFERENCE = 1e-2


class Tolerances(NamedTuple):
    """When a descent stops: relative change of the value, largest slope, number of steps."""

    value: float
    gradient: float
    max_iterations: int


def newton_descent(
    evaluate: Evaluate, start: Array, bounds: Array, tolerances: Tolerances, curvature: Array
) -> tuple[bool, str]:
    """Go down from a start; return whether a tolerance was met, and why it ended.

    Variables at a bound that the slope pushes outwards are held there (Bertsekas 1982, SIAM J.
    Control Optim. 20:221-246); the rest takes BFGS steps (Nocedal and Wright 2006, section 6.1).

    Shapes: start (p,), bounds (p, 2), curvature (p, p).
    """
    H = _positive(curvature)
    x, found = start, evaluate(start)
    for _ in range(tolerances.max_iterations):
        if found is None:
            return False, "A step with known curvature did not lower the value."
        value, gradient = found
        if np.max(np.abs(projected(gradient, x, bounds))) <= tolerances.gradient:
            return True, "No slope is larger than its tolerance."
        step = _step(x, gradient, H, bounds)
        gain = -float(gradient @ step + 0.5 * step @ H @ step)
        if 0 <= gain <= tolerances.value * max(abs(value), 1.0):
            return True, "The next step would change the value by less than its tolerance."
        step, found = _lower(evaluate, x, value, step)
        x = x + step
        if found is not None:
            if value - found[0] <= tolerances.value * max(abs(value), abs(found[0]), 1.0):
                return True, "The value no longer changes by more than its tolerance."
            H = _corrected(H, step, found[1] - gradient)
    return False, "The limit of iterations was reached."


def promised_gain(evaluate: Evaluate, x: Array, gradient: Array, bounds: Array) -> float:
    """Return by how much Newton's step would lower the value, with differences of gradients.

    Shapes: x, gradient (p,), bounds (p, 2).
    """
    curvature = np.eye(len(x))
    for place, high in enumerate(bounds[:, 1]):
        moved = x.copy()
        moved[place] += DIFFERENCE if x[place] + DIFFERENCE <= high else -DIFFERENCE
        found = evaluate(moved)
        if found is not None:
            curvature[place] = (found[1] - gradient) / (moved[place] - x[place])
    H = _positive(curvature)
    step = _step(x, gradient, H, bounds)
    return -float(gradient @ step + 0.5 * step @ H @ step)


def projected(gradient: Array, x: Array, bounds: Array) -> Array:
    """Return the gradient without the components that a bound holds back."""
    low, high = bounds.T
    held = ((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)) | (low == high)
    return np.where(held, 0.0, gradient)


def _positive(curvature: Array) -> Array:
    """Return a positive definite matrix with the same directions."""
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    floor = LEAST_CURVATURE * max(float(np.max(np.abs(values))), 1.0)
    return (vectors * np.maximum(np.abs(values), floor)) @ vectors.T


def _step(x: Array, gradient: Array, H: Array, bounds: Array) -> Array:
    """Return the step to the minimum of a quadratic form, cut at the box; held variables stay."""
    low, high = bounds.T
    free = projected(gradient, x, bounds) != 0
    step = np.zeros_like(x)
    step[free] = -np.linalg.solve(H[np.ix_(free, free)], gradient[free])
    step *= LONGEST_STEP / max(float(np.max(np.abs(step))), LONGEST_STEP)
    return np.clip(x + step, low, high) - x


def _lower(
    evaluate: Evaluate, x: Array, value: float, step: Array
) -> tuple[Array, tuple[float, Array] | None]:
    """Halve a step until its end is lower; None if it never is."""
    for _ in range(MOST_HALVINGS):
        found = evaluate(x + step)
        if found is not None and found[0] <= value:
            return step, found
        step = step / 2
    return step, None


def _corrected(H: Array, step: Array, change: Array) -> Array:
    """Return the curvature after a step that changed the gradient; it stays positive."""
    along = H @ step
    if change @ step <= 1e-8 * (step @ along):
        return H
    return H - np.outer(along, along) / (step @ along) + np.outer(change, change) / (change @ step)


Objective: TypeAlias = Callable[[Array], tuple[float, Array]]

# Where a line search finds nothing lower, a minimum within rounding is one from which Newton's
# step promises no more than this share of the value, or than what so short a step changes.
ROUNDING_GAIN = 1e-4
ROUNDING_STEP = 1e-9


class Minimum(NamedTuple):
    """The best point that a minimiser saw.

    Attributes
    ----------
    x : ndarray of shape (p,)
        The point, inside the bounds.
    value : float
        The objective there.
    gradient : ndarray of shape (p,)
        Its gradient there.
    converged : bool
        Whether the run that found it met its tolerance.
    message : str
        Why that run stopped.
    n_evaluations : int
        Evaluations over all runs.
    n_failures : int
        How many of them failed.
    start_values : tuple of float
        The final value of each run, in the order of the starts; infinite for a run that never
        had a finite value.
    """

    x: Array
    value: float
    gradient: Array
    converged: bool
    message: str
    n_evaluations: int
    n_failures: int
    start_values: tuple[float, ...]


def minimise(
    objective: Objective,
    start: Array,
    bounds: Array,
    *,
    n_restarts: int = 0,
    random_state: Seed = None,
    max_iterations: int = 200,
    value_tolerance: float = 2.2e-9,
    gradient_tolerance: float = 1e-5,
    time_limit: float | None = None,
    enough: Callable[[], bool] | None = None,
    curvature: Array | None = None,
) -> Minimum:
    """Minimise a smooth function inside a box, from several starting points.

    The tolerances are those of SciPy's L-BFGS-B [1]_, with its defaults.

    Parameters
    ----------
    objective : callable
        Maps a point of shape (p,) to its value and gradient. A point where it raises
        `numpy.linalg.LinAlgError` or `FloatingPointError`, or returns NaN, is worse than any other.
    start : ndarray of shape (p,) or (n_starts, p)
        Where to begin; moved inside the bounds if it is not.
    bounds : ndarray of shape (p, 2)
        Lower and upper bounds; equal ones hold a variable fixed.
    n_restarts : int
        Further starts, drawn uniformly inside the bounds.
    random_state : int, Generator, SeedSequence, RandomState or None
        Draws the restarts; the draw of each does not depend on how many there are.
    max_iterations : int
        At most this many iterations for each start.
    value_tolerance : float
        Stop when an iteration lowers the value by less than this, relative to ``max(|value|, 1)``.
    gradient_tolerance : float
        Stop when no component of the projected gradient is larger.
    time_limit : float, optional
        Seconds for all starts together; the best point so far is returned. The evaluation that
        is running when the time ends is finished first.
    enough : callable, optional
        Asked before each evaluation but the first; once it says True, no more are made, and the
        best point so far is returned.
    curvature : ndarray of shape (p, p) or (n_starts, p, p), optional
        Second derivatives at the given starts, as far as they are known, symmetric. Steps are
        then Newton's from the first on, with the curvature corrected after each [2]_; they stop
        as well when the next would lower the value by less than its tolerance. L-BFGS-B takes
        over if they fail, and begins at the random starts.

    Returns
    -------
    Minimum

    Raises
    ------
    numpy.linalg.LinAlgError
        If no evaluation at all succeeded.

    References
    ----------
    .. [1] Zhu, Byrd, Lu and Nocedal (1997), ACM Trans. Math. Softw. 23:550-560.
    .. [2] BFGS with variables held at their bounds: Bertsekas (1982), SIAM J. Control Optim.
       20:221-246; Nocedal and Wright (2006), section 6.1.

    Examples
    --------
    >>> def bowl(x):
    ...     return float(np.sum((x - 3) ** 2)), 2 * (x - 3)
    >>> lowest = minimise(bowl, np.zeros(2), np.array([[-1.0, 1.0], [-9.0, 9.0]]))
    >>> lowest.x.round(4), round(lowest.value, 6), lowest.converged
    (array([1., 3.]), 4.0, True)
    """
    bounds = _checked_bounds(bounds)
    low, high = bounds.T
    starts = np.clip(finite_matrix(start, "start"), low, high)
    known = _curvatures(curvature, starts.shape)
    if n_restarts:
        starts = np.vstack([starts, random_starts(bounds, n_restarts, random_state)])
        known += [None] * n_restarts
    memory = _Memory(objective, end_after(time_limit), enough)
    tolerances = Tolerances(value_tolerance, gradient_tolerance, max_iterations)
    values = []
    best = _Descent(starts[0], np.inf, np.zeros(len(bounds)), False, "No evaluation succeeded.")
    for point, matrix in zip(starts, known, strict=True):
        run = _descend(memory, point, bounds, tolerances, matrix)
        values.append(run.value)
        if run.value < best.value:
            best = run
        if memory.is_spent:
            break
    if not np.isfinite(best.value):
        raise np.linalg.LinAlgError(
            f"None of {memory.n_evaluations} evaluations gave a finite value. "
            f"Last failure: {memory.failure}"
        )
    return Minimum(*best, memory.n_evaluations, memory.n_failures, tuple(values))


def random_starts(bounds: Array, n_starts: int, random_state: Seed = None) -> Array:
    """Draw points uniformly inside a box, shape (n_starts, p)."""
    low, high = bounds.T
    draws = generator(random_state).uniform(size=(n_starts, len(bounds)))
    return low + draws * (high - low)


class _Descent(NamedTuple):
    """Where one descent ended."""

    x: Array
    value: float
    gradient: Array
    converged: bool
    message: str


class _SpentError(Exception):
    """Raised inside SciPy's loop to leave it."""


class _Memory:
    """Calls the objective, counts, survives failures and remembers the best of the current run."""

    def __init__(
        self, objective: Objective, deadline: Deadline, enough: Callable[[], bool] | None
    ) -> None:
        self.objective = objective
        self.deadline, self.enough = deadline, enough
        self.n_evaluations = 0
        self.n_failures = 0
        self.failure = "none."
        self.best: tuple[float, Array, Array] | None = None
        self.worst = 0.0
        self.last: tuple[Array, tuple[float, Array]] | None = None

    @property
    def is_spent(self) -> bool:
        has_enough = self.enough is not None and self.enough()
        return has_enough or is_late(self.deadline)

    def __call__(self, x: Array) -> tuple[float, Array]:
        # SciPy asks again for the point that was tried before it was started.
        if self.last is None or not np.array_equal(self.last[0], x):
            if self.n_evaluations and self.is_spent:
                raise _SpentError
            self.last = (x.copy(), self._evaluate(x))
        return self.last[1]

    def successful(self, x: Array) -> tuple[float, Array] | None:
        """Return value and gradient, None if the evaluation failed."""
        n_failures = self.n_failures
        found = self(x)
        return found if self.n_failures == n_failures else None

    def lowest(self, start: Array) -> tuple[float, Array, Array]:
        """Return value, point and gradient of the best evaluation, or of the start."""
        if self.best is not None:
            return self.best
        value, gradient = self(start)
        return value, start, gradient

    def _evaluate(self, x: Array) -> tuple[float, Array]:
        self.n_evaluations += 1
        try:
            value, gradient = self.objective(x.copy())
        except (np.linalg.LinAlgError, FloatingPointError) as error:
            return self._fail(x, str(error))
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return self._fail(x, "the value or the gradient is not finite.")
        if self.best is None or value < self.best[0]:
            self.best = (float(value), x.copy(), np.array(gradient, dtype=np.float64))
        self.worst = max(self.worst, abs(float(value)))
        return float(value), gradient

    def _fail(self, x: Array, reason: str) -> tuple[float, Array]:
        self.n_failures += 1
        self.failure = reason
        if self.best is None:
            return np.inf, np.zeros_like(x)
        # Finite, far above everything seen and rising away from the best point: the line search
        # interpolates and steps back, where an infinity would make it give up.
        away = x - self.best[1]
        return self.best[0] + 10 * (1 + self.worst) + float(away @ away), 2 * away


def _descend(
    memory: _Memory,
    start: Array,
    bounds: Array,
    tolerances: Tolerances,
    curvature: Array | None,
) -> _Descent:
    """Go down once and return the best point that was evaluated successfully."""
    memory.best = memory.last = None
    converged = False
    try:
        if not np.isfinite(memory(start)[0]):
            message = f"The start failed: {memory.failure}"
        elif np.array_equal(bounds[:, 0], bounds[:, 1]):
            converged, message = True, "Every variable is held fixed."
        else:
            if curvature is not None:
                converged, message = newton_descent(
                    memory.successful, start, bounds, tolerances, curvature
                )
            if not converged:
                converged, message = _bounded_descents(memory, start, bounds, tolerances)
    except _SpentError:
        message = (
            f"The {'time limit' if is_late(memory.deadline) else 'limit of work'} was reached."
        )
    if memory.best is None:
        return _Descent(start, np.inf, np.zeros_like(start), False, message)
    value, x, gradient = memory.best
    return _Descent(x, value, gradient, converged, message)


def _bounded_descents(
    memory: _Memory, start: Array, bounds: Array, tolerances: Tolerances
) -> tuple[bool, str]:
    """Run L-BFGS-B from the best point so far, and again if its line search gets stuck."""
    for _ in range(2):
        point = memory.lowest(start)[1]
        converged, message = _bounded_descent(memory, point, bounds, tolerances)
        if not message.startswith("ABNORMAL"):
            return converged, message
    value, x, gradient = memory.lowest(start)
    gain = promised_gain(memory.successful, x, gradient, bounds)
    # How much the value changes when nothing does but rounding.
    beside = x + np.where(x < bounds.mean(axis=1), ROUNDING_STEP, -ROUNDING_STEP)
    other = memory.successful(beside)
    rounding = 0.0 if other is None else abs(other[0] - value)
    if gain <= max(ROUNDING_GAIN * max(abs(value), 1.0), rounding):
        return True, "Nothing lower was found within rounding."
    return False, f"The line search found nothing lower, though the slope promises {gain:.3g}."


def _bounded_descent(
    memory: _Memory, start: Array, bounds: Array, tolerances: Tolerances
) -> tuple[bool, str]:
    """Run SciPy's L-BFGS-B on a scaled objective; return whether it converged, and its message.

    Inside a box its first step is the whole gradient, which in log hyperparameters ends in a
    corner of the box. Scaled by the largest slope, no variable's first step exceeds a half.
    """
    value, gradient = memory(start)
    scale = max(1.0, 2.0 * float(np.max(np.abs(gradient))))

    def scaled(x: Array) -> tuple[float, Array]:
        value, gradient = memory(x)
        return value / scale, gradient / scale

    # SciPy would judge the change of the scaled value, so it is judged here instead.
    before, stopped = value, False

    def judge(intermediate_result: Any) -> None:
        nonlocal before, stopped
        now = float(intermediate_result.fun) * scale
        stopped = before - now <= tolerances.value * max(abs(before), abs(now), 1.0)
        before = now
        if stopped:
            raise StopIteration

    options: Any = {
        "maxiter": tolerances.max_iterations,
        "ftol": 0.0,
        "gtol": tolerances.gradient / scale,
    }
    answer = scipy_minimize(
        scaled,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(bounds[:, 0], bounds[:, 1]),
        callback=judge,
        options=options,
    )
    if stopped:
        return True, "The value no longer changes by more than its tolerance."
    return bool(answer.success), str(answer.message)


def _curvatures(curvature: Array | None, shape: tuple[int, ...]) -> list[Array | None]:
    """Return the curvature of each start, None where it is not known."""
    n_starts, size = shape
    if curvature is None:
        return [None] * n_starts
    given = np.asarray(curvature, dtype=np.float64)
    if given.shape[-2:] != (size, size) or not np.isfinite(given).all():
        raise InvalidInputError(
            f"curvature must hold finite {size} x {size} matrices, got shape {given.shape}."
        )
    return list(np.broadcast_to(given, (n_starts, size, size)))


def _checked_bounds(bounds: Array) -> Array:
    bounds = finite_matrix(bounds, "bounds")
    if bounds.shape[1] != 2:
        raise InvalidInputError(f"bounds must have two columns, got shape {bounds.shape}.")
    if (bounds[:, 0] > bounds[:, 1]).any():
        which = int(np.argmax(bounds[:, 0] > bounds[:, 1]))
        raise InvalidInputError(
            f"The lower bound of variable {which} ({bounds[which, 0]:.6g}) is above its upper "
            f"bound ({bounds[which, 1]:.6g}). Swap them."
        )
    return bounds
