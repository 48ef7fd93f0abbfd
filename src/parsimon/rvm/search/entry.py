r"""Would a solution still be worth keeping had other rows been drawn? A test before the archive.

Rates measured on a few hundred rows are uncertain, so that an archive collects solutions that are
better than its members by luck. The rows are resampled, the same rows for every solution, and a
candidate enters only if in most resamples no member dominates it: the probabilistic dominance that
Clark (2011) leaves as future work (section 3.9), after Fieldsend and Everson (2005).

Rates are those of each class, the share of its rows that are predicted right, for two classes or
more; with two, they are one minus the false positive rate and the true positive rate.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._options import check_count, check_probability
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices, Mask
from parsimon._validation import finite_vector
from parsimon.exceptions import InvalidInputError
from parsimon.roc.samples import label_vector

# Sums of the same weights in another order differ in their last digits; rates that differ by no
# more are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class EntryTest:
    """Refuses candidates that some member dominates in too many resamples.

    Attributes
    ----------
    probability : float
        In at least this share of the resamples no member may dominate a candidate.
    codes : ndarray of shape (n,)
        Class of each row, 0 to n_classes - 1.
    counts : ndarray of shape (n_resamples, n)
        How much each row counts in each resample.

    Examples
    --------
    >>> codes = np.repeat([0, 1], 50)
    >>> test = entry_test(codes, 0.9, random_state=0)
    >>> members = test.rates(codes[None] == 0)  # everything is called class 0
    >>> better = test.rates(np.arange(100) < [[51], [60]])  # one more row right, ten more rows
    >>> test.admits(better, np.array([1.0, 1.0]), members, np.array([0.0]))
    array([False,  True])
    """

    probability: float
    codes: Indices
    counts: Array

    def rates(self, correct: Mask) -> Array:
        """Return the share of each class that is predicted right, in each resample.

        Parameters
        ----------
        correct : ndarray of bool, shape (n_solutions, n)
            Which rows each solution predicts right.

        Returns
        -------
        ndarray of shape (n_solutions, n_classes, n_resamples)
        """
        return resampled_rates(correct, self.codes, self.counts)

    def admits(
        self, candidates: Array, complexity: Array, members: Array, member_complexity: Array
    ) -> Mask:
        """Return which candidates stay undominated in enough resamples, shape (n_candidates,).

        Parameters
        ----------
        candidates : ndarray of shape (n_candidates, n_classes, n_resamples)
            From `rates`. They are compared with the members, not with each other.
        complexity : ndarray of shape (n_candidates,)
        members : ndarray of shape (n_members, n_classes, n_resamples)
        member_complexity : ndarray of shape (n_members,)
        """
        share = undominated_share(candidates, complexity, members, member_complexity)
        # A share such as 180 / 200 must not fail 0.9 by its last digit.
        admitted: Mask = share >= self.probability - 1e-12
        return admitted


def entry_test(
    codes: Indices,
    probability: float,
    *,
    n_rows: Array | None = None,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> EntryTest:
    """Return a test whose resamples are drawn once, the same for every solution.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, 0 to n_classes - 1, all of them present.
    probability : float
        In at least this share of the resamples no member may dominate a candidate.
    n_rows : ndarray of shape (n,), optional
        How many equal rows each row stands for; one if left out.
    n_resamples : int
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    EntryTest

    Examples
    --------
    >>> entry_test(np.array([0, 0, 1]), 0.9, n_resamples=5, random_state=0).counts.sum(axis=1)
    array([3., 3., 3., 3., 3.])
    """
    check_probability("entry", probability)
    counts = resampled_counts(
        codes, n_rows=n_rows, n_resamples=n_resamples, random_state=random_state
    )
    return EntryTest(float(probability), np.asarray(codes, dtype=np.intp), counts)


def resampled_counts(
    codes: Indices,
    *,
    n_rows: Array | None = None,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> Array:
    """Return how often each row is drawn, with replacement within its class.

    Rates are conditional on the class, so class sizes stay as they are; then no resample can lack
    a class.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row.
    n_rows : ndarray of shape (n,), optional
        How many equal rows each row stands for; one if left out.
    n_resamples : int
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    ndarray of shape (n_resamples, n)

    Examples
    --------
    >>> resampled_counts(np.array([1, 0, 0]), n_resamples=3, random_state=1)[:, 0]
    array([1., 1., 1.])
    """
    check_count("n_resamples", n_resamples)
    rng = generator(random_state)
    sizes = np.ones(len(codes)) if n_rows is None else n_rows
    counts = np.empty((n_resamples, len(codes)))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        total = sizes[rows].sum()
        # Weights need not be whole numbers; the number of draws has to be.
        n_draws = max(1, round(total))
        counts[:, rows] = rng.multinomial(n_draws, sizes[rows] / total, size=n_resamples)
    return counts


def resampled_rates(correct: Mask, codes: Indices, counts: Array) -> Array:
    """Return the share of each class that is predicted right, in each resample.

    Parameters
    ----------
    correct : ndarray of bool, shape (n_solutions, n)
    codes : ndarray of shape (n,)
    counts : ndarray of shape (n_resamples, n)
        How much each row counts in each resample.

    Returns
    -------
    ndarray of shape (n_solutions, n_classes, n_resamples)

    Examples
    --------
    >>> correct = np.array([[True, False, True]])
    >>> resampled_rates(correct, np.array([0, 0, 1]), np.array([[1.0, 1, 1], [2, 0, 1]]))
    array([[[0.5, 1. ],
            [1. , 1. ]]])
    """
    classes = range(int(codes.max()) + 1)
    rates = np.empty((len(correct), len(classes), len(counts)))
    for code in classes:
        rows = np.flatnonzero(codes == code)
        drawn = counts[:, rows]
        rates[:, code] = correct[:, rows].astype(np.float64) @ drawn.T / drawn.sum(axis=1)
    return rates.round(_DIGITS)


def undominated_share(
    candidates: Array, complexity: Array, members: Array, member_complexity: Array
) -> Array:
    """Return the share of resamples in which no member dominates a candidate.

    Parameters
    ----------
    candidates : ndarray of shape (n_candidates, n_classes, n_resamples)
        Rates, larger is better.
    complexity : ndarray of shape (n_candidates,)
        Smaller is better; it does not depend on the resample.
    members : ndarray of shape (n_members, n_classes, n_resamples)
    member_complexity : ndarray of shape (n_members,)

    Returns
    -------
    ndarray of shape (n_candidates,)

    Examples
    --------
    >>> members = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    >>> candidate = np.array([[[0.5, 0.4], [0.5, 0.5]]])
    >>> undominated_share(candidate, np.array([2.0]), members, np.array([2.0]))
    array([0.5])
    """
    share = np.ones(len(candidates))
    for i, (rates, size) in enumerate(zip(candidates, complexity, strict=True)):
        rivals = member_complexity <= size
        if rivals.any():
            beaten = _dominated(members[rivals], member_complexity[rivals] < size, rates)
            share[i] = 1.0 - beaten.any(axis=0).mean()
    return share


def dominance_probability(
    y: Any,
    predictions: Any,
    complexity: Any,
    *,
    n_resamples: int = 1000,
    random_state: Seed = None,
) -> Array:
    r"""Return how probably each classifier dominates each other one.

    A classifier dominates another if it is no worse in the rate of any class (the share of its
    rows that are predicted right) and no more complex, and better in something. Rows are drawn
    with replacement within each class, the same rows for all classifiers, and dominance is
    counted [1]_.

    Parameters
    ----------
    y : array-like of shape (n,)
        True classes, of any kind.
    predictions : array-like of shape (n_solutions, n)
        Predicted classes, a row for each classifier.
    complexity : array-like of shape (n_solutions,)
    n_resamples : int
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    ndarray of shape (n_solutions, n_solutions)
        In row i and column j the share of resamples in which i dominates j.

    References
    ----------
    .. [1] Fieldsend and Everson (2005), "Multi-objective optimisation in the presence of
       uncertainty", IEEE Congress on Evolutionary Computation, 243-250.

    Examples
    --------
    >>> y = np.repeat(["ill", "well"], 50)
    >>> careful, careless = np.where(np.arange(100) < 48, "ill", "well"), np.repeat("well", 100)
    >>> dominance_probability(y, [careful, careless], [1, 1], random_state=0)
    array([[0., 1.],
           [0., 0.]])
    """
    truth = label_vector(y, "y")
    table = np.asarray(predictions)
    sizes = finite_vector(complexity, "complexity")
    if table.ndim != 2 or table.shape[1] != len(truth) or len(table) != len(sizes):
        raise InvalidInputError(
            f"predictions must have a row for each of the {len(sizes)} complexities and a column "
            f"for each of the {len(truth)} true classes, got shape {table.shape}."
        )
    codes = np.unique(truth, return_inverse=True)[1]
    counts = resampled_counts(codes, n_resamples=n_resamples, random_state=random_state)
    rates = resampled_rates(table == truth, codes, counts)
    columns = [
        _dominated(rates, sizes < sizes[j], rates[j]).mean(axis=1) * (sizes <= sizes[j])
        for j in range(len(sizes))
    ]
    return np.stack(columns, axis=1)


def _dominated(members: Array, smaller: Mask, rates: Array) -> Mask:
    """Return which members dominate in which resamples, shape (n_members, n_resamples).

    Members are taken to be no more complex; `smaller` says which are less complex.
    """
    no_worse = np.ones((len(members), members.shape[2]), dtype=np.bool_)
    better = np.repeat(smaller[:, None], members.shape[2], axis=1)
    for code, rate in enumerate(rates):
        no_worse &= members[:, code] >= rate
        better |= members[:, code] > rate
    dominating: Mask = no_worse & better
    return dominating
