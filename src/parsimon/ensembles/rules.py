"""Classifiers that only say yes or no, with a prior over their parameters.

A rule is a value: `HardNetwork`, `HardTree`, `RuleList`, or `YesNoRule` around a function of your
own. Bound to training rows (`bind`) it knows how many parameters it has, how they are drawn, how
likely they are beforehand and, for a whole block of them at once, which rows they say yes to.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._checks import check_count, check_positive
from parsimon._typing import AnyArray, Array, Mask
from parsimon.exceptions import InvalidInputError

Labeller = Callable[[Array], Mask]
# Numbers in the largest array of a prediction: blocks of parameters are cut to stay below it.
_BLOCK = 4_000_000
_LEVELS = 256
_ROUNDING = 6e-8  # half the distance from 1 to the next number in single precision


class BoundRule(ABC):
    """A rule that has seen the training rows: a prior, and labels for blocks of parameters."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Length p of a parameter vector."""

    @property
    @abstractmethod
    def unit(self) -> Array:
        """Natural step of each parameter, for proposals, shape (p,)."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Return n independent draws of the prior, shape (n, p)."""

    @abstractmethod
    def log_prior(self, theta: Array) -> Array:
        """Return the log density of each row but for a constant, -inf where it is zero.

        Shapes: theta (b, p) -> (b,).
        """

    @abstractmethod
    def labeller(self, X: Array) -> Labeller:
        """Return the function from parameters (b, p) to labels (b, n), True for yes."""

    @property
    def largest(self) -> int:
        """Numbers that one parameter vector needs for each row while it is evaluated."""
        return 1

    def fold(self, theta: Array) -> Array:
        """Bring proposals back into the support by a map that keeps them symmetric."""
        return theta


def average_vote(bound: BoundRule, theta: Array, X: Array) -> Array:
    """Return the share of parameter vectors that say yes to each row, in blocks.

    Shapes: theta (b, p), X (n, d) -> (n,).
    """
    votes = np.zeros(len(X))
    for labels in _label_blocks(bound, theta, X):
        votes += labels.sum(axis=0)
    return votes / len(theta)


def member_labels(bound: BoundRule, theta: Array, X: Array) -> Mask:
    """Return what every parameter vector says, shapes (b, p), (n, d) -> (b, n)."""
    return np.concatenate(list(_label_blocks(bound, theta, X)))


def _label_blocks(bound: BoundRule, theta: Array, X: Array) -> Iterator[Mask]:
    """Yield the labels of a few parameter vectors at a time, shape (b_block, n)."""
    labels = bound.labeller(X)
    size = max(1, _BLOCK // max(1, len(X) * bound.largest))
    for start in range(0, len(theta), size):
        yield labels(theta[start : start + size])


@dataclass(frozen=True)
class HardNetwork:
    """A network with one hidden layer that says yes where its output is above zero.

    The hidden units are hyperbolic tangents. Weights have a Student t prior, biases a flat one
    between bounds (Clark 2011, section 5.4.2; the page with the formula is lost, the text gives
    its numbers).

    Parameters
    ----------
    n_hidden : int
        Hidden units.
    precision : float
        Of the t distribution: its scale is one over the square root of this.
    degrees : float
        Degrees of freedom.
    bias_bound : float
        Greatest absolute value of a bias.
    standardise : bool
        Whether columns are brought to mean 0 and deviation 1 first, by the training rows. The
        source takes its tables as they are.

    Examples
    --------
    >>> bound = HardNetwork(7).bind(np.zeros((5, 2)))
    >>> bound.n_parameters
    29
    """

    n_hidden: int = 7
    precision: float = 0.05
    degrees: float = 3.0
    bias_bound: float = 10.0
    standardise: bool = True

    def __post_init__(self) -> None:
        check_count("n_hidden", self.n_hidden)
        for name in ("precision", "degrees", "bias_bound"):
            check_positive(name, getattr(self, name))

    def bind(self, X: Array) -> "BoundNetwork":
        """Return the rule for tables like this one, shape (n, d)."""
        d = X.shape[1]
        centre, spread = np.zeros(d), np.ones(d)
        if self.standardise:
            centre, spread = X.mean(axis=0), X.std(axis=0)
            spread = np.where(spread > 0, spread, 1.0)
        return BoundNetwork(self, centre, spread)


@dataclass(frozen=True, eq=False)
class BoundNetwork(BoundRule):
    """A network for tables of d columns.

    A parameter vector holds the weights of the hidden units (h, d), their biases (h), their
    weights in the output (h) and the output's bias.
    """

    network: HardNetwork
    centre: Array
    spread: Array

    @property
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        return self.network.n_hidden * (len(self.centre) + 2) + 1

    @property
    def unit(self) -> Array:
        """One, for every weight and bias."""
        return np.ones(self.n_parameters)

    @property
    def largest(self) -> int:
        """The hidden units."""
        return self.network.n_hidden

    def _parts(self, theta: Array) -> tuple[Array, Array, Array, Array]:
        """Return weights (b, h, d), biases (b, h), output weights (b, h) and output bias (b,)."""
        h, d = self.network.n_hidden, len(self.centre)
        inner = theta[:, : h * d].reshape(-1, h, d)
        return inner, theta[:, h * d : h * (d + 1)], theta[:, h * (d + 1) : -1], theta[:, -1]

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        h, d = self.network.n_hidden, len(self.centre)
        scale = 1.0 / np.sqrt(self.network.precision)
        theta: Array = scale * rng.standard_t(self.network.degrees, size=(n, self.n_parameters))
        bound = self.network.bias_bound
        theta[:, h * d : h * (d + 1)] = rng.uniform(-bound, bound, size=(n, h))
        theta[:, -1] = rng.uniform(-bound, bound, size=n)
        return theta

    def log_prior(self, theta: Array) -> Array:
        h, d = self.network.n_hidden, len(self.centre)
        nu, bound = self.network.degrees, self.network.bias_bound
        logs = np.log1p(theta**2 * (self.network.precision / nu)) * (-(nu + 1) / 2)
        logs[:, h * d : h * (d + 1)] = 0.0
        logs[:, -1] = 0.0
        total: Array = logs.sum(axis=1)
        inside = (np.abs(theta[:, h * d : h * (d + 1)]) <= bound).all(axis=1)
        return np.where(inside & (np.abs(theta[:, -1]) <= bound), total, -np.inf)

    def labeller(self, X: Array) -> Labeller:
        rows = np.vstack([((X - self.centre) / self.spread).T, np.ones(len(X))])
        single = rows.astype(np.float32)
        reach = np.abs(rows).max(axis=1, initial=0.0)

        def labels(theta: Array) -> Mask:
            inner, bias, outer, last = self._parts(theta)
            weights = np.concatenate([inner, bias[:, :, None]], axis=2)
            return _network_labels(weights, outer, last, rows, single, reach)

        return labels


def _network_labels(
    weights: Array, outer: Array, last: Array, rows: Array, single: AnyArray, reach: Array
) -> Mask:
    """Return where the output is above zero, as exact as in double precision.

    One product serves the whole block in single precision, which is several times faster; what it
    leaves in doubt is computed again.

    Shapes: weights (b, h, d + 1), outer (b, h), last (b,), rows and single (d + 1, n),
    reach (d + 1,) -> (b, n).
    """
    b, h, d = weights.shape
    hidden = weights.reshape(b * h, d).astype(np.float32) @ single
    np.tanh(hidden, out=hidden)
    output = np.matmul(outer.astype(np.float32)[:, None, :], hidden.reshape(b, h, -1))[:, 0]
    output += last.astype(np.float32)[:, None]
    # Rounding in a product of d terms, in the tangent and in a sum of h + 1 terms.
    sums = np.abs(weights) @ reach
    terms = (d + 2) * (np.abs(outer) * (sums + 4.0)).sum(axis=1) + h * np.abs(last)
    doubt = (_ROUNDING * terms).astype(np.float32)
    labels: Mask = output > 0
    doubtful = np.abs(output) <= doubt[:, None]
    if doubtful.any():
        which, row = np.nonzero(doubtful)
        exact = np.tanh((weights[which] * rows.T[row][:, None, :]).sum(axis=2))
        labels[which, row] = (exact * outer[which]).sum(axis=1) + last[which] > 0
    return labels


@dataclass(frozen=True)
class HardTree:
    """A decision tree of fixed depth; depth 1 is a stump.

    Every node asks whether one column lies above a quantile of its training values, every leaf
    says yes or no; all of them are equally likely beforehand.

    Examples
    --------
    >>> HardTree(1).bind(np.zeros((5, 2))).n_parameters
    4
    """

    depth: int = 1

    def __post_init__(self) -> None:
        check_count("depth", self.depth)
        if self.depth > 8:
            raise InvalidInputError(f"depth must be at most 8, got {self.depth}.")

    def bind(self, X: Array) -> "BoundTree":
        """Return the rule for tables like this one, shape (n, d)."""
        return BoundTree(self.depth, _quantiles(X))


@dataclass(frozen=True)
class RuleList:
    """If a column lies above (or below) a value say this, else if another ..., else that.

    Parameters
    ----------
    n_rules : int
        Questions, each about one column; the first that holds decides.

    Examples
    --------
    >>> RuleList(2).bind(np.zeros((5, 3))).n_parameters
    9
    """

    n_rules: int = 3

    def __post_init__(self) -> None:
        check_count("n_rules", self.n_rules)

    def bind(self, X: Array) -> "BoundRuleList":
        """Return the rule for tables like this one, shape (n, d)."""
        return BoundRuleList(self.n_rules, _quantiles(X))


class _UnitCube(BoundRule):
    """A rule whose parameters are uniform between 0 and 1, where 1 is 0 again."""

    quantiles: Array

    @property
    def unit(self) -> Array:
        return np.full(self.n_parameters, 0.3)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.random((n, self.n_parameters))

    def log_prior(self, theta: Array) -> Array:
        return np.where(((theta >= 0) & (theta < 1)).all(axis=1), 0.0, -np.inf)

    def fold(self, theta: Array) -> Array:
        # A tiny negative number modulo 1 is 1 itself.
        folded = theta % 1.0
        return np.where(folded < 1.0, folded, 0.0)

    def _is_above(self, column: Array, height: Array, X: Array) -> Mask:
        """Return whether rows lie above quantiles of columns, shapes (b, m) -> (b, m, n)."""
        place = (column * self.quantiles.shape[1]).astype(np.intp)
        level = height * (len(self.quantiles) - 1)
        low = level.astype(np.intp)
        share = level - low
        threshold = (1 - share) * self.quantiles[low, place] + share * self.quantiles[
            low + 1, place
        ]
        return X.T[place] > threshold[:, :, None]


def _quantiles(X: Array) -> Array:
    """Return levels of every column, the last twice so that 1 has an upper neighbour."""
    levels = np.quantile(X, np.linspace(0.0, 1.0, _LEVELS + 1), axis=0)
    return np.vstack([levels, levels[-1:]])


@dataclass(frozen=True, eq=False)
class BoundTree(_UnitCube):
    """A tree for tables of d columns: columns and heights of its nodes, then its leaves."""

    depth: int
    quantiles: Array

    @property
    def n_parameters(self) -> int:
        """Two for each node, one for each leaf."""
        return 3 * (1 << self.depth) - 2

    @property
    def largest(self) -> int:
        """The nodes."""
        return self.n_parameters

    def labeller(self, X: Array) -> Labeller:
        n_nodes = 2**self.depth - 1

        def labels(theta: Array) -> Mask:
            above = self._is_above(theta[:, :n_nodes], theta[:, n_nodes : 2 * n_nodes], X)
            node = np.zeros((len(theta), len(X)), dtype=np.intp)
            for _ in range(self.depth):
                goes_right = np.take_along_axis(above, node[:, None, :], axis=1)[:, 0]
                node = 2 * node + 1 + goes_right
            leaves = theta[:, 2 * n_nodes :] >= 0.5
            return np.take_along_axis(leaves, node - n_nodes, axis=1)

        return labels


@dataclass(frozen=True, eq=False)
class BoundRuleList(_UnitCube):
    """A list of rules for d columns: columns, heights, sides and answers, then the last answer."""

    n_rules: int
    quantiles: Array

    @property
    def n_parameters(self) -> int:
        """Four for each rule, one for the rest."""
        return 4 * self.n_rules + 1

    @property
    def largest(self) -> int:
        """The rules."""
        return self.n_rules

    def labeller(self, X: Array) -> Labeller:
        r = self.n_rules

        def labels(theta: Array) -> Mask:
            side = theta[:, 2 * r : 3 * r] >= 0.5
            holds = self._is_above(theta[:, :r], theta[:, r : 2 * r], X) == side[:, :, None]
            answers = theta[:, 3 * r :] >= 0.5
            # The first rule that holds; the last answer is for rows where none does.
            first = np.where(holds.any(axis=1), holds.argmax(axis=1), r)
            return np.take_along_axis(answers, first, axis=1)

        return labels


@dataclass(frozen=True)
class YesNoRule:
    """Any function that says yes or no to rows, with a prior for its parameters.

    Parameters
    ----------
    function : callable
        ``function(theta, X)`` with theta of shape (p,) returns n answers, true for yes; with
        ``vectorised=True`` theta has shape (b, p) and the answers (b, n).
    prior : sequence, or mapping by name
        One for each parameter: ``("uniform", low, high)``, ``("log-uniform", low, high)``,
        ``("normal", mean, deviation)``, ``("student", degrees, scale)``, or an object with
        ``rvs(size=, random_state=)`` and ``logpdf``, as `scipy.stats` makes them. They are
        independent.
    vectorised : bool
        Whether the function takes a whole block of parameters.

    Examples
    --------
    An alarm that sounds where a sensor is above a level:

    >>> alarm = YesNoRule(lambda theta, X: X[:, 0] > theta[0], {"level": ("normal", 0, 1)})
    >>> bound = alarm.bind(np.zeros((3, 1)))
    >>> bound.labeller(np.array([[0.1], [0.9]]))(np.array([[0.5], [0.0]]))
    array([[False,  True],
           [ True,  True]])
    """

    function: Callable[[Array, Array], Any]
    prior: Sequence[Any] | Mapping[str, Any]
    vectorised: bool = False

    def bind(self, X: Array) -> "BoundYesNoRule":  # noqa: ARG002
        """Return the rule for tables like this one, shape (n, d)."""
        if not callable(self.function):
            raise InvalidInputError(f"function must be callable, got {self.function!r}.")
        priors = self.prior.values() if isinstance(self.prior, Mapping) else self.prior
        made = tuple(map(_as_prior, priors))
        if not made:
            raise InvalidInputError("prior is empty; give one for each parameter.")
        return BoundYesNoRule(self.function, made, self.vectorised)


@dataclass(frozen=True, eq=False)
class BoundYesNoRule(BoundRule):
    """A function of a user with its priors."""

    function: Callable[[Array, Array], Any]
    priors: tuple[Any, ...]
    vectorised: bool

    @property
    def n_parameters(self) -> int:
        """One for each prior."""
        return len(self.priors)

    @property
    def unit(self) -> Array:
        """A third of the range between the quartiles of prior draws."""
        quartiles = np.quantile(self.draw(400, np.random.default_rng(0)), [0.25, 0.75], axis=0)
        width = quartiles[1] - quartiles[0]
        return np.where(width > 0, width, 1.0) / 3

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.column_stack([_draw_prior(prior, n, rng) for prior in self.priors])

    def log_prior(self, theta: Array) -> Array:
        logs = [_log_density(prior, theta[:, j]) for j, prior in enumerate(self.priors)]
        return np.sum(logs, axis=0)

    def labeller(self, X: Array) -> Labeller:
        def labels(theta: Array) -> Mask:
            if self.vectorised:
                answers = np.asarray(self.function(theta, X))
            else:
                answers = np.array([np.asarray(self.function(row, X)) for row in theta])
            if answers.shape != (len(theta), len(X)):
                raise InvalidInputError(
                    f"The rule gave answers of shape {answers.shape} for {len(theta)} parameter "
                    f"vectors and {len(X)} rows; return one answer for each row."
                )
            return _yes(answers)

        return labels


def _yes(answers: AnyArray) -> Mask:
    """Return answers as booleans; anything but True and False, or 1 and 0, is refused."""
    if answers.dtype == bool:
        return answers
    strange = answers[(answers != 0) & (answers != 1)]
    if len(strange):
        raise InvalidInputError(
            f"The rule answered {strange.tolist()[0]!r}; return True or False, or 1 or 0, for each "
            "row."
        )
    return answers.astype(bool)


_KINDS = ("uniform", "log-uniform", "normal", "student")


def _as_prior(given: Any) -> Any:
    """Return a tuple of kind and two numbers, or an object that draws by itself."""
    if hasattr(given, "rvs") and hasattr(given, "logpdf"):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 3 or given[0] not in _KINDS:
        raise InvalidInputError(
            f"A prior is (kind, number, number) with the kind among {', '.join(_KINDS)}, or a "
            f"distribution of scipy.stats; got {given!r}."
        )
    kind, first, second = given[0], float(given[1]), float(given[2])
    is_range = kind in ("uniform", "log-uniform")
    least = 0.0 if kind in ("log-uniform", "student") else -np.inf
    if not (least < first < np.inf and (second > first if is_range else 0 < second < np.inf)):
        raise InvalidInputError(
            f"The prior {given!r} is none: ranges need low < high, above 0 for log-uniform, the "
            "others a positive spread."
        )
    return kind, first, second


def _draw_prior(prior: Any, n: int, rng: np.random.Generator) -> Array:
    if not isinstance(prior, tuple):
        return np.asarray(prior.rvs(size=n, random_state=rng), dtype=np.float64)
    kind, first, second = prior
    if kind == "uniform":
        return rng.uniform(first, second, size=n)
    if kind == "log-uniform":
        return np.exp(rng.uniform(np.log(first), np.log(second), size=n))
    if kind == "normal":
        return rng.normal(first, second, size=n)
    return second * rng.standard_t(first, size=n)


def _log_density(prior: Any, values: Array) -> Array:
    if not isinstance(prior, tuple):
        return np.asarray(prior.logpdf(values), dtype=np.float64)
    kind, first, second = prior
    if kind in ("uniform", "log-uniform"):
        inside = (values >= first) & (values <= second)
        slope = -np.log(np.where(inside, values, 1.0)) if kind == "log-uniform" else 0.0
        return np.where(inside, slope, -np.inf)
    return (
        -0.5 * ((values - first) / second) ** 2
        if kind == "normal"
        else np.log1p((values / second) ** 2 / first) * (-(first + 1) / 2)
    )
